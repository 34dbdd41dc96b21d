"""The process of the Runtime (`site_bundle.kernel.process`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from site_bundle.kernel.process import run_process

if TYPE_CHECKING:
    from site_bundle.kernel.logs import Log
    from site_bundle.kernel.stop import Stop
    from site_bundle.runtime.settings import RuntimeSettings

USER = "pharos-runtime"


def run_runtime_process() -> int:
    """The Runtime until it is asked to end; the exit code."""
    return run_process(USER, _settings, _run, groups=_groups)


def _settings(environment: Mapping[str, str]) -> RuntimeSettings:
    from site_bundle.runtime.settings import runtime_settings

    return runtime_settings(environment)


def _groups(settings: RuntimeSettings) -> Sequence[int]:
    from site_bundle.runtime.compose import group_ids

    return group_ids(settings.members_group)


def _run(settings: RuntimeSettings, stop: Stop, log: Log) -> None:
    from site_bundle.runtime.compose import run_runtime
    from site_bundle.runtime.entrypoints.loop import LoopLimits

    run_runtime(settings, os.environ, stop=stop, log=log, limits=LoopLimits())

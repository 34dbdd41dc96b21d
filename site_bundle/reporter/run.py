"""The process of the reporter (`site_bundle.kernel.process`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from site_bundle.kernel.process import run_process

if TYPE_CHECKING:
    from site_bundle.kernel.logs import Log
    from site_bundle.kernel.stop import Stop
    from site_bundle.reporter.settings import ReporterSettings

USER = "pharos-agent"


def run_reporter_process() -> int:
    """The reporter until it is asked to end; the exit code."""
    return run_process(USER, _settings, _run)


def _settings(environment: Mapping[str, str]) -> ReporterSettings:
    from site_bundle.reporter.settings import reporter_settings

    return reporter_settings(environment)


def _run(settings: ReporterSettings, stop: Stop, log: Log) -> None:
    from site_bundle.reporter.compose import run_reporter
    from site_bundle.reporter.entrypoints.loop import LoopLimits

    limits = LoopLimits(interval_seconds=float(settings.interval_seconds))
    run_reporter(settings, os.environ, stop=stop, log=log, limits=limits)

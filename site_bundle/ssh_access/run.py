"""The process of the agent (`site_bundle.kernel.process`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from site_bundle.kernel.process import run_process

if TYPE_CHECKING:
    from site_bundle.kernel.logs import Log
    from site_bundle.kernel.stop import Stop
    from site_bundle.ssh_access.settings import AgentSettings

USER = "pharos-ssh-access"


def run_agent_process() -> int:
    """The agent until it is asked to end; the exit code."""
    return run_process(USER, _settings, _run)


def _settings(environment: Mapping[str, str]) -> AgentSettings:
    from site_bundle.ssh_access.settings import agent_settings

    return agent_settings(environment)


def _run(settings: AgentSettings, stop: Stop, log: Log) -> None:
    from site_bundle.ssh_access.compose import run_agent
    from site_bundle.ssh_access.entrypoints.agent import AgentLimits

    run_agent(settings, os.environ, stop=stop, log=log, limits=AgentLimits())

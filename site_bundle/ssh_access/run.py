"""The process of the agent: signals first, then settings, then the loop."""

from __future__ import annotations

import os


def run_agent_process() -> int:
    """The agent until it is asked to end; the exit code."""
    from site_bundle.kernel.logs import Log
    from site_bundle.kernel.stop import Stop

    log, stop = Log(), Stop()
    stop.install()
    from site_bundle.kernel.errors import SiteError
    from site_bundle.kernel.settings import ignored_names
    from site_bundle.ssh_access.settings import agent_settings

    try:
        settings = agent_settings(os.environ)
        if ignored := ignored_names(os.environ):
            log.notice("settings_ignored", names=",".join(ignored))
        from site_bundle.ssh_access.compose import run_agent
        from site_bundle.ssh_access.entrypoints.agent import AgentLimits

        run_agent(settings, os.environ, stop=stop, log=log, limits=AgentLimits())
    except SiteError as error:
        log.error("cannot_run", code=error.code, found=error.found, wanted=error.wanted, remedy=error.remedy)  # noqa: TRY400
        return error.exit_status
    return 0

"""The process of the agent: signals first, then settings, then the loop."""

from __future__ import annotations

import os

USER = "pharos-ssh-access"


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

        if os.geteuid() == 0:
            # By hand: the journal stays the component's own, and slapd knows the process by its uid.
            from site_bundle.kernel.identity import become_component

            become_component(USER, settings.state_directory)
        run_agent(settings, os.environ, stop=stop, log=log, limits=AgentLimits())
    except SiteError as error:
        log.error("cannot_run", code=error.code, found=error.found, wanted=error.wanted, remedy=error.remedy)  # noqa: TRY400
        return error.exit_status
    finally:
        stop.settle()
    return 0

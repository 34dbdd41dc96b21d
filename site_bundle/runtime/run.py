"""The process of the Runtime: signals first, then settings, then the loop."""

from __future__ import annotations

import os

USER = "pharos-runtime"


def run_runtime_process() -> int:
    """The Runtime until it is asked to end; the exit code."""
    from site_bundle.kernel.logs import Log
    from site_bundle.kernel.stop import Stop

    log, stop = Log(), Stop()
    stop.install()
    from site_bundle.kernel.errors import SiteError
    from site_bundle.kernel.settings import ignored_names
    from site_bundle.runtime.settings import runtime_settings

    try:
        settings = runtime_settings(os.environ)
        if ignored := ignored_names(os.environ):
            log.notice("settings_ignored", names=",".join(ignored))
        from site_bundle.runtime.compose import group_ids, run_runtime
        from site_bundle.runtime.entrypoints.loop import LoopLimits

        if os.geteuid() == 0:
            # By hand: the journal stays the component's own, and Slurm knows the process by its user.
            from site_bundle.kernel.identity import become_component

            become_component(USER, settings.state_directory, group_ids(settings.members_group))
        run_runtime(settings, os.environ, stop=stop, log=log, limits=LoopLimits())
    except SiteError as error:
        log.error("cannot_run", code=error.code, found=error.found, wanted=error.wanted, remedy=error.remedy)  # noqa: TRY400
        return error.exit_status
    finally:
        stop.settle()
    return 0

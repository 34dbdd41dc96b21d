"""The process of the reporter: signals first, then settings, then the loop."""

from __future__ import annotations

import os

USER = "pharos-agent"


def run_reporter_process() -> int:
    """The reporter until it is asked to end; the exit code."""
    from site_bundle.kernel.logs import Log
    from site_bundle.kernel.stop import Stop

    log, stop = Log(), Stop()
    stop.install()
    from site_bundle.kernel.errors import SiteError
    from site_bundle.kernel.settings import ignored_names
    from site_bundle.reporter.settings import reporter_settings

    try:
        settings = reporter_settings(os.environ)
        if ignored := ignored_names(os.environ):
            log.notice("settings_ignored", names=",".join(ignored))
        from site_bundle.reporter.compose import run_reporter
        from site_bundle.reporter.entrypoints.loop import LoopLimits

        if os.geteuid() == 0:
            # By hand: the journal stays the component's own, and Slurm knows the process by its user.
            from site_bundle.kernel.identity import become_component

            become_component(USER, settings.state_directory)
        limits = LoopLimits(interval_seconds=float(settings.interval_seconds))
        run_reporter(settings, os.environ, stop=stop, log=log, limits=limits)
    except SiteError as error:
        log.error("cannot_run", code=error.code, found=error.found, wanted=error.wanted, remedy=error.remedy)  # noqa: TRY400
        return error.exit_status
    finally:
        stop.settle()
    return 0

"""The one way a component's process runs: signals first, then settings, then its loop.

What it needs is imported in that order, so that a signal during the start is not lost and a faulty setting is
told before anything large is loaded (S10).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from site_bundle.kernel.logs import Log
from site_bundle.kernel.stop import Stop


class OwnSettings(Protocol):
    """What every component's settings have."""

    @property
    def state_directory(self) -> Path:
        """Where its journal stands."""
        ...


SettingsT = TypeVar("SettingsT", bound=OwnSettings)


def run_process(
    user: str,
    read: Callable[[Mapping[str, str]], SettingsT],
    run: Callable[[SettingsT, Stop, Log], None],
    *,
    groups: Callable[[SettingsT], Sequence[int]] | None = None,
) -> int:
    """Runs until it is asked to end; the exit code.

    Started by root it becomes `user`, with the supplementary `groups` its unit has: the journal stays the
    component's own, and slapd and Slurm know the process by its user.
    """
    log, stop = Log(), Stop()
    stop.install()
    from site_bundle.kernel.errors import SiteError
    from site_bundle.kernel.settings import ignored_names

    try:
        settings = read(os.environ)
        if ignored := ignored_names(os.environ):
            log.notice("settings_ignored", names=",".join(ignored))
        if os.geteuid() == 0:
            from site_bundle.kernel.identity import become_component

            become_component(user, settings.state_directory, groups(settings) if groups else ())
        run(settings, stop, log)
    except SiteError as error:
        log.error("cannot_run", code=error.code, found=error.found, wanted=error.wanted, remedy=error.remedy)  # noqa: TRY400
        return error.exit_status
    finally:
        stop.settle()
    return 0

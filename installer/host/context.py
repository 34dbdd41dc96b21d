"""What every phase is given: the host through its ports. Built once, in ``installer.cli``."""

from collections.abc import Callable
from dataclasses import dataclass

from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.domain.limits import Limits
from installer.host.clock import Clock
from installer.host.commands import Runner
from installer.host.journal_file import JournalFile
from installer.host.paths import HostPaths
from installer.host.releases import ReleaseStore
from installer.host.reporting import Report
from installer.host.signals import Signals
from installer.host.state_file import StateFile
from installer.host.systemd import Systemctl


def _no_checkpoints(_scope: str) -> Checkpoint:
    return no_checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The host, as the phases see it."""

    paths: HostPaths
    limits: Limits
    clock: Clock
    run: Runner
    services: Systemctl
    releases: ReleaseStore
    state: StateFile
    journal: JournalFile
    report: Report
    signals: Signals
    checkpoints: Callable[[str], Checkpoint] = _no_checkpoints


def make_host(
    *, paths: HostPaths, limits: Limits, clock: Clock, run: Runner, report: Report, signals: Signals
) -> Host:
    """The host with its real stores over the given ports."""
    return Host(
        paths=paths,
        limits=limits,
        clock=clock,
        run=run,
        services=Systemctl(run, limits),
        releases=ReleaseStore(paths, limits),
        state=StateFile(paths, limits),
        journal=JournalFile(paths, clock, limits),
        report=report,
        signals=signals,
    )

"""The cgroup that holds a host whole: its end is one write (cgroup.kill, cgroups(7)).

A cgroup of its own for each: nspawn with --keep-unit makes ``payload`` below the cgroup it was
started in, and two hosts started from one cgroup would share it and stop each other.
"""

import contextlib
import os
import signal
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.limits import LIMITS
from tests.lab.processes import children, wait_until
from tests.lab.slot import Slot


def make(slot: Slot) -> None:
    """Make the host's cgroup and the one its visitors' commands run in."""
    for folder in (slot.cgroup, visitors(slot)):
        folder.mkdir(exist_ok=True)


def visitors(slot: Slot) -> Path:
    """Where commands entered from outside belong, so that they end with the host."""
    return slot.cgroup / "visitors"


def end_all(slot: Slot) -> None:
    """Kill every process of the host and remove its cgroups; nothing there is no error."""
    _kill(slot.cgroup)
    for mirror in mirrors(slot):
        _removed(mirror)
    _remove(slot.cgroup)


def end_companions(slot: Slot) -> None:
    """End what runs beside the host, politely first: a database leaves shared memory when it is killed.

    Only those that were started from outside are asked: each ends its own children in its own order.
    """
    members = set(_members(slot.companions))
    for pid in members - {child for member in members for child in children(member)}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not _populated(slot.companions), LIMITS.clean_stop)
    _kill(slot.companions)
    _remove(slot.companions)


def _kill(folder: Path) -> None:
    if not folder.is_dir():
        return
    (folder / "cgroup.kill").write_text("1")
    if not wait_until(lambda: not _populated(folder), LIMITS.end):
        raise LabError(f"{folder} still has processes {LIMITS.end:g} s after cgroup.kill")


def _remove(folder: Path) -> None:
    if not wait_until(lambda: _removed(folder), LIMITS.end):
        raise LabError(f"{folder} cannot be removed: a process is left in it")


def _members(folder: Path) -> list[int]:
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    except FileNotFoundError:
        return []


def mirrors(slot: Slot) -> list[Path]:
    """Cgroups of the same name in other hierarchies (a hybrid machine's name=systemd)."""
    return [path for path in Path("/sys/fs/cgroup").glob(f"*/{slot.machine}") if path != slot.cgroup]


def _removed(top: Path) -> bool:
    for folder, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    return not top.exists()


def _populated(folder: Path) -> bool:
    try:
        events = (folder / "cgroup.events").read_text()
    except FileNotFoundError:
        return False
    return "populated 1" in events

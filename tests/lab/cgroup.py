"""The cgroup that holds a host whole: its end is one write (cgroup.kill, cgroups(7)).

A cgroup of its own for each: nspawn with --keep-unit makes ``payload`` below the cgroup it was
started in, and two hosts started from one cgroup would share it and stop each other.
"""

import contextlib
import os
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.limits import LIMITS
from tests.lab.processes import wait_until
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
    if not slot.cgroup.is_dir():
        remove(slot)
        return
    (slot.cgroup / "cgroup.kill").write_text("1")
    if not wait_until(lambda: not _populated(slot.cgroup), LIMITS.end):
        raise LabError(f"{slot.cgroup} still has processes {LIMITS.end:g} s after cgroup.kill")
    remove(slot)


def remove(slot: Slot) -> None:
    """Remove the empty cgroups, deepest first, and what nspawn made of them in hierarchies of v1."""
    for mirror in mirrors(slot):
        _removed(mirror)
    if not wait_until(lambda: _removed(slot.cgroup), LIMITS.end):
        raise LabError(f"{slot.cgroup} cannot be removed: a process is left in it")


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

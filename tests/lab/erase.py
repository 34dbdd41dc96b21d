"""Every trace of one slot: find it, remove it."""

import shutil
from pathlib import Path

from tests.lab import cgroup, disk
from tests.lab.network import network_down
from tests.lab.slot import Slot


def erase(slot: Slot, scratch: Path | None = None) -> None:
    """End and remove everything of one slot, its record last; nothing there is no error.

    ``scratch``: the folder its record names, when there is a record.
    """
    cgroup.end_companions(slot)
    cgroup.end_all(slot)
    disk.disk_down(slot)
    network_down(slot)
    for folder in slot.propagate_folders:
        shutil.rmtree(folder, ignore_errors=True)
    if scratch is not None:
        disk.remove_folder(scratch)
    disk.remove_folder(slot.folder)


def traces(slot: Slot) -> list[str]:
    """What this machine still shows of a slot; empty when nothing."""
    interface = Path("/sys/class/net") / slot.interface
    paths = (
        slot.folder,
        *cgroup.mirrors(slot),
        slot.cgroup,
        slot.companions,
        slot.namespace,
        interface,
        *slot.propagate_folders,
    )
    return [str(path) for path in paths if path.exists()] + disk.mounts_below(slot.folder)

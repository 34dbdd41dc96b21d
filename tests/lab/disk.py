"""A host's disk: a tmpfs layer over the tree, gone in a moment."""

import shutil
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.limits import LIMITS
from tests.lab.processes import run, wait_until
from tests.lab.registry import HostRecord
from tests.lab.slot import Slot

NSPAWN_LOCKS = Path("/run/systemd/nspawn/locks")


def mounts_below(folder: Path) -> list[str]:
    """Mount points at or below ``folder``, innermost last (proc_pid_mountinfo(5))."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return [point for point in points if Path(point).is_relative_to(folder)]


def disk_up(record: HostRecord) -> None:
    """Mount a fresh disk; the tree itself stays read-only below it unless the boot is direct."""
    slot = record.slot
    slot.disk.mkdir(exist_ok=True)
    slot.root.mkdir(exist_ok=True)
    if record.direct:
        run(["mount", "--bind", str(record.tree), str(slot.root)])
        return
    run(["mount", "-t", "tmpfs", "-o", f"mode=755,size={LIMITS.disk_bytes}", slot.machine, str(slot.disk)])
    upper, work = slot.disk / "upper", slot.disk / "work"
    upper.mkdir()
    work.mkdir()
    layers = f"lowerdir={record.tree},upperdir={upper},workdir={work}"
    run(["mount", "-t", "overlay", "-o", layers, slot.machine, str(slot.root)])
    (slot.root / "etc/hostname").write_text(f"{record.name}\n")
    with (slot.root / "etc/hosts").open("a") as hosts:
        hosts.write(
            f"{slot.addr} {record.name}\n{slot.host_side_addr} vm.lab.test intake.lab.test waldur.lab.test\n"
        )


def disk_down(slot: Slot) -> None:
    """Unmount whatever is mounted for the slot; processes that just ended may hold it a moment.

    The lock file nspawn keeps for the root directory (``inode-DEVICE:INODE``) goes with it.
    """
    if str(slot.root) in mounts_below(slot.folder):
        root = slot.root.stat()
        (NSPAWN_LOCKS / f"inode-{root.st_dev}:{root.st_ino}").unlink(missing_ok=True)

    def gone() -> bool:
        for point in reversed(mounts_below(slot.folder)):
            run(["umount", point], check=False)
        return not mounts_below(slot.folder)

    if not wait_until(gone, LIMITS.unmount, every=0.05):
        left = ", ".join(mounts_below(slot.folder))
        raise LabError(f"still mounted after {LIMITS.unmount:g} s: {left}; see who uses it with fuser(1)")


def remove_folder(folder: Path) -> None:
    """Delete a folder in which nothing is mounted; refuses to delete through a mount."""
    if left := mounts_below(folder):
        raise LabError(f"not deleting {folder}: mounted below it are {', '.join(left)}")
    if folder.exists():
        shutil.rmtree(folder)

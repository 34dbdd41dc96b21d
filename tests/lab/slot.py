"""A slot: everything that must not be shared between two hosts of one machine.

Names of cgroup, network namespace, nspawn machine and interface follow from the slot's number,
never from the host's name, so no two hosts can meet in one of them and an interface name stays
under the kernel's 15 characters.
"""

from dataclasses import dataclass
from pathlib import Path

SLOTS = 64
PORTS_FROM = 21000
PORTS_EACH = 10
MACHINE_PREFIX = "pharos-lab-"
INTERFACE_PREFIX = "plab"


def cgroup_root() -> Path:
    """Where the unified hierarchy is mounted (hybrid machines have it one folder below)."""
    hybrid = Path("/sys/fs/cgroup/unified")
    return hybrid if hybrid.is_dir() else Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Slot:
    """Number 0…63 below a registry's root folder."""

    index: int
    registry_root: Path

    @property
    def folder(self) -> Path:
        """Record, console and mount points of the host."""
        return self.registry_root / f"{self.index:02d}"

    @property
    def root(self) -> Path:
        """The host's root directory as this machine sees it."""
        return self.folder / "root"

    @property
    def disk(self) -> Path:
        """The writable layer."""
        return self.folder / "disk"

    @property
    def machine(self) -> str:
        """Name of the cgroup, the network namespace and the nspawn machine."""
        return f"{MACHINE_PREFIX}{self.index}"

    @property
    def cgroup(self) -> Path:
        """All processes of the host live below it."""
        return cgroup_root() / self.machine

    @property
    def companions(self) -> Path:
        """Cgroup of this machine's processes that belong to the host: the platform beside it."""
        return cgroup_root() / f"{self.machine}-beside"

    @property
    def namespace(self) -> Path:
        """Where ip-netns(8) keeps the network namespace."""
        return Path("/run/netns") / self.machine

    @property
    def interface(self) -> str:
        """This machine's end of the pair."""
        return f"{INTERFACE_PREFIX}{self.index}"

    @property
    def host_side_addr(self) -> str:
        """This machine, as the host reaches it (``vm.lab.test``)."""
        return f"169.254.77.{self.index * 4 + 1}"

    @property
    def addr(self) -> str:
        """The host, as this machine reaches it."""
        return f"169.254.77.{self.index * 4 + 2}"

    @property
    def ports(self) -> range:
        """Loopback ports of this machine that go with the host; nobody else's."""
        first = PORTS_FROM + self.index * PORTS_EACH
        return range(first, first + PORTS_EACH)

    @property
    def propagate_folders(self) -> tuple[Path, ...]:
        """What systemd-nspawn leaves behind when it is killed."""
        base = Path("/run/systemd/nspawn")
        return base / "propagate" / self.machine, base / "unix-export" / self.machine

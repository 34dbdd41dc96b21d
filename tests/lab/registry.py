"""Who has which host: one registry a machine, under one lock.

1. A slot is recorded before anything of it is made, so whatever a killed owner leaves is found.
2. A record names its owner as pid, start time and boot; a living owner's host is never touched.
3. Records are replaced by rename: a reader sees the old one or the new one. One that cannot be
   read is an error, never a free slot (X1).
"""

import dataclasses
import fcntl
import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.errors import LabError
from tests.lab.limits import LIMITS
from tests.lab.network import addresses_here
from tests.lab.processes import ProcessIdentity, is_alive, wait_until
from tests.lab.slot import SLOTS, Slot

REGISTRY_ROOT = Path("/run/pharos-lab")
NAMES = ("icarus-hpc", "daedalus-hpc", "ariadne-hpc", "minos-hpc", "talos-hpc", "perdix-hpc", "phaedra-hpc")
SCHEMA = 1
# Short, and where another user may pass: PostgreSQL keeps a socket there and does not run as root.
SCRATCH = "/tmp/pharos-lab-"


@dataclass(frozen=True, slots=True)
class HostRecord:
    """One host: its slot and name, whose it is, and what it boots from.

    ``detached``: the host is its own owner (it outlives the command that started it).
    ``direct``: it boots the tree itself, which only the tree's first boot does.
    """

    slot: Slot
    name: str
    owner: ProcessIdentity
    detached: bool
    direct: bool
    tree: Path
    binds: tuple[str, ...]
    created: float
    scratch: Path | None
    """This machine's folder for whatever goes with the host; made when first asked for."""

    @property
    def owner_lives(self) -> bool:
        """Whether the process that answers for this host still runs."""
        return is_alive(self.owner)


class Registry:
    """The records below one folder; the machine's own unless a test names another."""

    def __init__(self, root: Path = REGISTRY_ROOT) -> None:
        self.root = root

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the machine-wide lock; it falls with the process whatever ends it."""
        self.root.mkdir(mode=0o755, parents=True, exist_ok=True)
        with (self.root / "lock").open("a") as handle:
            if not wait_until(lambda: _try_lock(handle.fileno()), LIMITS.lock):
                raise LabError(f"{handle.name} is held for {LIMITS.lock:g} s: see who has it with fuser(1)")
            yield

    def slots(self) -> list[Slot]:
        """All there can be."""
        return [Slot(index, self.root) for index in range(SLOTS)]

    def records(self) -> list[HostRecord]:
        """Every recorded host in slot order; raises LabError for one that cannot be read."""
        found = (self.read(slot) for slot in self.slots())
        return [record for record in found if record is not None]

    def read(self, slot: Slot) -> HostRecord | None:
        """The record of a slot; None when it has none."""
        path = slot.folder / "record.json"
        try:
            return _decode(slot, json.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise LabError(f"{path} belongs to root's lab: run this as root (sudo)") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LabError(f"{path} cannot be read ({error}): look at it, then remove its folder") from error

    def find(self, name: str) -> HostRecord:
        """The host called ``name``; raises LabError when there is none."""
        for record in self.records():
            if record.name == name:
                return record
        raise LabError(f"no host '{name}' on this machine: 'list' shows those there are")

    def claim(
        self,
        *,
        name: str | None,
        owner: ProcessIdentity,
        tree: Path,
        binds: tuple[str, ...] = (),
        detached: bool = False,
        direct: bool = False,
    ) -> HostRecord:
        """Record a new host in a free slot, under the lock; raises LabError when the name is taken.

        Without a name the first free one of NAMES is given.
        """
        taken = {record.name for record in self.records()}
        if name in taken:
            raise LabError(
                f"host '{name}' exists on this machine: choose another name, or 'reclaim' if it is dead"
            )
        used = addresses_here()
        for slot in self.slots():
            if any(path.exists() for path in (slot.folder, slot.cgroup, slot.companions, slot.namespace)):
                continue
            if slot.host_side_addr in used:
                continue
            record = HostRecord(
                slot=slot,
                name=name or _free_name(taken, slot),
                owner=owner,
                detached=detached,
                direct=direct,
                tree=tree,
                binds=binds,
                created=time.time(),
                scratch=Path(f"{SCRATCH}{slot.index}-{secrets.token_hex(4)}"),
            )
            slot.folder.mkdir(mode=0o700)
            self.save(record)
            return record
        raise LabError(f"all {SLOTS} hosts of this machine are taken: run 'reclaim'")

    def save(self, record: HostRecord) -> None:
        """Write the record in one step."""
        path = record.slot.folder / "record.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(_encode(record)))
        fresh.replace(path)

    def give_to(self, record: HostRecord, owner: ProcessIdentity) -> HostRecord:
        """Another owner for the same host."""
        given = dataclasses.replace(record, owner=owner)
        self.save(given)
        return given


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _free_name(taken: set[str], slot: Slot) -> str:
    return next((name for name in NAMES if name not in taken), f"host{slot.index}-hpc")


def _scratch(stored: str | None) -> Path | None:
    if stored is None:
        return None
    if not re.fullmatch(SCRATCH + r"[0-9]+-[0-9a-f]{8}", stored):
        raise ValueError(f"scratch {stored!r} is no folder of ours")
    return Path(stored)


def _encode(record: HostRecord) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "name": record.name,
        "owner": dataclasses.asdict(record.owner),
        "detached": record.detached,
        "direct": record.direct,
        "tree": str(record.tree),
        "binds": list(record.binds),
        "created": record.created,
        "scratch": str(record.scratch) if record.scratch else None,
    }


def _decode(slot: Slot, stored: dict[str, Any]) -> HostRecord:
    if stored["schema"] != SCHEMA:
        raise ValueError(f"schema {stored['schema']}, wanted {SCHEMA}")
    return HostRecord(
        slot=slot,
        name=stored["name"],
        owner=ProcessIdentity(**stored["owner"]),
        detached=stored["detached"],
        direct=stored["direct"],
        tree=Path(stored["tree"]),
        binds=tuple(stored["binds"]),
        created=stored["created"],
        scratch=_scratch(stored.get("scratch")),
    )

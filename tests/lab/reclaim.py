"""Remove what dead owners left: processes, cgroup, mounts, network, folders.

A living owner's host is never touched. Traces without any record are left by nobody who can be
asked (rule 1 of the registry), so they go too.
"""

from dataclasses import dataclass

from tests.lab.erase import erase, traces
from tests.lab.prerequisites import remove_stale_policy
from tests.lab.registry import Registry
from tests.lab.tree import remove_abandoned_builds


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """``removed``: names of dead hosts, or of traces; ``living``: hosts left alone."""

    removed: tuple[str, ...]
    living: tuple[str, ...]


def reclaim(registry: Registry | None = None) -> Reclaimed:
    """Remove every trace of dead owners, under the registry's lock."""
    registry = registry or Registry()
    removed, living = [], []
    with registry.locked():
        for slot in registry.slots():
            record = registry.read(slot)
            if record is not None and record.owner_lives:
                living.append(record.name)
            elif record is not None or traces(slot):
                erase(slot, record.scratch if record is not None else None)
                removed.append(record.name if record is not None else slot.machine)
        remove_stale_policy()
    remove_abandoned_builds()
    return Reclaimed(tuple(removed), tuple(living))

"""The registry's rules, without a host (lab.md §9: name collisions, leftovers)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.errors import LabError
from tests.lab.processes import ProcessIdentity, identify, is_alive, myself, wait_until
from tests.lab.registry import NAMES, HostRecord, Registry
from tests.lab.slot import SLOTS, Slot


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "registry")


def claim(registry: Registry, name: str | None = None) -> HostRecord:
    with registry.locked():
        return registry.claim(name=name, owner=myself(), tree=Path("/nowhere/tree"))


def test_two_claims_share_nothing(registry: Registry) -> None:
    first, second = claim(registry), claim(registry)
    assert (first.name, second.name) == NAMES[:2]
    ours, theirs = (
        {
            slot.folder,
            slot.cgroup,
            slot.namespace,
            slot.interface,
            slot.addr,
            slot.host_side_addr,
            *slot.ports,
        }
        for slot in (first.slot, second.slot)
    )
    assert not ours & theirs


def test_a_taken_name_is_refused_and_claims_nothing(registry: Registry) -> None:
    claim(registry, "icarus-hpc")
    with pytest.raises(LabError, match="'icarus-hpc' exists"):
        claim(registry, "icarus-hpc")
    assert [record.name for record in registry.records()] == ["icarus-hpc"]


def test_a_record_reads_back_as_it_was_written(registry: Registry) -> None:
    record = claim(registry)
    assert registry.find(record.name) == record


def test_an_unreadable_record_is_an_error_not_a_free_slot(registry: Registry) -> None:
    record = claim(registry)
    (record.slot.folder / "record.json").write_text("{")
    with pytest.raises(LabError, match=r"record\.json cannot be read"):
        claim(registry)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_told_that_the_record_is_roots(registry: Registry) -> None:
    """A living host's record is never to be removed for want of the right to read it."""
    claim(registry)
    os.seteuid(65534)
    try:
        with pytest.raises(LabError, match=r"belongs to root's lab: run this as root") as told:
            registry.records()
    finally:
        os.seteuid(0)
    assert "remove" not in str(told.value)


def test_a_pid_used_again_is_not_the_owner() -> None:
    me = myself()
    assert is_alive(me)
    assert not is_alive(ProcessIdentity(me.pid, me.started + 1, me.boot))
    assert not is_alive(ProcessIdentity(me.pid, me.started, "another boot"))


def test_a_zombie_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        # Not reaped before the with block ends, so it is a zombie once it has exited.
        assert wait_until(lambda: identify(child.pid) is None, 60.0)


def test_the_lock_falls_with_its_holder(registry: Registry) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tests.lab.registry import Registry\n"
        f"with Registry(Path({str(registry.root)!r})).locked(): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.kill()
        holder.wait()
        with registry.locked():
            pass


def test_every_slot_fits_the_kernel_and_the_network() -> None:
    slots = [Slot(index, Path("/r")) for index in range(SLOTS)]
    assert all(len(slot.interface) <= 15 for slot in slots)
    assert len({slot.addr for slot in slots} | {slot.host_side_addr for slot in slots}) == 2 * SLOTS
    assert slots[-1].addr == "169.254.77.254"

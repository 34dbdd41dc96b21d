"""Killed at a named checkpoint, then run again: the host is in the prior or the new state, and ``status``
agrees.
"""

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.installer.fixtures import make_rig
from tests.installer.rig import UNIT, Rig
from tests.installer.systemctl import Behaviour
from tests.long import examples

KILLED = -signal.SIGKILL
POINTS = (
    "after-intent",
    "after-stop",
    "before-link-current:ssh-access",
    "after-links",
    "after-files",
    "after-reload",
    "after-start",
    "during-health",
    "before-record",
    "after-record",
)
BACK = ("before-stop:ssh-access", "after-link-current:ssh-access", "before-reload", "after-start:ssh-access")


def activation(release: str) -> tuple[str, ...]:
    return ("activate", "--components", "ssh-access", "--evidence", "/evidence", "--release", release)


@pytest.mark.parametrize("point", POINTS)
def test_rows_2_to_6_killed_in_an_upgrade_then_recovered_to_the_prior_state(rig: Rig, point: str) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    before, invocation = rig.snapshot(), rig.fake.units[UNIT].invocation
    assert rig.killed(f"activate/{point}", *activation(new)) == KILLED
    blocked = rig.activate(new)
    assert blocked.code == 9 and "recover" in blocked.stderr
    assert "UNFINISHED" in rig.run("status").stdout
    assert rig.run("recover", "--plan").code == 0
    result = rig.run("recover")
    assert result.code == 0, result
    rig.clock.sleep(1)
    assert rig.snapshot() == before and rig.status()["agrees"] is True
    if point == "after-intent":
        assert rig.fake.units[UNIT].invocation == invocation, "row 2: nothing was restarted"
    assert rig.run("recover").stdout == "nothing to recover\n"
    assert rig.activate(new).code == 0 and rig.link() == new


@pytest.mark.parametrize("point", ["after-stop", "after-links", "after-start", "before-record"])
def test_rows_3_to_6_killed_in_a_first_activation_leaves_a_host_as_before(rig: Rig, point: str) -> None:
    release = rig.release("0.1.0")
    assert rig.killed(f"activate/{point}", *activation(release)) == KILLED
    assert rig.run("recover").code == 0
    now = rig.snapshot()
    assert (now["current"], now["enabled"], now["runs"], now["records"]) == (None, False, None, {})
    assert set(now["files"].values()) == {None}  # type: ignore[attr-defined]


@pytest.mark.parametrize("point", BACK)
def test_row_7_recovery_killed_five_times_still_converges(rig: Rig, point: str) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    before = rig.snapshot()
    assert rig.killed("activate/during-health", *activation(new)) == KILLED
    for _ in range(5):
        assert rig.killed(f"recover/{point}", "recover") in {KILLED, 0}
    assert rig.run("recover").code == 0
    rig.clock.sleep(1)
    assert rig.snapshot() == before and rig.status()["agrees"] is True


def test_row_5_killed_in_a_rollback_returns_to_the_release_it_left(rig: Rig) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0 and rig.activate(new).code == 0
    before = rig.snapshot()
    assert rig.killed("rollback/after-links", "rollback") == KILLED
    assert rig.run("recover").code == 0
    rig.clock.sleep(1)
    assert rig.snapshot() == before


@pytest.mark.parametrize("point", POINTS)
def test_a_step_that_raises_is_undone_in_the_same_run(rig: Rig, point: str) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    before = rig.snapshot()
    rig.environment["PHAROS_LAB_CHECKPOINT"] = f"activate/{point}:raise"
    assert rig.activate(new).code == 7
    rig.environment.clear()
    rig.clock.sleep(1)
    assert rig.snapshot() == before and not rig.paths.journal.exists()


def test_x8_checkpoints_are_refused_outside_a_laboratory(rig: Rig) -> None:
    release = rig.release("0.1.0")
    rig.profile(kind="production", name="icarus-hpc")
    rig.environment["PHAROS_LAB_CHECKPOINT"] = "activate/after-stop"
    result = rig.activate(release)
    assert result.code == 2 and "checkpoint_refused" in result.stderr


@pytest.mark.soak
@pytest.mark.slow
@settings(
    max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_checkpoint_and_any_reruns_leave_the_prior_or_the_new_state(
    data: st.DataObject, memory_path: Path, evidence_keys: Path
) -> None:
    with tempfile.TemporaryDirectory(dir=memory_path) as folder, pytest.MonkeyPatch.context() as patch:
        _any_crash(data, make_rig(Path(folder), evidence_keys, patch))


def _any_crash(data: st.DataObject, rig: Rig) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    healthy = st.sampled_from([Behaviour(), Behaviour(ready_after=-1), Behaviour(dies_after=0.1)])
    rig.fake.behaviours[new] = data.draw(healthy)
    assert rig.activate(old).code == 0
    rig.clock.sleep(1)
    prior = rig.snapshot()
    code = rig.killed(f"activate/{data.draw(st.sampled_from(POINTS))}", *activation(new))
    assert code in {KILLED, 0, 7}
    for point in data.draw(st.lists(st.sampled_from(BACK), max_size=3)):
        assert rig.killed(f"recover/{point}", "recover") in {KILLED, 0}
    assert rig.run("recover").code == 0
    rig.clock.sleep(1)
    now = rig.snapshot()
    if code == 0:
        assert now["current"] == now["runs"] == new and now["previous"] == old
    else:
        assert now == prior
    assert rig.status()["agrees"] is True and not rig.paths.journal.exists()


def test_the_links_always_name_a_whole_release(rig: Rig) -> None:
    """H18: whoever reads the link during switches sees one release or the other."""
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    link = rig.paths.components / "ssh-access/current"
    reader = os.fork()
    if reader == 0:
        seen_bad = 0
        for _ in range(20_000):
            try:
                seen_bad += link.readlink().parts[3] not in {old, new}
            except OSError:
                seen_bad += 1
        os._exit(1 if seen_bad else 0)
    for release in (new, old, new):
        assert rig.activate(release).code == 0
    _, status = os.waitpid(reader, 0)
    assert os.waitstatus_to_exitcode(status) == 0

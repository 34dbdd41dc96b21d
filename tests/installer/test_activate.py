"""``activate`` and ``rollback``: the switch, its refusals, and what comes back when it fails."""

import json
import os
import signal
import threading

import pytest

from installer.host.commands import Completed
from tests.installer.rig import CONTRACTS, UNIT, Rig
from tests.installer.systemctl import Behaviour


def test_first_activation_links_enables_starts_and_records(rig: Rig) -> None:
    release = rig.release("0.1.0")
    result = rig.activate(release)
    assert result.code == 0 and "active and healthy" in result.stdout
    now = rig.snapshot()
    assert (now["current"], now["previous"], now["enabled"], now["runs"]) == (release, None, True, release)
    assert rig.status()["agrees"] is True
    assert not rig.paths.journal.exists() and len(list(rig.paths.history.iterdir())) == 1


def test_upgrade_keeps_the_last_good_as_previous_and_rollback_returns_to_it(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    assert (rig.link(), rig.link("previous")) == (newer, active)
    result = rig.run("rollback")
    assert result.code == 0, result
    assert (rig.link(), rig.snapshot()["runs"], rig.status()["agrees"]) == (active, active, True)


def test_b29_activating_again_is_no_change_and_touches_nothing(rig: Rig, active: str) -> None:
    before = rig.snapshot()
    starts = rig.fake.units[UNIT].invocation
    result = rig.activate(active)
    assert result.code == 0 and result.stdout.startswith("no change")
    assert rig.snapshot() == before and rig.fake.units[UNIT].invocation == starts


def test_plan_writes_nothing(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    before, tree = rig.snapshot(), sorted(str(path) for path in rig.root.rglob("*"))
    result = rig.activate(newer, "--plan")
    assert result.code == 0 and f"-> ../../releases/{newer}" in result.stdout
    assert rig.run("rollback", "--to", newer, "--plan").code == 0
    assert (rig.snapshot(), sorted(str(path) for path in rig.root.rglob("*"))) == (before, tree)


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(ready_after=-1),
        Behaviour(dies_after=0.3, restarts=False),
        Behaviour(dies_after=0.3),
        Behaviour(ready_after=0.2, dies_after=1.5),
        Behaviour(state="degraded"),
        Behaviour(reports="0.1.0-000000000000"),
        Behaviour(status_code=3),
    ],
    ids=["never-ready", "b18-dies", "h19-restart-loop", "flaps", "degraded", "old-code", "unhealthy-status"],
)
def test_row_29_h19_b18_b21_an_unhealthy_release_is_taken_back_whole(
    rig: Rig, active: str, behaviour: Behaviour
) -> None:
    bad = rig.release("0.2.0", behaviour=behaviour)
    before = rig.snapshot()
    result = rig.activate(bad)
    assert result.code == 7 and f"{UNIT}: last words" in result.stderr, result
    rig.clock.sleep(1)
    assert rig.snapshot() == before and rig.status()["agrees"] is True
    assert not rig.paths.journal.exists()


def test_row_29_b5_a_failed_first_activation_leaves_nothing_behind(rig: Rig) -> None:
    bad = rig.release("0.1.0", behaviour=Behaviour(ready_after=-1))
    result = rig.activate(bad)
    assert result.code == 7
    now = rig.snapshot()
    assert (now["current"], now["enabled"], now["runs"], now["records"]) == (None, False, None, {})
    assert set(now["files"].values()) == {None}  # type: ignore[attr-defined]
    assert rig.fake.units[UNIT].active == "inactive" and rig.fake.units[UNIT].loaded is None


@pytest.mark.parametrize(
    "behaviour",
    [Behaviour(ready_after=20), Behaviour(ready_after=0.5, dies_after=1, heals=True)],
    ids=["slow", "once"],
)
def test_row_29_h20_a_slow_or_recovering_start_is_judged_by_the_window(
    rig: Rig, active: str, behaviour: Behaviour
) -> None:
    release = rig.release("0.2.0", behaviour=behaviour)
    assert rig.activate(release).code == 0
    assert rig.link() == release


def test_b4_a_bad_release_is_remembered_and_never_becomes_previous(rig: Rig, active: str) -> None:
    bad = rig.release("0.2.0", behaviour=Behaviour(ready_after=-1))
    assert rig.activate(bad).code == 7
    again = rig.activate(bad)
    assert again.code == 3 and "release_bad" in again.stderr
    assert rig.link("previous") is None
    rig.fake.behaviours[bad] = Behaviour()
    assert rig.activate(bad, "--retry-bad").code == 0
    assert rig.link("previous") == active
    assert json.loads(rig.paths.state.read_text())["bad"] == []


def test_b5_a_failure_before_the_first_change_touches_no_earlier_release(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    before = rig.snapshot()
    rig.paths.at("/evidence/central-bootstrap.yaml").unlink()
    third = rig.release("0.3.0")
    assert rig.activate(third).code == 3
    assert rig.snapshot() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_row_8_a_signal_finishes_the_restore_and_a_second_one_does_not_skip_it(
    rig: Rig, active: str, number: signal.Signals
) -> None:
    newer = rig.release("0.2.0", behaviour=Behaviour(ready_after=1000))
    before, threads = rig.snapshot(), threading.active_count()
    sent: list[int] = []

    def start() -> Completed | None:
        if not sent:
            sent.append(number)
            os.kill(os.getpid(), number)
        return None

    def stop() -> Completed | None:
        if sent:
            os.kill(os.getpid(), signal.SIGTERM)
        return None

    rig.fake.faults.update(start=start, stop=stop)
    result = rig.activate(newer)
    assert result.code == (130 if number == signal.SIGINT else 143)
    told = f"interrupted by {number.name}; the prior state is back; run it again"
    assert result.stdout.splitlines()[-1] == told
    rig.fake.faults.clear()
    rig.clock.sleep(1)
    assert rig.snapshot() == before and not rig.paths.journal.exists()
    assert threading.active_count() == threads


def test_b24_an_early_failure_leaves_links_byte_equal(rig: Rig, active: str) -> None:
    link = rig.paths.components / "ssh-access/current"
    before = (link.readlink(), link.lstat().st_ino)
    rig.profile(site="another")
    assert rig.activate(rig.release("0.2.0")).code == 3
    assert (link.readlink(), link.lstat().st_ino) == before


def test_b26_the_other_settings_of_the_component_stay_or_follow_the_profile(rig: Rig, active: str) -> None:
    settings = rig.paths.at("/etc/pharos-hpc/ssh-access.env")
    before = settings.read_bytes()
    assert rig.activate(rig.release("0.2.0")).code == 0
    assert settings.read_bytes() == before
    assert rig.run("activate", "--components", "other", "--evidence", "/evidence").code == 2


def test_b37_a_history_that_cannot_be_written_rolls_nothing_back(rig: Rig) -> None:
    release = rig.release("0.1.0")
    rig.paths.memory.mkdir(parents=True, mode=0o700)
    rig.paths.history.write_text("a file in its place")
    result = rig.activate(release)
    assert result.code == 0 and "stays where it is" in result.stderr
    assert rig.status()["agrees"] is True
    newer = rig.release("0.2.0")
    blocked = rig.activate(newer)
    assert blocked.code == 3 and "journal_not_archived" in blocked.stderr
    rig.paths.history.unlink()
    assert rig.activate(newer).code == 0


def test_i12_every_contract_the_component_needs_is_asked_for(rig: Rig) -> None:
    release = rig.release("0.1.0")
    for contract in CONTRACTS:
        rig.paths.at(f"/evidence/{contract}.yaml").rename(rig.paths.at("/evidence/aside"))
        result = rig.activate(release)
        assert result.code == 3 and contract in result.stderr
        rig.paths.at("/evidence/aside").rename(rig.paths.at(f"/evidence/{contract}.yaml"))
    assert rig.activate(release).code == 0

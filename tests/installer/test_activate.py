"""``activate`` and ``rollback``: the switch, its refusals, and what comes back when it fails."""

import json
import os
import signal
import threading

import pytest

from installer.host.commands import Completed
from tests.installer.rig import CONTRACTS, UNIT, Rig
from tests.installer.systemctl import Behaviour

FAILS = Completed(code=1, stdout="", stderr="Job failed.")


@pytest.fixture
def active(rig: Rig) -> str:
    """A host on which 0.1.0 is active."""
    release = rig.release("0.1.0")
    assert rig.activate(release).code == 0
    return release


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
    assert result.code == 7, result
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


def test_b6_rollback_goes_by_record_and_seal_not_by_time_or_name(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    empty = rig.paths.releases / "0.1.9-0123456789ab"
    empty.mkdir()
    assert rig.run("rollback").code == 0
    assert rig.link() == active
    assert rig.run("rollback", "--to", empty.name).code == 4


def test_rollback_without_an_earlier_release_is_refused(rig: Rig, active: str) -> None:
    before = rig.snapshot()
    result = rig.run("rollback")
    assert result.code == 2 and "rollback_nothing" in result.stderr
    assert rig.snapshot() == before


def test_h21_row_36_a_changed_retained_release_is_refused_before_anything_stops(
    rig: Rig, active: str
) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    before, stops = rig.snapshot(), _count(rig, "stop")
    program = rig.paths.venv(active, "ssh-access") / "bin/pharos-ssh-access"
    program.write_bytes(program.read_bytes().replace(b"exit 0", b"exit 1"))
    result = rig.run("rollback")
    assert result.code == 4 and "pharos-ssh-access" in result.stderr
    assert rig.snapshot() == before and _count(rig, "stop") == stops


def test_rollback_works_although_the_current_release_is_damaged(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    (rig.paths.release(newer) / "manifest.json").write_text("junk")
    assert rig.run("rollback").code == 0
    assert rig.link() == active


def test_b32_row_36_a_release_that_cannot_read_the_journal_is_refused_before_the_stop(
    rig: Rig, active: str
) -> None:
    newer = rig.release("0.2.0", reads=(1, 2))
    assert rig.activate(newer).code == 0
    _component_journal(rig, 2)
    before, stops = rig.snapshot(), _count(rig, "stop")
    result = rig.run("rollback")
    assert result.code == 4 and "journal_schema_unreadable" in result.stderr
    assert rig.snapshot() == before and _count(rig, "stop") == stops


def test_x1_a_component_journal_that_cannot_be_read_refuses(rig: Rig, active: str) -> None:
    path = rig.paths.component_journal("ssh-access")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database" * 100)
    result = rig.activate(rig.release("0.2.0"))
    assert result.code == 4 and "component_journal_unreadable" in result.stderr


@pytest.mark.parametrize("verb", ["daemon-reload", "start", "enable"])
def test_row_30_b20_a_failing_systemctl_restores(rig: Rig, verb: str) -> None:
    first = rig.release("0.1.0")
    rig.fake.faults[verb] = _once(FAILS)
    result = rig.activate(first)
    assert result.code == 7, result
    assert rig.link() is None and rig.snapshot()["runs"] is None


def test_row_30_b20_a_reload_that_says_ok_and_did_not_is_a_failure(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    before = rig.snapshot()
    rig.fake.reload_lies = True
    lies = [True]

    def reload() -> None:
        rig.fake.reload_lies = bool(lies)
        lies.clear()

    rig.fake.faults["daemon-reload"] = reload
    result = rig.activate(newer)
    assert result.code == 7 and "still needs it" in result.stderr
    rig.clock.sleep(1)
    assert rig.snapshot() == before


def test_row_30_without_systemd_activation_is_unsupported_and_changes_nothing(rig: Rig) -> None:
    release = rig.release("0.1.0")
    rig.fake.no_systemd = True
    result = rig.activate(release)
    assert result.code == 10 and rig.link() is None


def test_row_31_a_prior_that_does_not_start_again_is_exit_8_with_the_commands_left(
    rig: Rig, active: str
) -> None:
    bad = rig.release("0.2.0", behaviour=Behaviour(ready_after=-1))
    rig.fake.behaviours[active] = Behaviour(ready_after=-1)
    result = rig.activate(bad)
    assert result.code == 8 and f"systemctl status {UNIT}" in result.stderr and "recover" in result.stderr
    assert rig.paths.journal.exists() and rig.link() == active
    blocked = rig.activate(bad)
    assert blocked.code == 9 and "unfinished_journal" in blocked.stderr
    assert rig.run("status").code == 0
    rig.fake.behaviours[active] = Behaviour()
    assert rig.run("recover").code == 0
    rig.clock.sleep(1)
    assert rig.status()["agrees"] is True and not rig.paths.journal.exists()


def test_undo_does_not_stop_at_the_first_failed_step(rig: Rig, active: str) -> None:
    bad = rig.release("0.2.0", behaviour=Behaviour(ready_after=-1))
    calls = []

    def reload() -> Completed | None:
        calls.append(1)
        return FAILS if len(calls) == 2 else None

    rig.fake.faults["daemon-reload"] = reload
    result = rig.activate(bad)
    assert result.code == 8
    assert rig.link() == active and rig.snapshot()["files"] != {}
    assert "systemctl daemon-reload" in result.stderr


def test_row_32_a_masked_unit_is_refused_before_anything_stops(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    rig.fake.units[UNIT].masked = True
    stops = _count(rig, "stop")
    result = rig.activate(newer)
    assert result.code == 3 and "masked" in result.stderr and _count(rig, "stop") == stops
    rig.fake.units[UNIT].masked = False
    assert rig.activate(newer).code == 0
    rig.fake.units[UNIT].masked = True
    assert rig.run("rollback").code == 3


def test_row_32_an_administrators_disable_is_kept(rig: Rig, active: str) -> None:
    rig.fake.units[UNIT].enabled = False
    newer = rig.release("0.2.0")
    result = rig.activate(newer)
    assert result.code == 0 and "kept" in result.stderr
    assert rig.fake.units[UNIT].enabled is False and rig.snapshot()["runs"] == newer


def test_row_32_an_edited_unit_is_refused_unless_accepted_and_comes_back_byte_for_byte(
    rig: Rig, active: str
) -> None:
    path = rig.paths.at(f"/etc/systemd/system/{UNIT}")
    edited = path.read_bytes() + b"# edited by hand \xff\n"
    path.write_bytes(edited)
    bad = rig.release("0.2.0", behaviour=Behaviour(ready_after=-1))
    refused = rig.activate(bad)
    assert refused.code == 3 and "unit_edited" in refused.stderr
    assert rig.activate(bad, "--accept-edited-unit", UNIT).code == 7
    assert path.read_bytes() == edited


def test_row_32_a_foreign_unit_file_is_refused(rig: Rig) -> None:
    rig.write(f"/etc/systemd/system/{UNIT}", "[Service]\nExecStart=/bin/true\n")
    assert rig.activate(rig.release("0.1.0")).code == 3


def test_row_32_a_local_drop_in_is_shown_and_kept(rig: Rig, active: str) -> None:
    drop_in = f"/etc/systemd/system/{UNIT}.d/local.conf"
    rig.fake.units[UNIT].drop_ins.append(drop_in)
    result = rig.activate(rig.release("0.2.0"))
    assert result.code == 0 and drop_in in result.stderr and drop_in in rig.run("status").stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_row_8_a_signal_finishes_the_restore_and_a_second_one_does_not_skip_it(
    rig: Rig, active: str, number: signal.Signals
) -> None:
    newer = rig.release("0.2.0", behaviour=Behaviour(ready_after=1000))
    before = rig.snapshot()
    sent = []

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
    rig.fake.faults.clear()
    rig.clock.sleep(1)
    assert rig.snapshot() == before and not rig.paths.journal.exists()
    assert threading.active_count() == 1


def test_row_28_h18_a_directory_in_the_links_place_is_refused_and_left(rig: Rig) -> None:
    release = rig.release("0.1.0")
    place = rig.paths.components / "ssh-access/current"
    place.mkdir(parents=True)
    (place / "keep").write_text("x")
    assert rig.activate(release).code == 4
    assert (place / "keep").read_text() == "x"


def test_row_28_a_stale_temporary_link_is_repaired(rig: Rig, active: str) -> None:
    stale = rig.paths.components / "ssh-access/.current.pharos-new-0123"
    stale.symlink_to("anywhere")
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    assert not stale.is_symlink() and rig.link() == newer


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
    rig.paths.history.unlink()
    assert rig.activate(rig.release("0.2.0")).code == 0


def test_row_27_a_lost_journal_shows_as_a_mismatch_until_links_are_adopted(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    link = rig.paths.components / "ssh-access/current"
    link.unlink()
    link.symlink_to(f"../../releases/{newer}/components/ssh-access")
    refused = rig.activate(newer)
    assert refused.code == 9 and "record_mismatch" in refused.stderr
    assert rig.status()["agrees"] is False
    assert rig.run("recover", "--adopt-links").code == 0
    assert json.loads(rig.paths.state.read_text())["components"]["ssh-access"]["release"] == newer


def test_b22_a_broken_journal_blocks_no_other_verb_and_is_quarantined_by_command(
    rig: Rig, active: str
) -> None:
    rig.paths.journal.write_bytes(b"junk\njunk\n")
    assert rig.activate(rig.release("0.2.0")).code == 9
    assert rig.run("recover").code == 9
    status = rig.run("status")
    assert status.code == 0 and "journal_corrupt" in status.stdout
    assert rig.run("recover", "--quarantine-journal").code == 0
    assert (rig.paths.memory / "journal.broken-1").exists()
    assert rig.activate(rig.release("0.3.0")).code == 0


def test_i12_every_contract_the_component_needs_is_asked_for(rig: Rig) -> None:
    release = rig.release("0.1.0")
    for contract in CONTRACTS:
        rig.paths.at(f"/evidence/{contract}.yaml").rename(rig.paths.at("/evidence/aside"))
        result = rig.activate(release)
        assert result.code == 3 and contract in result.stderr
        rig.paths.at("/evidence/aside").rename(rig.paths.at(f"/evidence/{contract}.yaml"))
    assert rig.activate(release).code == 0


def _count(rig: Rig, verb: str) -> int:
    return sum(1 for call in rig.fake.calls if call[0] == "systemctl" and call[1] == verb)


def _once(answer: Completed):  # type: ignore[no-untyped-def]
    left = [answer]
    return lambda: left.pop() if left else None


def _component_journal(rig: Rig, schema: int) -> None:
    import sqlite3

    path = rig.paths.component_journal("ssh-access")
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema}")
    connection.close()

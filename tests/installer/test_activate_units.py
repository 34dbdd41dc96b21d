"""``activate`` and systemd: what fails there comes back, and what administrators chose is kept (rows
30-32).
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from installer.host.commands import Completed
from tests.installer.rig import UNIT, Rig
from tests.installer.systemctl import Behaviour

FAILS = Completed(code=1, stdout="", stderr="Job failed.")


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
    assert result.code == 10 and "systemd_absent" in result.stderr and rig.link() is None


def test_row_31_a_prior_that_does_not_start_again_is_exit_8_with_the_commands_left(
    rig: Rig, active: str
) -> None:
    bad = rig.release("0.2.0", behaviour=Behaviour(ready_after=-1))
    rig.fake.behaviours[active] = Behaviour(ready_after=-1)
    result = rig.activate(bad)
    assert result.code == 8 and "restore_incomplete" in result.stderr
    assert f"systemctl status {UNIT}" in result.stderr and "recover" in result.stderr
    assert rig.paths.journal.exists() and rig.link() == active
    blocked = rig.activate(bad)
    assert blocked.code == 9 and "unfinished_journal" in blocked.stderr
    assert rig.run("status").code == 9
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
    assert result.code == 3 and "it is masked" in result.stderr and _count(rig, "stop") == stops
    rig.fake.units[UNIT].masked = False
    assert rig.activate(newer).code == 0
    stops = _count(rig, "stop")
    _mask(rig)
    for plan in ((), ("--plan",)):
        refused = rig.run("rollback", *plan)
        assert refused.code == 3 and "unit_masked" in refused.stderr, refused
    assert _count(rig, "stop") == stops and rig.link() == newer


def test_row_32_a_unit_masked_in_the_middle_of_a_switch_is_named_by_recover(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    words = ("activate", "--components", "ssh-access", "--evidence", "/evidence", "--release", newer)
    assert rig.killed("activate/after-stop", *words) == -signal.SIGKILL
    unit = rig.paths.at(f"/etc/systemd/system/{UNIT}").read_bytes()
    _mask(rig)
    refused = rig.run("recover")
    assert refused.code == 8 and "is masked" in refused.stderr and "systemctl unmask" in refused.stderr
    rig.fake.units[UNIT].masked = False
    rig.paths.at(f"/etc/systemd/system/{UNIT}").unlink()
    assert rig.run("recover").code == 0
    assert (
        rig.paths.at(f"/etc/systemd/system/{UNIT}").read_bytes() == unit and rig.snapshot()["runs"] == active
    )


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


SETTINGS = "/etc/pharos-hpc/ssh-access.env"
EDITS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_bytes(path.read_bytes() + b"PHAROS_SITE_API_CA_FILE=/tmp/ca\n"),
    "mode": lambda path: path.chmod(0o666),
    "owner": lambda path: os.chown(path, 12345, -1),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="chown needs root")
@pytest.mark.parametrize("file", [SETTINGS, f"/etc/systemd/system/{UNIT}"])
@pytest.mark.parametrize("how", EDITS)
def test_i4_edited_settings_are_refused_shown_and_come_back(
    rig: Rig, active: str, how: str, file: str
) -> None:
    newer, bad = rig.release("0.2.0"), rig.release("0.3.0", behaviour=Behaviour(ready_after=-1))
    assert rig.activate(newer).code == 0
    path = rig.paths.at(file)
    EDITS[how](path)
    edited = path.read_bytes()
    code = "settings_edited" if file == SETTINGS else "unit_edited"
    for words in (("activate", "--components", "ssh-access", "--evidence", "/evidence"), ("rollback",)):
        more = ("--release", newer) if words[0] == "activate" else ()
        refused = rig.run(*words, *more)
        assert refused.code == 3 and code in refused.stderr, refused
    assert rig.status()["edited"] == [file] and f"edited   {file}" in rig.run("status").stdout
    validated = rig.run("validate", "--release", newer)
    assert validated.code == 0 and "unit.edited" in validated.stderr and file in validated.stderr
    assert rig.activate(bad, "--accept-edited-unit", UNIT).code == 7
    assert path.read_bytes() == edited
    assert rig.run("rollback", "--accept-edited-unit", UNIT).code == 0
    assert rig.status()["edited"] == []


def test_i4_settings_are_judged_after_a_rebuilt_record_too(rig: Rig, active: str) -> None:
    rig.paths.state.unlink()
    assert rig.run("recover").code == 0
    path = rig.paths.at(SETTINGS)
    path.write_bytes(path.read_bytes() + b"# by hand\n")
    refused = rig.activate(rig.release("0.2.0"))
    assert refused.code == 3 and "settings_edited" in refused.stderr


def test_row_32_a_foreign_unit_file_is_refused(rig: Rig) -> None:
    rig.write(f"/etc/systemd/system/{UNIT}", "[Service]\nExecStart=/bin/true\n")
    assert rig.activate(rig.release("0.1.0")).code == 3


def test_row_32_a_local_drop_in_is_shown_and_kept(rig: Rig, active: str) -> None:
    drop_in = f"/etc/systemd/system/{UNIT}.d/local.conf"
    rig.fake.units[UNIT].drop_ins.append(drop_in)
    result = rig.activate(rig.release("0.2.0"))
    assert result.code == 0 and drop_in in result.stderr and drop_in in rig.run("status").stdout


def _mask(rig: Rig) -> None:
    """What ``systemctl mask`` leaves: a link to /dev/null in the unit file's place."""
    path = rig.paths.at(f"/etc/systemd/system/{UNIT}")
    path.unlink()
    path.symlink_to("/dev/null")
    rig.fake.units[UNIT].masked = True


def _count(rig: Rig, verb: str) -> int:
    return sum(1 for call in rig.fake.calls if call[0] == "systemctl" and call[1] == verb)


def _once(answer: Completed):  # type: ignore[no-untyped-def]
    left = [answer]
    return lambda: left.pop() if left else None

"""``rollback``, links and records: by seal and record alone, refused before anything stops (rows 27, 28,
36).
"""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.installer.rig import Rig
from tests.installer.systemctl import Behaviour

ACTIVATE = ("activate", "--components", "ssh-access", "--evidence", "/evidence", "--release")


def test_b6_rollback_goes_by_record_and_seal_not_by_time_or_name(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    empty = rig.paths.releases / "0.1.9-0123456789ab"
    empty.mkdir()
    assert rig.run("rollback").code == 0
    assert rig.link() == active
    assert rig.run("rollback", "--to", empty.name).code == 4


def test_i14_a_rollback_that_goes_forward_says_so(rig: Rig, active: str) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0 and rig.run("rollback").code == 0
    planned = rig.run("rollback", "--plan")
    assert f"ssh-access: FORWARD from {active} to {newer}" in planned.stdout
    result = rig.run("rollback", "--quiet")
    assert result.code == 0 and rig.link() == newer
    assert "warning: this rollback goes FORWARD: ssh-access" in result.stderr


def test_b06_a_version_alone_is_no_release_and_the_installed_one_is_offered(rig: Rig, active: str) -> None:
    assert rig.activate(rig.release("0.2.0")).code == 0
    before = rig.snapshot()
    for named in ("0.1.0", active[:-3]):
        result = rig.run("rollback", "--to", named)
        assert result.code == 4 and f"Did you mean {active}?" in result.stderr
    other = rig.run("rollback", "--to", "0.1")
    assert other.code == 4 and "Did you mean" not in other.stderr
    assert rig.snapshot() == before


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


def _chown(path: Path) -> None:
    os.chown(path, 12345, -1, follow_symlinks=False)


SPOILT: dict[str, tuple[str, Callable[[Path], None]]] = {
    "root-mode": (".", lambda path: path.chmod(0o777)),
    "root-owner": (".", _chown),
    "folder-mode": ("components", lambda path: path.chmod(0o775)),
    "folder-owner": ("components", _chown),
    "manifest-mode": ("manifest.json", lambda path: path.chmod(0o666)),
    "manifest-owner": ("manifest.json", _chown),
    "link-owner": ("components/ssh-access/venv/bin/python", _chown),
    "pipe": ("pipe", os.mkfifo),
    "name": ("new\nline", Path.touch),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="chown needs root")
@pytest.mark.parametrize("how", SPOILT)
def test_row_36_a_retained_release_of_wrong_mode_or_owner_is_changed_and_nobody_is_told_to_remove_it(
    rig: Rig, active: str, how: str
) -> None:
    newer = rig.release("0.2.0")
    assert rig.activate(newer).code == 0
    name, spoil = SPOILT[how]
    spoil(rig.paths.release(active) / name)
    result = rig.run("rollback")
    assert result.code == 4 and "tree_changed" in result.stderr, result
    assert "emove" not in result.stderr and "Once no link names" in result.stderr
    assert rig.link() == newer


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
    assert status.code == 9 and "journal_corrupt" in status.stdout
    assert rig.run("recover", "--quarantine-journal").code == 0
    assert (rig.paths.memory / "journal.broken-1").exists()
    assert rig.activate(rig.release("0.3.0")).code == 0


def _count(rig: Rig, verb: str) -> int:
    return sum(1 for call in rig.fake.calls if call[0] == "systemctl" and call[1] == verb)


def _component_journal(rig: Rig, schema: int) -> None:
    path = rig.paths.component_journal("ssh-access")
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema}")
    connection.close()


@pytest.mark.parametrize("verb", ["activate", "rollback"])
def test_i4_a_profile_that_differs_from_the_recorded_inputs_is_not_taken_silently(
    rig: Rig, active: str, verb: str
) -> None:
    newer = rig.release("0.2.0")
    if verb == "rollback":
        assert rig.activate(newer).code == 0
    before = rig.snapshot()
    rig.profile(site_api={"url": "https://another.test", "ca_file": ""})
    words = ("rollback",) if verb == "rollback" else (*ACTIVATE, newer)
    refused = rig.run(*words)
    assert refused.code == 3 and "inputs_changed" in refused.stderr and "site_api.url" in refused.stderr
    assert rig.snapshot() == before
    assert rig.run(*words, "--accept-changed-inputs").code == 0
    settings = rig.paths.at("/etc/pharos-hpc/ssh-access.env").read_text()
    assert "https://another.test" in settings
    record = json.loads(rig.paths.state.read_text())["components"]["ssh-access"]
    assert record["inputs"]["site_api.url"] == "https://another.test"


def test_i4_an_environment_built_on_another_interpreter_is_refused(rig: Rig) -> None:
    release = rig.release("0.1.0")
    rig.write("/usr/local/bin/python3.13", "#!/bin/sh\n", 0o755)
    rig.profile(python="/usr/local/bin/python3.13")
    result = rig.activate(release)
    assert result.code == 3 and "python.interpreter" in result.stderr and "it was built on" in result.stderr


def test_b4_rollback_to_a_release_known_to_be_bad_is_refused_unless_asked_for(rig: Rig, active: str) -> None:
    bad = rig.release("0.2.0", behaviour=Behaviour(ready_after=-1))
    assert rig.activate(bad).code == 7
    refused = rig.run("rollback", "--to", bad)
    assert refused.code == 3 and "release_bad" in refused.stderr
    rig.fake.behaviours[bad] = Behaviour()
    assert rig.run("rollback", "--to", bad, "--retry-bad").code == 0


def test_row_16_an_older_release_is_activated_only_when_it_is_named(rig: Rig) -> None:
    old, new = rig.release("0.9.0"), rig.release("0.10.0")
    rig.own_release = new
    words = ("activate", "--components", "ssh-access", "--evidence", "/evidence")
    assert rig.run(*words).code == 0 and rig.link() == new
    rig.own_release = old
    refused = rig.run(*words)
    assert refused.code == 3 and "downgrade_implicit" in refused.stderr and rig.link() == new
    assert rig.run(*words, "--release", old).code == 0 and rig.link() == old

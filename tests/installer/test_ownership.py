"""What the installer remembers is believed only where nobody else could have written it (rows 18, 26, 27)."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from installer.bootstrap.lock import hold
from installer.domain.activation import (
    ComponentIntent,
    ComponentState,
    Operation,
    PlacedFile,
    environment_path,
    link_target,
    unit_path,
)
from installer.domain.files import FileText
from installer.domain.journal import JournalRecord, decode_journal, encode_record
from installer.domain.refusal import Refusal
from tests.installer.rig import UNIT, Rig

KILLED = -signal.SIGKILL
OLD = "0.1.0-000000000001"
ACTIVATE = ("activate", "--components", "ssh-access", "--evidence", "/evidence", "--release")
SPOILERS: dict[str, Callable[[Path], None]] = {
    "group-writable": lambda path: path.chmod(path.stat().st_mode | 0o020),
    "others-writable": lambda path: path.chmod(path.stat().st_mode | 0o002),
    "owner": lambda path: os.chown(path, 12345, -1),
}
spoiled = pytest.mark.parametrize(
    "how",
    [pytest.param(name, marks=pytest.mark.skipif(os.geteuid() != 0, reason="chown")) for name in SPOILERS],
)


def operation(**changes: object) -> Operation:
    """An intent as the installer writes it, but for ``changes`` of its component or its prior state."""
    files = tuple(
        PlacedFile(path=path, file=FileText.of(b"text"))
        for path in (unit_path(UNIT), environment_path("ssh-access"))
    )
    prior = ComponentState(
        current=link_target(OLD, "ssh-access"), previous=None, files=files, unit_file_state="enabled",
        active=True, invocation="1", record=None,
    )  # fmt: skip
    own = {key: value for key, value in changes.items() if key in {"name", "unit"}}
    state = {key: value for key, value in changes.items() if key not in own}
    intent = ComponentIntent(
        name="ssh-access", unit=UNIT, release=OLD, prior=replace(prior, **state)  # type: ignore[arg-type]
    )  # fmt: skip
    return Operation(
        id="o",
        phase="activate",
        at="2026-01-01T00:00:00Z",
        components=(replace(intent, **own),),  # type: ignore[arg-type]
    )


def journal(planned: Operation) -> bytes:
    return encode_record(
        JournalRecord(sequence=0, kind="intent", at="2026-01-01T00:00:00Z", operation=planned)
    )


def test_an_intent_of_the_installers_own_is_read() -> None:
    assert decode_journal(journal(operation())).operation == operation()


@pytest.mark.parametrize(
    "changes",
    [
        {"files": (PlacedFile(path="/etc/cron.d/evil", file=FileText.of(b"* * * * * root x\n")),)},
        {"files": (PlacedFile(path="/etc/systemd/system/sshd.service", file=None),)},
        {"files": (PlacedFile(path=f"/etc/systemd/system/../../{UNIT}", file=None),)},
        {"unit": "sshd.service"},
        {"unit": "pharos-../../cron.d/x.service"},
        {"name": "../ssh-access"},
        {"current": "/tmp/evil"},
        {"current": "../../releases/x/../../../tmp/components/ssh-access"},
        {"previous": "../../releases/../components/ssh-access"},
    ],
    ids=str,
)
def test_row_27_a_journal_that_names_anything_else_is_corrupt(changes: dict[str, object]) -> None:
    with pytest.raises(Refusal) as caught:
        decode_journal(journal(operation(**changes)))
    assert (caught.value.code, caught.value.exit_code) == ("journal_corrupt", 9)


def test_row_27_a_planted_journal_writes_nothing(rig: Rig, active: str) -> None:
    evil = PlacedFile(path="/etc/cron.d/evil", file=FileText.of(b"* * * * * root x\n"))
    rig.write("/var/lib/pharos-installer/journal", journal(operation(files=(evil,))), 0o600)
    before = rig.snapshot()
    assert rig.run("recover").code == 9
    assert not rig.paths.at("/etc/cron.d/evil").exists() and rig.snapshot() == before


@spoiled
def test_row_27_a_journal_of_another_hand_is_not_acted_on(rig: Rig, how: str) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    assert rig.killed("activate/after-links", *ACTIVATE, new) == KILLED
    SPOILERS[how](rig.paths.journal)
    calls = len(rig.fake.calls)
    result = rig.run("recover")
    assert result.code == 9 and "journal_untrusted" in result.stderr
    assert rig.link() == new and len(rig.fake.calls) == calls
    assert "journal_untrusted" in rig.run("status").stdout
    assert rig.activate(new).code == 9
    assert rig.run("recover", "--quarantine-journal").code == 0
    assert (rig.paths.memory / "journal.broken-1").exists()


@spoiled
def test_row_26_a_state_of_another_hand_is_kept_aside_and_rebuilt(rig: Rig, active: str, how: str) -> None:
    SPOILERS[how](rig.paths.state)
    assert "state_broken" in rig.run("status").stdout
    result = rig.run("recover")
    assert result.code == 0 and "rebuilt" in result.stdout
    assert (rig.paths.memory / "state.json.broken-1").exists()
    assert rig.paths.state.stat().st_uid == os.geteuid() and rig.status()["agrees"] is True


@spoiled
def test_row_18_a_memory_of_another_hand_refuses_every_phase(rig: Rig, active: str, how: str) -> None:
    before = rig.snapshot()
    SPOILERS[how](rig.paths.memory)
    for words in ((*ACTIVATE, active), ("rollback",), ("recover",), ("validate", "--release", active)):
        result = rig.run(*words)
        assert result.code == 3 and "lock_unusable" in result.stderr, words
    assert "memory_untrusted" in rig.run("status").stdout
    assert rig.run("recover", "--plan").code == 4
    assert rig.snapshot() == before


@spoiled
def test_row_25_a_lock_of_another_hand_is_refused(tmp_path: Path, how: str) -> None:
    lock = tmp_path / "lock"
    lock.touch(0o600)
    SPOILERS[how](lock)
    with pytest.raises(Refusal) as caught, hold(lock, verb="activate"):
        pass
    assert caught.value.code == "lock_unusable"


def test_row_28_a_foreign_previous_link_is_refused_before_the_intent(rig: Rig, active: str) -> None:
    (rig.paths.components / "ssh-access/previous").symlink_to("/tmp/evil")
    result = rig.activate(rig.release("0.2.0"))
    assert result.code == 4 and "link_foreign" in result.stderr
    assert not rig.paths.journal.exists() and rig.link() == active


def _elsewhere(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name(f"{path.name}-real")))


LINK_FOLDERS = ("/opt/pharos-hpc", "/opt/pharos-hpc/components", "/opt/pharos-hpc/components/ssh-access")
LINK_SPOILERS = {**SPOILERS, "link": _elsewhere}


@pytest.mark.skipif(os.geteuid() != 0, reason="chown needs root")
@pytest.mark.parametrize("folder", LINK_FOLDERS)
@pytest.mark.parametrize("how", LINK_SPOILERS)
def test_row_17_links_in_a_folder_of_another_hand_are_not_believed(
    rig: Rig, active: str, how: str, folder: str
) -> None:
    newer = rig.release("0.2.0")
    LINK_SPOILERS[how](rig.paths.at(folder))
    calls = [call for call in rig.fake.calls if "stop" in call]
    for words in ((*ACTIVATE, active), (*ACTIVATE, newer), ("rollback",), ("recover", "--adopt-links")):
        result = rig.run(*words)
        assert result.code == 4 and "link_folder_untrusted" in result.stderr, (words, result)
    assert rig.status()["agrees"] is False
    assert [call for call in rig.fake.calls if "stop" in call] == calls and rig.link() == active

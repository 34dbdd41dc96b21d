"""Settings, credentials, journals, notifications (X5, X6, I03, S7)."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from pathlib import Path

import pytest

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.errors import SettingsError, UnavailableError
from site_bundle.kernel.journal import JournalRefusedError, open_journal
from site_bundle.kernel.notify import Notifier
from site_bundle.kernel.settings import ignored_names, read_environment_file
from site_bundle.ssh_access.adapters.sqlite_journal import SCHEMA, open_key_journal
from site_bundle.ssh_access.settings import TABLE, agent_settings

GOOD = {
    "PHAROS_SITE_API_URL": "https://site-api.example:8443",
    "PHAROS_SITE_API_CA_FILE": "",
    "PHAROS_SITE_API_TOKEN": "phs1_secret",
    "PHAROS_SSH_ACCESS_LDAPI_SOCKET": "/run/slapd/ldapi",
    "PHAROS_SSH_ACCESS_LDAP_IDENTITY": "cn=agent,dc=example",
    "PHAROS_SSH_ACCESS_PEOPLE_BASE": "ou=people,dc=example",
    "PHAROS_SSH_ACCESS_UID_MIN": "5000000",
    "PHAROS_SSH_ACCESS_UID_MAX": "5499999",
}
MIGRATIONS = ("CREATE TABLE t (a); PRAGMA user_version = 1;",)


def test_settings_that_are_complete() -> None:
    settings = agent_settings({**GOOD, "PATH": "/bin"})
    assert settings.ca_file is None
    assert settings.probe_entry is None
    assert (settings.cache_seconds, settings.observe, settings.state_directory) == (
        5400,
        False,
        Path("/var/lib/pharos-ssh-access"),
    )
    assert "secret" not in repr(settings)


def test_folders_come_from_systemd_unless_set() -> None:
    given = {**GOOD, "STATE_DIRECTORY": "/a:/b", "RUNTIME_DIRECTORY": "/c"}
    settings = agent_settings({**given, "PHAROS_SSH_ACCESS_RUNTIME_DIRECTORY": "/d"})
    assert (settings.state_directory, settings.runtime_directory) == (Path("/a"), Path("/d"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PHAROS_SITE_API_URL", "http://site-api.example"),
        ("PHAROS_SITE_API_URL", "https://user@site-api.example"),
        ("PHAROS_SITE_API_URL", "https://site-api.example/path"),
        ("PHAROS_SITE_API_URL", "https://site-api.example:99999"),
        ("PHAROS_SITE_API_CA_FILE", "ca.crt"),
        ("PHAROS_SSH_ACCESS_LDAPI_SOCKET", "ldapi:///run/slapd/ldapi"),
        ("PHAROS_SSH_ACCESS_LDAPI_SOCKET", "slapd/ldapi"),
        ("PHAROS_SSH_ACCESS_LDAP_IDENTITY", "pharos-ssh-access"),
        ("PHAROS_SSH_ACCESS_PEOPLE_BASE", ""),
        ("PHAROS_SSH_ACCESS_UID_MIN", "0"),
        ("PHAROS_SSH_ACCESS_UID_MIN", "5e6"),
        ("PHAROS_SSH_ACCESS_UID_MAX", "4999999"),
        ("PHAROS_SSH_ACCESS_MODE", "dry-run"),
        ("PHAROS_SSH_ACCESS_CACHE_SECONDS", "-1"),
        ("PHAROS_SSH_ACCESS_LDAPI_SOCKETS", "/run/slapd/ldapi"),
        ("PHAROS_SITE_API_TOKEN_FILE", "/also"),
        ("RESOURCE_PROVISIONING_X", "1"),
    ],
)
def test_settings_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        agent_settings({**GOOD, name: value})
    assert caught.value.code == "settings_refused"
    assert name in caught.value.found
    assert caught.value.exit_status == 2
    assert "secret" not in str(caught.value)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        agent_settings({"PHAROS_NEW": "1"})
    missing = [row.name for row in TABLE if row.required]
    assert all(name in caught.value.found for name in [*missing, "PHAROS_NEW"])


def test_service_links_are_ignored_and_named() -> None:
    links = {"PHAROS_SITE_SERVICE_HOST": "10.0.0.1", "PHAROS_SITE_PORT_443_TCP": "tcp://10.0.0.1:443"}
    assert agent_settings({**GOOD, **links}).observe is False
    assert ignored_names(links) == sorted(links)


def test_environment_file(tmp_path: Path) -> None:
    path = tmp_path / "ssh-access.env"
    path.write_text("# rendered\n\nA=1\nB=two words\nC='quoted'\nD=\n")
    assert read_environment_file(path) == {"A": "1", "B": "two words", "C": "quoted", "D": ""}
    for bad in ("export A=1\n", "A=1\nA=2\n", "a b\n"):
        path.write_text(bad)
        with pytest.raises(SettingsError) as caught:
            read_environment_file(path)
        assert caught.value.code == "environment_file_malformed"
    with pytest.raises(SettingsError) as caught:
        read_environment_file(tmp_path / "missing")
    assert caught.value.code == "environment_file_unreadable"


def test_I03_changed_credential_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    credential = Credential.from_environment("T", {"T_FILE": str(path)})
    assert credential.read() == "first"
    (tmp_path / "new").write_text("second")
    (tmp_path / "new").replace(path)
    assert credential.read() == "second"
    assert "second" not in repr(credential)


def test_I02_no_credential_no_start_without_one(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        Credential(path=tmp_path / "missing").read()
    assert caught.value.code == "credential_unreadable"


@pytest.mark.parametrize("content", ["", "two words", "zwei\nzeilen", "tökén", "x" * 5000])
def test_credential_is_one_token(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(UnavailableError) as caught:
        Credential(path=path).read()
    assert caught.value.code == "credential_malformed"
    assert not content or content not in str(caught.value)


def test_credential_of_systemd_may_be_group_readable(tmp_path: Path) -> None:
    """lab.md 5: credentials of a unit with User= are 0440."""
    path = tmp_path / "token"
    path.write_text("t")
    path.chmod(0o440)
    assert Credential(path=path).read() == "t"


def test_fifo_in_place_of_the_credential_does_not_park(tmp_path: Path) -> None:
    path = tmp_path / "token"
    os.mkfifo(path)
    with pytest.raises(UnavailableError):
        Credential(path=path).read()


def test_journal_is_durable_and_has_one_writer(tmp_path: Path) -> None:
    journal = open_key_journal(tmp_path / "j")
    connection = journal._journal.connection
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA
    with pytest.raises(JournalRefusedError) as caught:
        open_key_journal(tmp_path / "j")
    assert caught.value.code == "journal_locked"
    journal.close()
    open_key_journal(tmp_path / "j").close()


def test_newer_journal_is_refused_by_number(tmp_path: Path) -> None:
    path = tmp_path / "j"
    open_journal(path, migrations=MIGRATIONS).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(JournalRefusedError) as caught:
        open_journal(path, migrations=MIGRATIONS)
    assert caught.value.code == "journal_schema_newer"
    assert "7" in caught.value.found
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged_journal_is_refused(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(damage)
    with pytest.raises(JournalRefusedError) as caught:
        open_journal(path, migrations=MIGRATIONS)
    assert caught.value.code == "journal_damaged"


def test_journal_torn_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = open_journal(path, migrations=MIGRATIONS)
    with journal.transaction() as connection:
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 100)
    journal.close()
    raw = bytearray(path.read_bytes())
    raw[8192:12288] = b"\xaa" * 4096
    path.write_bytes(raw)
    with pytest.raises(JournalRefusedError):
        open_journal(path, migrations=MIGRATIONS)


def test_transaction_is_whole_or_nothing(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "j", migrations=MIGRATIONS)
    with pytest.raises(KeyError), journal.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        raise KeyError
    with pytest.raises(UnavailableError) as caught, journal.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("INSERT INTO missing VALUES (1)")
    assert caught.value.code == "journal_unwritable"
    assert journal.read("SELECT count(*) FROM t", {})[0][0] == 0
    with pytest.raises(UnavailableError) as caught:
        journal.read("SELECT * FROM missing", {})
    assert caught.value.code == "journal_unreadable"
    journal.close()


def test_state_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        open_journal(tmp_path / "no" / "j", migrations=MIGRATIONS)
    assert caught.value.code == "journal_unreachable"


@pytest.mark.parametrize("abstract", [False, True])
def test_notify_is_one_datagram(tmp_path: Path, abstract: bool) -> None:
    name = f"\0pharos-{os.getpid()}" if abstract else str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(5)
        Notifier({"NOTIFY_SOCKET": name.replace("\0", "@")}).send("READY=1", "STATUS=ready")
        assert manager.recv(1000) == b"READY=1\nSTATUS=ready"


def test_notify_without_a_manager_or_with_a_deaf_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("site_bundle.kernel.notify.SEND_SECONDS", 0.05)
    Notifier({}).send("READY=1")
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).send("READY=1")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))

        def send() -> None:
            for _ in range(20):
                Notifier({"NOTIFY_SOCKET": str(tmp_path / "n")}).send("WATCHDOG=1")

        sender = threading.Thread(target=send)
        sender.start()
        sender.join(10)
        assert not sender.is_alive()

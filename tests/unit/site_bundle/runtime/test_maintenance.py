"""What an administrator asks is journalled before it is forgotten, and keeps nothing else (S15, E3, X1)."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock
from uuid import UUID, uuid4

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.runtime.adapters.request_files import RequestFiles
from site_bundle.runtime.adapters.sqlite_journal import SqliteCommandJournal, open_command_journal
from site_bundle.runtime.adapters.wire_words import encode_statement
from site_bundle.runtime.application.ports import DrainRequest
from site_bundle.runtime.entrypoints.maintenance import Maintenance
from tests.unit.site_bundle.runtime.scenes import NOW

FEED, LATER = UUID(int=1), UUID(int=2)
DRAIN = DrainRequest(True, None, "upgrade")


@pytest.fixture
def journal(tmp_path: Path) -> SqliteCommandJournal:
    return open_command_journal(tmp_path / "journal.sqlite")


@pytest.fixture
def requests(tmp_path: Path) -> RequestFiles:
    return RequestFiles(tmp_path)


@pytest.fixture
def maintenance(journal: SqliteCommandJournal, requests: RequestFiles) -> Maintenance:
    return Maintenance(
        api=MagicMock(),
        journal=journal,
        telling=MagicMock(),
        encode=encode_statement,
        new_id=uuid4,
        requests=requests,
        retry_seconds=30.0,
        monotonic=lambda: 1.0,
    )


def test_e3_an_acceptance_stands_until_its_history_answers(
    maintenance: Maintenance, requests: RequestFiles, journal: SqliteCommandJournal
) -> None:
    journal.switch_feed(FEED)
    requests.put_acceptance(LATER)
    maintenance.take(now=NOW)
    assert not journal.feed_state().may_begin
    journal.switch_feed(LATER)
    maintenance.take(now=NOW)
    assert journal.feed_state().may_begin
    assert requests.acceptance() is None


def test_s15_a_drain_that_could_not_be_journalled_is_taken_later(
    maintenance: Maintenance,
    journal: SqliteCommandJournal,
    monkeypatch: pytest.MonkeyPatch,
    requests: RequestFiles,
) -> None:
    requests.put_drain(DRAIN)

    def full(*_: object, **__: object) -> None:
        raise UnavailableError("journal_unwritable", found="No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(journal, "put_statement", full)
        with pytest.raises(UnavailableError):
            maintenance.take(now=NOW)
    assert not journal.is_draining()
    maintenance.take(now=NOW)
    assert journal.is_draining()
    assert requests.drain() is None


def test_x1_a_request_nobody_can_read_is_said_and_stops_nothing(
    maintenance: Maintenance, requests: RequestFiles, tmp_path: Path
) -> None:
    (tmp_path / "accept-feed").mkdir()
    requests.put_drain(DRAIN)
    maintenance.take(now=NOW)
    assert requests.drain() is None, "the other one is taken all the same"
    telling = maintenance.telling
    assert isinstance(telling, MagicMock)
    ((check, error), _) = telling.failed.call_args
    assert (check, error.code) == ("requests", "request_unreadable")
    (tmp_path / ".accept-feed.claimed").rmdir()
    maintenance.take(now=NOW)
    telling.requests_read.assert_called_once()

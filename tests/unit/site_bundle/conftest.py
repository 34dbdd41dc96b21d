"""The journal of a use case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from site_bundle.ssh_access.adapters.sqlite_journal import SqliteKeyJournal, open_key_journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteKeyJournal]:
    made = open_key_journal(tmp_path / "journal.sqlite")
    yield made
    made.close()

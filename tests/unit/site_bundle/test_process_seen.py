"""What `doctor` of every component says of the running process: unreadable is not "does not run" (X1)."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from site_bundle.kernel.health import Status
from site_bundle.kernel.status_files import STATUS_NAME, process_seen
from site_bundle.kernel.times import render_time

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def seen(folder: Path, now: datetime = NOW) -> tuple[Status, str | None]:
    check = process_seen(folder, unit="pharos-runtime", now=now)
    return check.status, check.code


@pytest.mark.parametrize("content", [b"", b"{}", b'{"schema":1,', b"\xff" * 10, b"x" * 300_000])
def test_x1_a_document_that_is_none_says_nothing_of_the_process(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STATUS_NAME).write_bytes(content)
    assert seen(tmp_path) == (Status.UNKNOWN, "status_malformed")


def test_x1_a_file_that_cannot_be_read_neither(tmp_path: Path) -> None:
    (tmp_path / STATUS_NAME).mkdir()
    assert seen(tmp_path) == (Status.UNKNOWN, "status_unreadable")


def test_x9_no_file_is_no_process_and_an_old_word_is_none(tmp_path: Path) -> None:
    assert seen(tmp_path) == (Status.FAIL, "not_running")
    document = {
        "schema": 1, "component": "runtime", "release": "r", "pid": os.getpid(), "state": "ready",
        "since": render_time(NOW), "updatedAt": render_time(NOW), "checks": {},
    }  # fmt: skip
    (tmp_path / STATUS_NAME).write_text(json.dumps(document))
    assert seen(tmp_path)[0] is Status.PASS
    assert seen(tmp_path, NOW + timedelta(hours=1)) == (Status.FAIL, "status_stale")

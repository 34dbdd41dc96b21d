"""A verb's request is journalled before it is forgotten, and never forgotten unread (S15, E3, X1)."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from site_bundle.kernel.requests import RequestFile, RequestUnreadableError, look_for_feed, put_feed

ONE, TWO = UUID(int=1), UUID(int=2)


@pytest.fixture
def request_file(tmp_path: Path) -> RequestFile:
    return RequestFile(tmp_path / "accept-feed")


def test_e3_it_is_shown_until_it_is_done(request_file: RequestFile, tmp_path: Path) -> None:
    assert look_for_feed(request_file) is None
    put_feed(request_file, ONE)
    for _cut_off_before_it_is_done in range(2):
        assert look_for_feed(RequestFile(tmp_path / "accept-feed")) == ONE
    request_file.done()
    assert look_for_feed(request_file) is None
    assert list(tmp_path.iterdir()) == []


def test_e3_what_is_asked_between_look_and_done_is_not_forgotten(request_file: RequestFile) -> None:
    put_feed(request_file, ONE)
    assert look_for_feed(request_file) == ONE
    put_feed(request_file, TWO)
    request_file.done()
    assert look_for_feed(request_file) == TWO


def test_e3_the_newest_supersedes(request_file: RequestFile) -> None:
    put_feed(request_file, ONE)
    assert look_for_feed(request_file) == ONE
    put_feed(request_file, TWO)
    assert look_for_feed(request_file) == TWO
    request_file.done()
    assert look_for_feed(request_file) is None


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 10, b"x" * 10_000])
def test_x4_what_is_no_request_is_forgotten(
    request_file: RequestFile, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "accept-feed").write_bytes(content)
    assert look_for_feed(request_file) is None
    assert list(tmp_path.iterdir()) == []


def test_x4_a_link_is_not_followed_and_asks_for_nothing(request_file: RequestFile, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text(f"{ONE}\n")
    (tmp_path / "accept-feed").symlink_to(there)
    assert look_for_feed(request_file) is None
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_x1_what_cannot_be_read_is_said_and_stays(request_file: RequestFile, tmp_path: Path) -> None:
    (tmp_path / "accept-feed").mkdir()
    for _ in range(2):
        with pytest.raises(RequestUnreadableError) as unreadable:
            look_for_feed(request_file)
        assert unreadable.value.code == "request_unreadable"
        assert str(tmp_path) in unreadable.value.found
    (tmp_path / ".accept-feed.claimed").rmdir()
    put_feed(request_file, ONE)
    assert look_for_feed(request_file) == ONE

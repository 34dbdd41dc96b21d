"""Files and links changed whole or not at all (H18, H23, B34, row 28, X1)."""

import errno
import os
import stat
from pathlib import Path

import pytest

from installer.domain.files import FileText
from installer.domain.refusal import Refusal
from installer.host import files


def test_a_file_is_replaced_whole_with_its_mode(tmp_path: Path) -> None:
    place = tmp_path / "file"
    old = os.umask(0)
    try:
        files.write_file(place, FileText.of(b"one", 0o600))
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        files.write_file(place, FileText.of(b"two \xff", 0o644))
    finally:
        os.umask(old)
    read = files.read_file(place, limit=100)
    assert read is not None and (read.data, read.mode) == (b"two \xff", 0o644)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_b34_a_private_file_is_never_wider_not_even_for_an_instant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    real = os.write

    def watch(descriptor: int, data: bytes) -> int:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", watch)
    old = os.umask(0)
    try:
        files.write_file(tmp_path / "secret", FileText.of(b"s", 0o600))
    finally:
        os.umask(old)
    assert seen == [0o600]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_h23_row_9_a_failed_write_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    place = tmp_path / "file"
    files.write_file(place, FileText.of(b"old"))

    def fail(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path if call == "replace" else os, call, fail)
    with pytest.raises(OSError, match="space"):
        files.write_file(place, FileText.of(b"new"))
    monkeypatch.undo()
    assert place.read_bytes() == b"old" and [path.name for path in tmp_path.iterdir()] == ["file"]


def test_h18_a_link_is_replaced_in_one_step_and_removed(tmp_path: Path) -> None:
    link = tmp_path / "current"
    for target in ("a", "b", "b"):
        files.set_link(link, target)
        assert files.read_link(link) == target
    files.set_link(link, None)
    files.set_link(link, None)
    assert files.read_link(link) is None and list(tmp_path.iterdir()) == []


def test_row_28_what_is_no_link_is_refused_and_left(tmp_path: Path) -> None:
    link = tmp_path / "current"
    link.mkdir()
    for target in ("a", None):
        with pytest.raises(Refusal) as caught:
            files.set_link(link, target)
        assert caught.value.code == "path_strange" and link.is_dir()


def test_row_28_leftovers_of_a_killed_run_go_with_the_next_change(tmp_path: Path) -> None:
    (tmp_path / ".current.pharos-new-00").symlink_to("x")
    (tmp_path / ".file.pharos-new-00").write_text("half")
    files.set_link(tmp_path / "current", "a")
    files.write_file(tmp_path / "file", FileText.of(b"x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["current", "file"]


def test_x1_reading_has_three_outcomes(tmp_path: Path) -> None:
    assert files.read_file(tmp_path / "absent", limit=10) is None
    for kind in ("link", "folder", "long", "fifo"):
        place = tmp_path / kind
        if kind == "link":
            place.symlink_to("absent")
        elif kind == "folder":
            place.mkdir()
        elif kind == "fifo":
            os.mkfifo(place)
        else:
            place.write_bytes(b"x" * 11)
        with pytest.raises(Refusal) as caught:
            files.read_file(place, limit=10)
        assert caught.value.code in {"unreadable", "path_strange"}


def test_folders_are_made_with_their_mode_and_existing_ones_left(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        files.make_folder(tmp_path / "a/b", 0o755)
    finally:
        os.umask(old)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [0o755, 0o755]
    (tmp_path / "a").chmod(0o700)
    files.make_folder(tmp_path / "a", 0o755)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(NotADirectoryError):
        files.make_folder(tmp_path / "link", 0o755)

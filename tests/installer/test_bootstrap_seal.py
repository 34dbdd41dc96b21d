"""Seals: a folder is finished or it is not, and later changes are found and named (rows 1, 13; B1, B2, B11,
H10, H21).
"""

import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from installer.bootstrap.seal import SEAL, TREE, read_seal, remove_unsealed, seal_tree, verify_seal
from installer.domain.refusal import Refusal
from installer.domain.tree import (
    TreeEntry,
    TreeListingError,
    decode_tree,
    encode_tree,
    tree_differences,
    tree_sha256,
)

ID = "0.1.0-0123456789ab"
STEPS = ("digest", "seal-temp", "seal-rename")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "release"
    (root / "bin").mkdir(parents=True)
    (root / "lib" / "empty").mkdir(parents=True)
    (root / "bin" / "tool").write_bytes(b"#!/x\n")
    (root / "bin" / "tool").chmod(0o755)
    (root / "lib" / "m.py").write_bytes(b"VALUE = 1\n")
    (root / "lib" / "script (dev).tmpl").write_bytes(b"")
    (root / "lib64").symlink_to("lib")
    return root


def seal(folder: Path, checkpoint: Callable[[str], None] = lambda _point: None) -> None:
    seal_tree(folder, release_id=ID, manifest_sha256="0" * 64, checkpoint=checkpoint)


def refused(folder: Path) -> Refusal:
    with pytest.raises(Refusal) as caught:
        verify_seal(folder)
    assert caught.value.exit_code == 4
    return caught.value


def test_a_sealed_folder_verifies(folder: Path) -> None:
    seal(folder)
    found = verify_seal(folder, release_id=ID)
    assert (found.release_id, found.manifest_sha256, found.entries) == (ID, "0" * 64, 7)
    assert found.tree_sha256 == tree_sha256((folder / TREE).read_bytes())


def test_a_folder_of_another_release(folder: Path) -> None:
    seal(folder)
    with pytest.raises(Refusal, match="seal_other_release"):
        verify_seal(folder, release_id="0.2.0-000000000000")


def _replace_link(folder: Path, *, to: str) -> None:
    (folder / "lib64").unlink()
    if to:
        (folder / "lib64").symlink_to(to)
    else:
        (folder / "lib64").write_bytes(b"")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "B2_deleted": (lambda f: (f / "lib" / "m.py").unlink(), "missing: lib/m.py"),
    "B11_H21_one_byte": (lambda f: (f / "lib" / "m.py").write_bytes(b"VALUE = 2\n"), "changed: lib/m.py"),
    "H10_shebang_edited_later": (lambda f: (f / "bin" / "tool").write_bytes(b"#!/y\n"), "changed: bin/tool"),
    "extra_file": (lambda f: (f / "lib" / "evil.pth").write_bytes(b""), "extra: lib/evil.pth"),
    "extra_folder": (lambda f: (f / "x").mkdir(), "extra: x"),
    "mode": (lambda f: (f / "lib" / "m.py").chmod(0o755), "mode 100755 instead of 100644: lib/m.py"),
    "removed_folder": (lambda f: (f / "lib" / "empty").rmdir(), "missing: lib/empty"),
    "link_turned": (lambda f: _replace_link(f, to="/tmp"), "changed: lib64"),
    "file_for_link": (lambda f: _replace_link(f, to=""), "lib64"),
    "listing": (lambda f: (f / TREE).write_bytes((f / TREE).read_bytes()[:-1]), "TREE"),
    "listing_entry": (
        lambda f: (f / TREE).write_bytes((f / TREE).read_bytes().replace(b"m.py", b"n.py")),
        "TREE",
    ),
    "no_listing": (lambda f: (f / TREE).unlink(), "TREE"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_row13_a_change_is_found_and_named(folder: Path, name: str) -> None:
    seal(folder)
    CHANGES[name][0](folder)
    error = refused(folder)
    assert error.code == "tree_changed"
    assert CHANGES[name][1] in error.found


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_row13_a_writable_file_does_not_verify(folder: Path, mode: int) -> None:
    seal(folder)
    (folder / "lib" / "m.py").chmod(mode)
    with pytest.raises(Refusal, match=r"m\.py"):
        verify_seal(folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 246, b"{}", b"{", b'{"schema":1,"schema":1}', b"null", b'{"schema":2}'],
    ids=["empty", "nul", "object", "half", "duplicate", "null", "newer"],
)
def test_row13_row44_a_seal_that_cannot_be_read_is_not_absent(folder: Path, content: bytes) -> None:
    seal(folder)
    (folder / SEAL).write_bytes(content)
    assert refused(folder).code == "seal_malformed"


def test_a_seal_that_is_a_link_or_folder_is_not_absent(folder: Path) -> None:
    seal(folder)
    (folder / SEAL).rename(folder / "moved")
    (folder / SEAL).symlink_to("moved")
    assert refused(folder).code == "input_unreadable"


def test_B1_no_seal_is_proven_absence(folder: Path, tmp_path: Path) -> None:
    assert read_seal(folder) is None
    assert read_seal(tmp_path / "nothing") is None
    assert refused(folder).code == "seal_missing"


def test_B1_only_unsealed_folders_are_removed(folder: Path) -> None:
    seal(folder)
    with pytest.raises(Refusal):
        remove_unsealed(folder)
    (folder / SEAL).unlink()
    remove_unsealed(folder)
    assert not folder.exists()


def test_B1_removal_does_not_follow_links(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data").write_bytes(b"")
    (folder / "way").symlink_to(tmp_path / "precious")
    remove_unsealed(folder)
    assert (tmp_path / "precious" / "data").exists()
    (tmp_path / "link").symlink_to("precious")
    with pytest.raises(Refusal):
        remove_unsealed(tmp_path / "link")


@pytest.mark.parametrize("point", [f"{when}-{step}" for step in STEPS for when in ("before", "after")])
def test_row1_killed_at_a_point_the_folder_is_sealed_whole_or_not_at_all(folder: Path, point: str) -> None:
    program = (
        "import sys; from pathlib import Path; from installer.bootstrap.seal import seal_tree; "
        "from installer.bootstrap.checkpoint import lab_checkpoint; "
        "seal_tree(Path(sys.argv[1]), release_id=sys.argv[2], manifest_sha256='0' * 64, "
        "checkpoint=lab_checkpoint(sys.argv[3], 'release'))"
    )
    command = [sys.executable, "-c", program, os.fspath(folder), ID, f"release/{point}"]
    assert subprocess.run(command, check=False).returncode == -9
    if read_seal(folder) is None:
        assert point != "after-seal-rename"
        remove_unsealed(folder)
    else:
        assert point == "after-seal-rename"
        verify_seal(folder, release_id=ID)


def test_points_come_in_order_and_nothing_is_sealed_before_the_rename(folder: Path) -> None:
    seen: list[str] = []

    def note(point: str) -> None:
        seen.append(point)
        assert (read_seal(folder) is not None) == (point == "after-seal-rename")

    seal(folder, note)
    assert seen == [f"{when}-{step}" for step in STEPS for when in ("before", "after")]


@pytest.mark.parametrize("name", ["new\nline", "tab\t", "esc\x1b[31m"])
def test_an_unlistable_name_is_not_sealed(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"")
    with pytest.raises(Refusal, match="tree_unsealable"):
        seal(folder)
    assert read_seal(folder) is None


def test_a_pipe_is_not_sealed(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refusal, match="no file, link or folder"):
        seal(folder)


def test_a_socket_is_not_sealed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # a socket's name is short, tmp_path may not be
    os.mknod("door", 0o600 | stat.S_IFSOCK)
    with pytest.raises(Refusal, match="no file, link or folder"):
        seal(folder)


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_row13_a_file_of_any_size_is_hashed_to_its_end(folder: Path, size: int) -> None:
    data = bytearray(os.urandom(size))
    (folder / "lib" / "large").write_bytes(data)
    seal(folder)
    verify_seal(folder)
    listed = {entry.path: entry.sha256 for entry in decode_tree((folder / TREE).read_bytes())}
    assert listed["lib/large"] == hashlib.sha256(data).hexdigest()
    (folder / "lib" / "large").write_bytes(data + b"x")
    assert "lib/large" in refused(folder).found


def test_row21_umask_changes_nothing(folder: Path) -> None:
    for mask in (0o077, 0o000):
        before = os.umask(mask)
        try:
            seal(folder)
        finally:
            os.umask(before)
        assert {(folder / name).stat().st_mode & 0o777 for name in (SEAL, TREE)} == {0o644}


NAMES = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=9).filter(
    str.isprintable
)
ENTRIES = st.builds(
    TreeEntry,
    path=st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    mode=st.sampled_from([0o100644, 0o100755, 0o040755, 0o120000]),
    sha256=st.none() | st.text("0123456789abcdef", min_size=64, max_size=64),
)


@given(st.lists(ENTRIES, max_size=6, unique_by=lambda entry: entry.path))
def test_a_listing_is_read_as_it_was_written(entries: list[TreeEntry]) -> None:
    assert decode_tree(encode_tree(entries)) == sorted(entries, key=lambda entry: entry.path)


@given(
    st.lists(ENTRIES, max_size=4, unique_by=lambda e: e.path),
    st.lists(ENTRIES, max_size=4, unique_by=lambda e: e.path),
)
def test_the_digest_differs_exactly_when_an_entry_does(left: list[TreeEntry], right: list[TreeEntry]) -> None:
    same = tree_sha256(encode_tree(left)) == tree_sha256(encode_tree(right))
    assert same == (not tree_differences(left, right))


@given(st.binary(max_size=200))
def test_junk_is_no_listing(data: bytes) -> None:
    try:
        entries = decode_tree(data)
    except TreeListingError:
        return
    assert encode_tree(entries) == data

"""Inputs by descriptor: links, owners, modes and kinds (rows 17, 18; H22)."""

import os
from pathlib import Path

import pytest

from installer.bootstrap.archive import open_verified
from installer.bootstrap.inputs import HOST_TRUST, Trust, open_folder, open_input, read_input
from installer.bootstrap.signature import sealed_copy, sealed_copy_of
from installer.domain.refusal import Refusal
from tests.installer.archives import TRUST, Workshop

LIMIT = 1000


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "input"
    path.parent.mkdir()
    path.write_bytes(b"content")
    path.chmod(0o644)
    return path


def code(path: Path, trust: Trust = TRUST) -> str:
    with pytest.raises(Refusal) as caught:
        os.close(open_input(path, what="an input", size_limit=LIMIT, trust=trust))
    assert caught.value.found and caught.value.wanted and caught.value.remedy
    return caught.value.code


def test_a_plain_file_is_read(secret: Path) -> None:
    assert read_input(secret, what="an input", size_limit=LIMIT, trust=TRUST) == b"content"
    inside = Path(os.path.relpath(secret))
    assert read_input(inside, what="an input", size_limit=LIMIT, trust=TRUST) == b"content"


def test_row17_link_as_the_input(secret: Path) -> None:
    link = secret.with_name("link")
    link.symlink_to(secret)
    assert code(link) == "input_link"


def test_row17_dangling_link(secret: Path) -> None:
    link = secret.with_name("link")
    link.symlink_to("nowhere")
    assert code(link) == "input_link"


def test_row17_link_above_the_input(secret: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(secret.parent)
    assert code(tmp_path / "alias" / "input") == "input_link"


def test_dots_are_resolved_by_text(secret: Path) -> None:
    dotted = secret.parent / ".." / "folder" / "input"
    assert read_input(dotted, what="an input", size_limit=LIMIT, trust=TRUST) == b"content"


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_row18_writable_input(secret: Path, mode: int) -> None:
    secret.chmod(mode)
    assert code(secret) == "input_writable"


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_row18_writable_folder_above(secret: Path, mode: int) -> None:
    secret.parent.chmod(mode)
    assert code(secret) == "input_writable"


def test_row18_sticky_folder_above_is_refused_on_a_host(secret: Path) -> None:
    secret.parent.chmod(0o1777)
    with pytest.raises(Refusal, match="Move it to a folder") as caught:
        read_input(secret, what="an input", size_limit=LIMIT, trust=Trust(owners=TRUST.owners))
    assert caught.value.code == "input_writable"
    assert "chmod" not in caught.value.remedy, "nobody is told to break /tmp"
    assert HOST_TRUST.sticky_parents is False


def test_row18_foreign_owner_names_both_and_the_remedy(secret: Path) -> None:
    with pytest.raises(Refusal, match=f"belongs to user {os.geteuid()}.*folder of root") as caught:
        read_input(
            secret, what="an input", size_limit=LIMIT, trust=Trust(frozenset({4242}), sticky_parents=True)
        )
    # The first folder of that owner is the one that is named.
    assert caught.value.code == "input_owner"


def test_missing_is_proven_and_folders_and_pipes_are_other_kinds(secret: Path) -> None:
    assert code(secret.with_name("absent")) == "input_missing"
    assert code(secret / "below") == "input_kind"
    assert code(secret.parent) == "input_kind"
    os.mkfifo(secret.with_name("fifo"))
    assert code(secret.with_name("fifo")) == "input_kind"


def test_size_is_bounded(secret: Path) -> None:
    secret.write_bytes(b"x" * (LIMIT + 1))
    assert code(secret) == "input_too_large"


def test_a_folder_swapped_after_it_was_opened_is_not_followed(secret: Path, tmp_path: Path) -> None:
    """The descriptor that was judged is the one that is used, whatever the name means later."""
    with open_folder(secret.parent, what="a folder", trust=TRUST) as descriptor:
        secret.parent.rename(tmp_path / "moved")
        secret.parent.symlink_to("/etc")
        assert os.listdir(descriptor) == ["input"]


def test_no_descriptor_is_left_open(secret: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        read_input(secret, what="an input", size_limit=LIMIT, trust=TRUST)
        code(secret.with_name("absent"))
        code(secret.parent)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("which", ["archive", "signature", "signers"])
def test_row17_every_input_of_the_verification_is_opened_so(workshop: Workshop, which: str) -> None:
    workshop.write()
    signers = workshop.folder / "allowed_signers"
    signers.write_bytes(workshop.keys.allowed_signers.read_bytes())
    path = {"archive": workshop.archive, "signature": workshop.signature("ed25519"), "signers": signers}[
        which
    ]
    path.rename(path.with_name("real"))
    path.symlink_to("real")
    with pytest.raises(Refusal) as caught:
        open_verified(workshop.archive, allowed_signers=signers, trust=TRUST)
    assert caught.value.code == "input_link"


def test_a_file_that_grows_while_it_is_read_stays_within_its_bound(secret: Path) -> None:
    source = open_input(secret, what="an input", size_limit=10, trust=TRUST)
    with secret.open("ab") as file:
        file.write(b"x" * 100)
    try:
        with pytest.raises(Refusal, match="input_too_large"):
            sealed_copy_of(source, "archive", size_limit=10)
    finally:
        os.close(source)


def test_a_sealed_copy_cannot_be_changed(secret: Path) -> None:
    copy = sealed_copy("copy", secret.read_bytes())
    try:
        with pytest.raises(PermissionError):
            os.pwrite(copy, b"evil", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(copy, 0)
        with open(f"/proc/self/fd/{copy}", "r+b") as again, pytest.raises(PermissionError):
            os.pwrite(again.fileno(), b"evil", 0)
        assert os.read(copy, 100) == b"content"
    finally:
        os.close(copy)

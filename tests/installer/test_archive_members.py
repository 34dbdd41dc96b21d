"""What an archive may hold: every attack is validly signed, and refused before anything is written (rows
14, 19).
"""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from installer.bootstrap.archive import VerifiedArchive, open_verified
from installer.domain.members import (
    MODES,
    Member,
    MemberLimits,
    member_fault,
    members_fault,
    name_fault,
    names_fault,
)
from installer.domain.refusal import Refusal
from tests.installer.archives import TRUST, Item, Workshop, pack


def opened(workshop: Workshop) -> VerifiedArchive:
    return open_verified(workshop.archive, allowed_signers=workshop.keys.allowed_signers, trust=TRUST)


def refused(workshop: Workshop) -> Refusal:
    before = sorted(workshop.folder.rglob("*"))
    with pytest.raises(Refusal) as caught:
        opened(workshop)
    assert sorted(workshop.folder.rglob("*")) == before, "something was written"
    assert caught.value.exit_code == 4
    return caught.value


def test_a_right_archive_opens_and_extracts_with_its_modes(workshop: Workshop, tmp_path: Path) -> None:
    workshop.write()
    destination = tmp_path / "out"
    destination.mkdir()
    with opened(workshop) as archive:
        assert archive.manifest == workshop.manifest()
        assert archive.read("LICENSE") == b"licence\n"
        assert {signature.suffix for signature in archive.signatures} == {".ed25519.sig", ".ecdsa-p256.sig"}
        archive.extract(archive.paths(), destination)
        with pytest.raises(Refusal, match="storage_failed"):
            archive.extract(["LICENSE"], destination)
    assert (destination / "install.sh").stat().st_mode & 0o7777 == 0o755
    assert (destination / "wheels").stat().st_mode & 0o7777 == 0o755
    assert (destination / "LICENSE").read_bytes() == b"licence\n"


def test_an_archive_written_by_python_tarfile_is_the_same_format(workshop: Workshop) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for item in workshop.items():
            info = tarfile.TarInfo(item.name)
            info.size, info.mode = len(item.data), item.mode
            archive.addfile(info, io.BytesIO(item.data))
    workshop.write(tar=buffer.getvalue())
    with opened(workshop) as archive:
        assert archive.release_id.startswith("0.1.0-")


T = "pharos-hpc-site-v0.1.0"
ATTACKS = {
    "row19_parent": Item(f"{T}/../evil"),
    "row19_absolute": Item("/etc/evil"),
    "H03_absolute_name_of_a_real_file": Item("/install.sh", b"evil"),
    "row19_outward_symlink": Item(f"{T}/l", kind=tarfile.SYMTYPE, link="/etc"),
    "row19_inward_symlink": Item(f"{T}/l", kind=tarfile.SYMTYPE, link="LICENSE"),
    "row19_hard_link": Item(f"{T}/l", kind=tarfile.LNKTYPE, link=f"{T}/LICENSE"),
    "B15_hard_link_outward": Item(f"{T}/l", kind=tarfile.LNKTYPE, link="../victim"),
    "row19_device": Item(f"{T}/d", kind=tarfile.CHRTYPE),
    "row19_block_device": Item(f"{T}/d", kind=tarfile.BLKTYPE),
    "row19_fifo": Item(f"{T}/f", kind=tarfile.FIFOTYPE),
    "row19_folder": Item(f"{T}/folder", mode=0o755, kind=tarfile.DIRTYPE),
    "row19_setuid": Item(f"{T}/s", mode=0o4755),
    "row19_world_writable": Item(f"{T}/w", mode=0o666),
    "row19_sticky": Item(f"{T}/w", mode=0o1644),
    "row19_owner": Item(f"{T}/o", uid=1000),
    "row19_owner_name": Item(f"{T}/o", owner="daemon"),
    "row19_newline": Item(f"{T}/a\nb"),
    "row19_control": Item(f"{T}/a\x1bb"),
    "row19_space": Item(f"{T}/a b"),
    "row19_backslash": Item(f"{T}/a\\b"),
    "row19_sparse": Item(f"{T}/sparse", kind=tarfile.GNUTYPE_SPARSE),
    "row19_long_name": Item("././@LongLink", b"x\0", kind=tarfile.GNUTYPE_LONGNAME),
    "row19_pax": Item(f"{T}/pax", b"19 path=/etc/evil\n", kind=tarfile.XHDTYPE),
    "row19_global_pax": Item("pax_global_header", b"19 path=/etc/evil\n", kind=tarfile.XGLTYPE),
    "row19_huge": Item(f"{T}/huge", size=8 * 1024**3 - 1),
    "H04_duplicate": Item(f"{T}/install.sh", b"evil", 0o755),
    "H04_dot_alias": Item(f"./{T}/install.sh", b"evil", 0o755),
    "H04_inner_dot_alias": Item(f"{T}/./install.sh", b"evil", 0o755),
    "H04_trailing_slash": Item(f"{T}/install.sh/", b"evil", 0o755),
    "H04_double_slash": Item(f"{T}//install.sh", b"evil", 0o755),
    "H04_file_as_folder": Item(f"{T}/install.sh/evil", b"evil"),
    "H05_case_twin": Item(f"{T}/Manifest.json", b"{}"),
    "H05_case_folder_twin": Item(f"{T}/Units/x", b"{}"),
    "H05_nfc": Item(f"{T}/caf\u00e9", b""),
    "H05_nfd": Item(f"{T}/cafe\u0301", b""),
}


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_member_is_refused_before_anything_is_written(workshop: Workshop, attack: str) -> None:
    workshop.write([*workshop.items(), ATTACKS[attack]])
    assert refused(workshop).code == "archive_member"


def test_H01_symlink_then_a_file_through_it(workshop: Workshop) -> None:
    link = Item(f"{T}/l", kind=tarfile.SYMTYPE, link="/etc")
    workshop.write([link, Item(f"{T}/l/evil", b"evil"), *workshop.items()])
    assert "symbolic link" in refused(workshop).found


def test_B15_symlink_and_hard_link_pair(workshop: Workshop) -> None:
    pair = [
        Item(f"{T}/a", kind=tarfile.LNKTYPE, link="../victim"),
        Item(f"{T}/a", b"evil"),
    ]
    workshop.write([*pair, *workshop.items()])
    assert "hard link" in refused(workshop).found


def test_row19_name_of_300_bytes() -> None:
    assert name_fault("a/" * 149 + "bb") == "a name longer than 200 bytes: " + repr("a/" * 20) + "…"


def test_row19_a_million_members_are_not_counted_out() -> None:
    asked = 0

    def endless() -> "object":
        nonlocal asked
        while True:
            asked += 1
            yield Member(f"f{asked}", "file", 0o644, 0)

    limits = MemberLimits(members=100)
    assert members_fault(endless(), limits) == "more than 100 members"  # type: ignore[arg-type]
    assert asked == 101


def test_row19_total_size_is_bounded() -> None:
    limits = MemberLimits(file_size=10, total_size=15)
    assert members_fault([Member("a", "file", 0o644, 10), Member("b", "file", 0o644, 10)], limits) is not None
    assert member_fault(Member("a", "file", 0o644, 11), limits) == "'a' declares 11 bytes"


def test_H08_file_that_is_not_in_the_manifest(workshop: Workshop) -> None:
    workshop.write([*workshop.items(), Item(f"{T}/site/extra.py", b"evil")])
    assert "not in the manifest: site/extra.py" in refused(workshop).found


def test_H08_file_of_the_manifest_that_is_missing(workshop: Workshop) -> None:
    workshop.write([item for item in workshop.items() if not item.name.endswith("/LICENSE")])
    assert "missing: LICENSE" in refused(workshop).found


def test_row13_edited_file_names_the_path(workshop: Workshop) -> None:
    items = [Item(i.name, b"evil", i.mode) if i.name.endswith("LICENSE") else i for i in workshop.items()]
    workshop.write(items)
    assert "changed: LICENSE" in refused(workshop).found


def test_mode_that_is_not_the_manifests(workshop: Workshop) -> None:
    items = [Item(i.name, i.data, 0o755) if i.name.endswith("LICENSE") else i for i in workshop.items()]
    workshop.write(items)
    assert "mode 0755 instead of 0644: LICENSE" in refused(workshop).found


def test_archive_of_another_top_folder(workshop: Workshop) -> None:
    workshop.write([Item(i.name.replace("0.1.0", "0.2.0"), i.data, i.mode) for i in workshop.items()])
    assert refused(workshop).code == "archive_contents"


def test_two_top_folders(workshop: Workshop) -> None:
    workshop.write([*workshop.items(), Item("other/x")])
    assert "2 entries at the top" in refused(workshop).found


@pytest.mark.parametrize(
    "spoil",
    {
        "trailing_junk": lambda raw: raw + b"junk",
        "two_gzip_members": lambda raw: raw + gzip.compress(b"more", mtime=0),
        "truncated": lambda raw: raw[:-20],
        "without_crc": lambda raw: raw[:-8],
        "wrong_crc": lambda raw: raw[:-8] + bytes([raw[-8] ^ 1]) + raw[-7:],
        "empty": lambda _raw: b"",
        "not_gzip": lambda _raw: b"PK\x03\x04 not gzip",
        "zero_padding": lambda raw: raw + b"\0" * 512,
    }.items(),
    ids=lambda pair: pair[0],
)
def test_row14_is_exactly_one_gzip_member(workshop: Workshop, spoil: tuple[str, object]) -> None:
    raw = gzip.compress(pack(workshop.items()), mtime=0)
    workshop.write(raw=spoil[1](raw))  # type: ignore[operator]
    assert refused(workshop).code == "archive_compression"


@pytest.mark.parametrize(
    "tar",
    {
        "no_end_mark": lambda tar: tar.rstrip(b"\0") + b"\0" * (-len(tar.rstrip(b"\0")) % 512),
        "data_after_the_end": lambda tar: tar[:-512] + b"evil".ljust(512, b"\0"),
        "more_members_after_the_end": lambda tar: tar + tar,
        "cut_in_a_file": lambda tar: tar[:700],
        "wrong_checksum": lambda tar: tar[:148] + b"0000000\0" + tar[156:],
        "gnu_magic": lambda tar: tar[:257] + b"ustar  \0" + tar[265:],
        "base256_size": lambda tar: tar[:124] + b"\x80" + tar[125:],
        "not_tar": lambda _tar: b"x" * 10240,
        "nothing": lambda _tar: b"",
    }.items(),
    ids=lambda pair: pair[0],
)
def test_row19_is_a_complete_ustar_file(workshop: Workshop, tar: tuple[str, object]) -> None:
    workshop.write(tar=tar[1](pack(workshop.items())))  # type: ignore[operator]
    assert refused(workshop).code == "archive_member"


def test_hidden_bytes_behind_a_name_are_refused(workshop: Workshop) -> None:
    tar = bytearray(pack(workshop.items()))
    tar[98] = ord("x")
    header = bytes(tar[:148]) + b" " * 8 + bytes(tar[156:512])
    tar[148:156] = b"%06o\0 " % sum(header)
    workshop.write(tar=bytes(tar))
    assert "hides bytes" in refused(workshop).found


GOOD = st.text("abcXYZ019._-+@", min_size=1, max_size=12).filter(lambda part: part not in {".", ".."})


@given(st.lists(GOOD, min_size=1, max_size=8).map("/".join))
def test_plain_relative_names_are_accepted(name: str) -> None:
    assert name_fault(name) is None
    assert member_fault(Member(name, "file", 0o644, 1)) is None


@given(st.text(max_size=220))
def test_an_accepted_name_stays_inside_and_is_one_spelling(name: str) -> None:
    """Whatever the rules accept is relative, without ``.``, ``..``, NUL, links' or shells' characters, and
    its own normal form.
    """
    if name_fault(name) is None:
        assert name.isascii() and name.isprintable() and not name.startswith("/") and len(name) <= 200
        assert Path(name).as_posix() == name
        assert ".." not in Path(name).parts
        assert not set(name) & set(" \\'\"$`;|&<>*?~!#%^(){}[]:,=")


@given(st.text(), st.sampled_from(["file", "symbolic link"]), st.integers(0, 0o7777), st.integers(-5, 10**12))
def test_an_accepted_member_is_a_plain_file_of_root(name: str, kind: str, mode: int, size: int) -> None:
    if member_fault(Member(name, kind, mode, size)) is None:
        assert kind == "file" and mode in MODES and 0 <= size <= MemberLimits().file_size


@given(st.lists(st.lists(GOOD, min_size=1, max_size=3).map("/".join), max_size=6))
def test_accepted_names_do_not_collide_on_any_file_system(names: list[str]) -> None:
    if names_fault(names) is None:
        folded = [name.casefold() for name in names]
        assert len(set(folded)) == len(folded)
        assert not any(other.startswith(f"{name}/") for name in folded for other in folded)


def test_a_file_that_packs_very_well_is_unpacked_whole(workshop: Workshop) -> None:
    """The last piece of output may be waiting when the last piece of input is taken."""
    for size in (1 << 20, (3 << 20) + 511):
        workshop.entries["zeros"] = b"\0" * size
        workshop.write()
        with opened(workshop) as archive:
            assert archive.read("zeros") == b"\0" * size

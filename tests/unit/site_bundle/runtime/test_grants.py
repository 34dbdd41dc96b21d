"""The Runtime's folder on scratch (S4): what is made, what is read back and whose, what is removed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from uuid import UUID

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.domain.verdict import Output
from tests.unit.site_bundle.runtime.scenes import COMMAND, REF, URL

COMMIT = "ab" * 20


@pytest.fixture
def grants(tmp_path: Path) -> ScratchGrants:
    (tmp_path / "ca.crt").write_bytes(b"certificate")
    root = tmp_path / "root"
    root.mkdir()
    root.chmod(0o2710)
    return ScratchGrants(root, "origin=@ORIGIN@\n", tmp_path / "ca.crt", lambda: "salt")


def prepared(grants: ScratchGrants) -> Path:
    """The drop folder."""
    grant = grants.grant(COMMAND.attempt_id, URL)
    grants.prepare(grant, URL)
    return grants.place(grant) / grant.drop


def result(grants: ScratchGrants, uid: int | None = None) -> Output | None:
    return grants.output(COMMAND.attempt_id, COMMAND.command_id, os.getuid() if uid is None else uid)


def test_s4_modes_and_contents_twice_the_same(grants: ScratchGrants) -> None:
    for _ in range(2):
        drop = prepared(grants)
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (drop.parent, *drop.parent.iterdir())}
        assert modes == {drop.parent.name: 0o2710, "askpass": 0o750, "ca.crt": 0o640, drop.name: 0o3730}
        assert (drop.parent / "askpass").read_text() == "origin='https://git.example.org:8443'\n"


def test_s4_result_of_the_members_own_file(grants: ScratchGrants) -> None:
    drop = prepared(grants)
    assert result(grants) is None, "proven not there"
    (drop / str(COMMAND.command_id)).write_text(f"{REF} {COMMIT}\n")
    assert result(grants) == Output(REF, COMMIT)
    assert result(grants, uid=os.getuid() + 1) is None, "another member's file is no result"
    assert grants.output(UUID(int=9), COMMAND.command_id, os.getuid()) is None


@pytest.mark.parametrize(
    "text", ["", f"{REF} {COMMIT}", f"{REF} {COMMIT}\nmore\n", f"refs/heads/main {COMMIT}\n", "x" * 999]
)
def test_s4_other_text_is_no_result(grants: ScratchGrants, text: str) -> None:
    (prepared(grants) / str(COMMAND.command_id)).write_text(text)
    assert result(grants) is None


def test_s4_link_fifo_and_hard_link_are_no_result(grants: ScratchGrants, tmp_path: Path) -> None:
    path = prepared(grants) / str(COMMAND.command_id)
    target = tmp_path / "private"
    target.write_text(f"{REF} {COMMIT}\n")
    path.hardlink_to(target)
    assert result(grants) is None
    path.unlink()
    os.mkfifo(path)
    assert result(grants) is None
    path.unlink()
    path.symlink_to(target)
    assert result(grants) is None, "a stage whose result is a link would never end"


def test_s4_release_removes_ours_and_follows_no_link(grants: ScratchGrants, tmp_path: Path) -> None:
    drop = prepared(grants)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (drop / "link").symlink_to(outside)
    (drop / "left").write_text("x")
    for _ in range(2):
        grants.release(COMMAND.attempt_id)
        assert list(grants.root.iterdir()) == []
    assert (outside / "kept").exists()


def test_x1_folder_that_is_away_is_unavailable(grants: ScratchGrants) -> None:
    grants.root.rename(grants.root.with_name("gone"))
    for ask in (
        lambda: prepared(grants),
        lambda: result(grants),
        lambda: grants.release(COMMAND.attempt_id),
        grants.probe,
    ):
        with pytest.raises(UnavailableError) as refused:
            ask()
        assert refused.value.code == "scratch_unavailable"


def test_s4_probe_leaves_nothing(grants: ScratchGrants) -> None:
    grants.probe()
    assert list(grants.root.iterdir()) == []

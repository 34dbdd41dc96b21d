"""What an adversary among the members may leave in an Attempt's drop folder (S4, X1): none of it keeps a
stage from ending or a grant from being released, and none of it reaches another file of the Runtime's.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from site_bundle.kernel.errors import UnavailableError
from site_bundle.runtime.adapters import scratch_grants
from site_bundle.runtime.adapters.scratch_grants import ScratchGrants
from site_bundle.runtime.domain.verdict import Output
from tests.unit.site_bundle.runtime.scenes import COMMAND, REF, URL

LINE = f"{REF} {'ab' * 20}\n"


@pytest.fixture
def grants(tmp_path: Path) -> ScratchGrants:
    root = tmp_path / "root"
    root.mkdir()
    root.chmod(0o2710)
    return ScratchGrants(root, "origin=@ORIGIN@\n", None, lambda: "salt")


@pytest.fixture
def drop(grants: ScratchGrants) -> Path:
    grant = grants.grant(COMMAND.attempt_id, URL)
    grants.prepare(grant, URL)
    return grants.place(grant) / grant.drop


def result(grants: ScratchGrants) -> Output | None:
    return grants.output(COMMAND.attempt_id, COMMAND.command_id, os.getuid())


HOSTILE: dict[str, Callable[[Path], object]] = {
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "fifo": lambda path: os.mkfifo(path),
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "folder": lambda path: path.mkdir(),
    "sparse": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_s4_x1_what_is_no_file_is_no_result_and_waits_for_nobody(
    grants: ScratchGrants, drop: Path, name: str
) -> None:
    """Proven absent: an unavailable one would be looked for again for ever, a command of Slurm's each."""
    HOSTILE[name](drop / str(COMMAND.command_id))
    assert result(grants) is None
    grants.release(COMMAND.attempt_id)
    assert list(grants.root.iterdir()) == []


def test_s4_x1_file_its_member_made_unreadable_is_no_result(
    grants: ScratchGrants, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root reads a file of mode 0000; the Runtime does not, so its answer is played."""
    (drop / str(COMMAND.command_id)).write_text(LINE)
    assert result(grants) is not None
    real = os.open
    answers = {"code": errno.EACCES}

    def refuses(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path).endswith(str(COMMAND.command_id)):
            raise OSError(answers["code"], os.strerror(answers["code"]))
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refuses)
    assert result(grants) is None
    answers["code"] = errno.EIO
    with pytest.raises(UnavailableError):
        result(grants)


def test_s4_exchanged_between_the_look_and_the_opening(
    grants: ScratchGrants, drop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of another's, linked there after it was judged, is not read."""
    path = drop / str(COMMAND.command_id)
    path.write_text(LINE)
    private = tmp_path / "private"
    private.write_text(LINE)
    real = os.open

    def exchanges(name: Any, flags: int, *more: Any, **named: Any) -> int:
        if Path(str(name)) == path:
            path.unlink()
            path.hardlink_to(private)
        return real(name, flags, *more, **named)

    monkeypatch.setattr(os, "open", exchanges)
    assert result(grants) is None


def test_s4_release_ends_though_a_member_left_a_full_folder(grants: ScratchGrants, drop: Path) -> None:
    """Helper, CA and every file go; what would have to be entered stays, and the cleanup is done."""
    kept = drop / "kept" / "deep"
    kept.mkdir(parents=True)
    (drop / "file").write_text("x")
    (drop / "empty").mkdir()
    for _ in range(2):
        grants.release(COMMAND.attempt_id)
        assert [path.name for path in drop.parent.iterdir()] == [drop.name]
        assert [path.name for path in drop.iterdir()] == ["kept"] and kept.is_dir()


def test_s4_release_does_not_descend_into_a_members_depths(grants: ScratchGrants, drop: Path) -> None:
    """Deeper than Python's stack: a recursion would end the Runtime, and every member's Runs with it."""
    folder = os.open(drop, os.O_RDONLY)
    try:
        for _ in range(1500):
            os.mkdir("d", dir_fd=folder)
            inner = os.open("d", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        grants.release(COMMAND.attempt_id)
    finally:
        os.close(folder)
        subprocess.run(["rm", "-rf", str(drop)], check=True)  # pytest's own cleaning does recurse


@pytest.mark.parametrize("moment", ["unlink", "rmdir", "scandir"])
def test_s4_folder_exchanged_for_a_link_during_release_reaches_nothing(
    grants: ScratchGrants, drop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The member exchanges their folder for a link to the Runtime's journal just before it is acted upon."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "journal.sqlite").write_text("every command")
    trap = drop / "trap"
    trap.mkdir()
    acts = {name: getattr(os, name) for name in ("unlink", "rmdir", "scandir")}

    def exchanges(name: str | Path | int, *more: Any, **named: Any) -> Any:
        if Path(str(name)).name == trap.name and not trap.is_symlink():
            acts["rmdir"](trap)
            trap.symlink_to(state)
        return acts[moment](name, *more, **named)

    monkeypatch.setattr(os, moment, exchanges)
    grants.release(COMMAND.attempt_id)
    assert (state / "journal.sqlite").exists()


def test_s4_s10_a_drop_folder_of_many_is_emptied_some_at_a_time_and_the_rest_is_told(
    grants: ScratchGrants, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_grants, "MAX_DROPPED", 10)
    for number in range(25):
        (drop / str(number)).touch()
    for left in (15, 5):
        with pytest.raises(UnavailableError) as told:
            grants.release(COMMAND.attempt_id)
        assert told.value.code == "drop_folder_full" and "10 entries" in told.value.found
        assert len(list(drop.iterdir())) == left
    grants.release(COMMAND.attempt_id)
    assert not drop.parent.exists()


def test_s4_many_that_cannot_be_taken_away_keep_no_grant_from_its_end(
    grants: ScratchGrants, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full folders stay, however many: they are counted too, and asked for once."""
    monkeypatch.setattr(scratch_grants, "MAX_DROPPED", 10)
    for number in range(25):
        (drop / str(number)).mkdir()
        (drop / str(number) / "full").touch()
    grants.release(COMMAND.attempt_id)
    assert len(list(drop.iterdir())) == 25 and not (drop.parent / "askpass").exists()

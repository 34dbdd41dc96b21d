"""Logs and the history of journals are bounded by named limits (B37, row 9)."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from installer.domain.limits import Limits
from installer.host.pruning import prune
from tests.installer.rig import Rig


def records(folder: Path, count: int, size: int = 10) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        path = folder / f"r{number}.jsonl"
        path.write_bytes(b"x" * size)
        os.utime(path, ns=(number, number))


@pytest.mark.parametrize(
    ("files", "size", "left"),
    [
        (9, 1000, ["r0", "r1", "r2", "r3", "r4"]),
        (3, 1000, ["r2", "r3", "r4"]),
        (9, 25, ["r3", "r4"]),
        (0, 0, ["r4"]),
    ],
    ids=["enough_room", "by_number", "by_size", "the_newest_always_stays"],
)
def test_the_oldest_go_first(tmp_path: Path, files: int, size: int, left: list[str]) -> None:
    records(tmp_path / "log", 5)
    gone = prune(tmp_path / "log", files=files, size=size)
    assert sorted(path.stem for path in (tmp_path / "log").iterdir()) == left
    assert len(gone) == 5 - len(left)


def test_what_is_no_record_is_left_alone_and_not_counted(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    records(folder, 2)
    (folder / "notes.txt").write_text("the administrator's")
    (folder / "folder.jsonl").mkdir()
    (folder / "link.jsonl").symlink_to(folder / "r0.jsonl")
    assert prune(folder, files=1, size=1000) == ["r0.jsonl"]
    assert {path.name for path in folder.iterdir()} == {"r1.jsonl", "notes.txt", "folder.jsonl", "link.jsonl"}


def test_row_9_a_folder_that_is_not_there_or_cannot_be_read_fails_nothing(tmp_path: Path) -> None:
    assert prune(tmp_path / "absent", files=1, size=1) == []
    (tmp_path / "file").touch()
    assert prune(tmp_path / "file", files=1, size=1) == []


def test_the_logs_and_history_of_many_runs_stay_within_the_limits(rig: Rig) -> None:
    rig.limits = replace(rig.limits, log_files=3, history_files=2)
    first, second = rig.release("0.1.0"), rig.release("0.2.0")
    for release in (first, second, first, second, first):
        assert rig.activate(release).code == 0
        rig.clock.sleep(1)
    logs = sorted(rig.paths.log.iterdir())
    assert len(logs) == 3 and first in logs[-1].read_text()
    assert len(list(rig.paths.history.iterdir())) == 2
    assert rig.run("recover", "--plan").code == 0 and len(list(rig.paths.log.iterdir())) == 3


def test_the_limits_leave_years_of_use() -> None:
    limits = Limits()
    assert limits.log_files >= 100 and limits.history_files >= 100
    assert limits.log_bytes > limits.journal_size and limits.history_bytes > limits.journal_size

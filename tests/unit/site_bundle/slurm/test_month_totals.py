"""Totals of a month: half-open, UTC, of AllocTRES (S8; W01, W05, W14, W40, A10, A17, A18, A21, A27, D16)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from site_bundle.reporter.domain.usage import month_of
from site_bundle.slurm import month_totals
from site_bundle.slurm.errors import UnreadableOutputError
from site_bundle.slurm.month_totals import ShowMonth, Totals
from tests.unit.site_bundle.slurm.recordings import recorded

BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
END = datetime(2026, 11, 1, tzinfo=UTC)
OCTOBER = ShowMonth("icarus", BEGIN, END)
LOW, HIGH = int(BEGIN.timestamp()), int(END.timestamp())
DAY = 86400


def total(*lines: str) -> Totals:
    return OCTOBER.total(lines)


def nodes(*lines: str) -> int:
    held = total(*lines).get("acct", {})
    assert held is not None
    return held.get("node", 0)


def test_s8_totals_of_the_lab() -> None:
    """The job that is over held a node for its second; the running ones hold theirs to the window's end."""
    lines = recorded("sacct").splitlines()
    begun = int(lines[0].split("|")[2])
    window = ShowMonth("icarus", BEGIN, datetime.fromtimestamp(begun + 100, UTC))
    found = window.total(lines)
    assert found["proj_a"] == {
        "cpu": 200, "gres/gpu:gh200": 100, "gres/gpu": 100, "mem": (500 << 20) * 100, "node": 100,
    }  # fmt: skip
    assert found["proj_b"] is not None and found["proj_b"]["node"] == 1 + 100 + 100


def test_w01_d16_long_and_short_runs_are_exact() -> None:
    window = ShowMonth("icarus", datetime(2026, 1, 1, tzinfo=UTC), END)
    begin = int(window.begin.timestamp())
    assert window.total([f"acct|node=1|{begin}|{begin + 45 * DAY}"]) == {"acct": {"node": 64_800 * 60}}
    assert nodes(f"acct|node=2|{LOW}|{LOW + 1200}") == 2400


def test_w05_w22_allocated_not_requested() -> None:
    found = total(f"acct|cpu=144,node=2,mem=1M|{LOW}|{LOW + 3600}")
    assert found["acct"] == {"cpu": 144 * 3600, "node": 7200, "mem": (1 << 20) * 3600}


@pytest.mark.parametrize(
    ("begin", "end", "held"),
    [
        (LOW - 100, LOW, 0),
        (LOW - 100, LOW + 1, 1),
        (HIGH - 1, HIGH, 1),
        (HIGH, HIGH + 5, 0),
        (LOW - DAY, HIGH + DAY, HIGH - LOW),
    ],
)
def test_w40_months_are_half_open(begin: int, end: int, held: int) -> None:
    assert nodes(f"acct|node=1|{begin}|{end}") == held


def test_a17_a18_never_begun_and_not_over() -> None:
    assert nodes(f"acct||None|{LOW + 5}") == nodes("acct||Unknown|Unknown") == 0
    assert nodes(f"acct|node=1|{HIGH - 60}|Unknown") == 60


def test_a10_w05_w36_sacct_is_asked_for_each_run_and_what_was_allocated() -> None:
    """Without --duplicates a requeued job's first run is not shown, without --allusers only our own are."""
    argv = OCTOBER.argv()
    flags = {"--allocations", "--duplicates", "--allusers", "--noconvert", "--noheader", "--parsable2"}
    assert argv[0] == "sacct" and flags <= set(argv)
    assert "--clusters=icarus" in argv and "--format=Account,AllocTRES,Start,End" in argv
    assert not [word for word in argv if word.startswith(("--state", "--truncate"))]


def test_a10_each_run_of_a_requeued_job_once() -> None:
    assert nodes(f"acct|node=1|{LOW}|{LOW + 300}", f"acct|node=1|{LOW + 600}|{LOW + 1860}") == 300 + 1260


@pytest.mark.parametrize(
    "line",
    [
        f"acct|{LOW}|{LOW + 9}",
        "acct|node=1|x|2",
        f"a|b|c|{LOW}|{LOW + 9}",
        "sacct",
    ],
)
def test_x1_one_unreadable_row_makes_the_total_unreadable(line: str) -> None:
    with pytest.raises(UnreadableOutputError):
        total(f"acct|node=1|{LOW}|{LOW + 9}", line)


GOOD = f"acct|node=1|{LOW}|{LOW + 9}"


@pytest.mark.parametrize(
    "line",
    [
        f"bad|node=|{LOW}|{LOW + 9}",
        f"bad|node=1,mem=16?|{LOW}|{LOW + 9}",
        f"bad|node=1,mem=16+|{LOW}|{LOW + 9}",
        f"bad|node=1|{LOW + 16}|{LOW}",
    ],
)
def test_a06_a21_a27_a_run_that_cannot_be_read_is_its_accounts_alone(line: str) -> None:
    """Also when the account's other runs can be read: a sum without one is wrong."""
    sound = f"bad|node=1|{LOW}|{LOW + 9}"
    for lines in ((line, sound, GOOD), (GOOD, sound, line)):
        assert total(*lines) == {"acct": {"node": 9}, "bad": None}


def test_s10_keys_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(month_totals, "MAX_KEYS", 3)
    assert nodes(*(f"acct|node=1,cpu={number}|{LOW}|{LOW + 10}" for number in range(20))) == 200


def test_w07_firecrest_f08_window_is_written_in_utc() -> None:
    argv = OCTOBER.argv()
    assert "--starttime=2026-10-01T00:00:00" in argv and "--endtime=2026-11-01T00:00:00" in argv
    month = month_of(datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC))
    assert (month.begin.isoformat(), month.end.isoformat()) == (
        "2026-12-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["nan", "inf", "9" * 400])
def test_a21_a_time_that_is_no_number_of_seconds_makes_the_answer_unreadable(text: str) -> None:
    with pytest.raises(UnreadableOutputError):
        total(f"acct|node=1|{LOW}|{text}")


def test_a21_part_of_a_second_is_never_counted() -> None:
    lines = [f"acct|node=1|{LOW}|{LOW + 60}.5", f"other|node=1|{LOW}|{LOW + 60}"]
    assert total(*lines) == {"acct": None, "other": {"node": 60}}

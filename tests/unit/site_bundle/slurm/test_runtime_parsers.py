"""Queue and accounting as the Runtime reads them: recorded rows, and every odd row others have met (S1)."""

from __future__ import annotations

import pytest

from site_bundle.slurm.accounted_jobs import RunRow, ShowRuns
from site_bundle.slurm.association_ids import ShowAssociationIds
from site_bundle.slurm.errors import UnreadableOutputError
from site_bundle.slurm.fenced import checked_fence, fenced_rows
from site_bundle.slurm.queued_jobs import ShowQueue
from site_bundle.slurm.submission import (
    CancelJob,
    Exited,
    ShowConfiguration,
    ShowVersion,
    SubmitJob,
    SubmittedJob,
    submitted_job,
)
from tests.lab.record_jobs import ACCOUNTS, FENCE, MARKER, SINCE
from tests.unit.site_bundle.slurm.recordings import recorded

QUEUE = ShowQueue(ACCOUNTS, FENCE)
RUNS = ShowRuns("icarus", ACCOUNTS, SINCE, FENCE)


def queue_row(*fields: str) -> str:
    return "".join(field + FENCE for field in fields) + "\n"


def run_row(**changes: str) -> str:
    fields = {
        "id": "7", "cluster": "icarus", "uid": "5000001", "account": "pharos", "state": "COMPLETED",
        "exit": "0:0", "submit": "100", "start": "110", "end": "120", "elapsed": "10",
        "tres": "cpu=2,mem=1G,node=1", "name": "n",
    } | changes  # fmt: skip
    return queue_row(*fields.values())


def one(**changes: str) -> RunRow:
    (row,) = RUNS.parse(run_row(**changes))
    return row


def test_recorded_queue_has_every_job_once_and_ours_by_name() -> None:
    rows = QUEUE.parse(recorded("runtime-squeue"))
    assert len({row.job_id for row in rows}) == len(rows)
    (ours,) = [row for row in rows if row.name == MARKER]
    assert (ours.uid, ours.state, ours.comment) == (5000001, "COMPLETED", MARKER)


def test_recorded_accounting_has_ours_with_its_usage() -> None:
    (ours,) = [row for row in RUNS.parse(recorded("runtime-sacct")) if row.name == MARKER]
    assert ours.readable and (ours.state, ours.exit_code, ours.signal) == ("COMPLETED", 0, 0)
    assert dict(ours.tres) == {"cpu": 2, "mem": 500 << 20, "node": 1, "gres/gpu": 1, "gres/gpu:gh200": 1}
    assert ours.started and ours.ended and ours.ended - ours.started == ours.elapsed


def test_recorded_version_and_ids() -> None:
    assert ShowVersion().parse(recorded("runtime-version")) == (24, 11)
    assert ShowAssociationIds("icarus", "pharos", "alice").parse(recorded("runtime-association-ids")) == {5}


@pytest.mark.parametrize("name", ["runtime-squeue", "runtime-sacct"])
def test_A02_names_with_line_ends_and_rows_of_others_stay_names(name: str) -> None:
    """Recorded: bob's job is named like a row that says alice's job is done."""
    command = QUEUE if name.endswith("squeue") else RUNS
    rows = command.parse(recorded(name))
    assert "two\nlines" in {row.name for row in rows}
    (forger,) = [row for row in rows if row.name.startswith("forged")]
    assert forger.uid == 5000002 and MARKER in forger.name
    assert "77" not in {row.job_id for row in rows}


def test_A04_bytes_that_are_no_utf8_lose_no_job() -> None:
    rows = QUEUE.parse(recorded("runtime-squeue"))
    assert "caf\N{REPLACEMENT CHARACTER}" in {row.name for row in rows}


def test_A05_cancelled_by_keeps_the_actor() -> None:
    row = one(state="CANCELLED by 5000001")
    assert (row.state, row.cancelled_by, row.readable) == ("CANCELLED", 5000001, True)


def test_A06_cut_state_is_refused() -> None:
    with pytest.raises(UnreadableOutputError):
        QUEUE.parse(queue_row("7", "5000001", "OUT_OF_ME+", "100", "n", ""))
    assert not one(state="OUT_OF_ME+").readable


def test_A08_A09_arrays_and_het_jobs_are_rows_with_numbers() -> None:
    rows = QUEUE.parse(recorded("runtime-squeue"))
    assert len([row for row in rows if row.name == "het"]) == 2
    assert {row.state for row in rows if row.name == "array"} == {"PENDING", "RUNNING"}


def test_A16_A43_A47_own_times_own_numbers() -> None:
    argv = QUEUE.argv()
    assert "--account=pharos" in argv and "--states=all" in argv
    assert {"--allusers", "--accounts=pharos"} <= set(
        RUNS.argv()
    ) and "--starttime=2020-01-01T00:00:00" in RUNS.argv()


def test_A17_cancelled_before_it_began() -> None:
    row = one(state="CANCELLED by 5000002", start="None", tres="", elapsed="0")
    assert (row.started, row.ended, row.elapsed, row.tres, row.readable) == (None, 120, 0, (), True)


def test_A18_running_has_no_end() -> None:
    assert one(state="RUNNING", end="Unknown").ended is None


@pytest.mark.parametrize("elapsed", ["-0:00:16", "-16", "1.5", ""])
def test_A21_negative_time_makes_this_run_unreadable_alone(elapsed: str) -> None:
    rows = RUNS.parse(run_row(id="7", elapsed=elapsed) + run_row(id="8"))
    assert [(row.job_id, row.readable) for row in rows] == [("7", False), ("8", True)]


def test_A24_cut_tres_makes_this_run_unreadable_alone() -> None:
    rows = RUNS.parse(run_row(tres="cpu=2,mem=512M,node=") + run_row(id="8"))
    assert [row.readable for row in rows] == [False, True]


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_x1_cut_answer_is_no_answer(cut: int) -> None:
    with pytest.raises(UnreadableOutputError):
        RUNS.parse(run_row()[:-cut] if cut > 1 else run_row() + "7")


def test_x1_empty_answer_has_no_rows() -> None:
    assert RUNS.parse("") == () and QUEUE.parse("") == ()


def test_fence_is_of_one_form() -> None:
    assert checked_fence(FENCE) == FENCE
    for bad in ("", "|", "@abc@", "@ABCDEFGHIJKLMNOPQ@", "@abcdefghijklmnop1@"):
        with pytest.raises(ValueError, match="fence"):
            checked_fence(bad)
    with pytest.raises(UnreadableOutputError):
        fenced_rows(f"a{FENCE}b{FENCE}c{FENCE}d{FENCE}", FENCE, 2)


JOB = SubmitJob(
    name=MARKER, account="proj_a", partition="compute", cpus=2, memory_mib=512, gpus=(("gh200", 1),),
    seconds=90061, script="#!/bin/sh\n", environment={"A": "x\ny", "B": ""},
)  # fmt: skip


def test_A20_A41_submission_says_all_and_no_value() -> None:
    argv = JOB.argv(9)
    assert "--time=1-01:01:01" in argv and "--gres=gpu:gh200:1" in argv and "--export-file=9" in argv
    assert not any("x\ny" in word for word in argv)
    assert JOB.exported() == b"A=x\ny\0B=\0"


def test_environment_that_cannot_be_is_refused() -> None:
    for bad in ({"A": "x\0B=1"}, {"A=B": "x"}):
        with pytest.raises(ValueError, match="environment"):
            SubmitJob(MARKER, "a", "p", 1, 1, (), 1, "", bad).exported()


@pytest.mark.parametrize(
    ("output", "found"),
    [("4118;clu1\n", SubmittedJob("4118", "clu1")), ("4118\n", SubmittedJob("4118", None)), ("\n", None),
     ("Submitted batch job 4118\n", None), ("0\n", None), ("4118;\n", None)],
)  # fmt: skip
def test_A34_answer_of_sbatch(output: str, found: SubmittedJob | None) -> None:
    assert submitted_job(Exited(0, output, "sbatch: no partition specified")) == found
    assert submitted_job(Exited(1, output, "")) is None


def test_A36_one_scancel_a_job() -> None:
    assert CancelJob("4121").argv() == ["scancel", "4121"]


@pytest.mark.parametrize(
    "output", ["pharos|bob|5\n", "pharos|alice\n", "pharos|alice|x\n", "other|alice|5\n"]
)
def test_A48_association_of_others_is_no_answer(output: str) -> None:
    with pytest.raises(UnreadableOutputError):
        ShowAssociationIds("icarus", "pharos", "alice").parse(output)
    assert ShowAssociationIds("icarus", "pharos", "alice").parse("") == frozenset()


def test_configuration_is_read_by_name() -> None:
    text = "Configuration data as of now\nAuthAltTypes     = auth/jwt\nAccountingStoreFlags    = job_env\n"
    assert ShowConfiguration().parse(text) == {"AuthAltTypes": "auth/jwt", "AccountingStoreFlags": "job_env"}
    assert ShowVersion().parse("slurm 25.05.1\n") == (25, 5)
    assert ShowVersion().parse("something else\n") is None

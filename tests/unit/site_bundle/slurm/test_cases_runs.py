"""Faults others met around jobs, as inputs to the room's commands: which of them cannot even be asked for
(A06–A50, W13–W51; FirecREST's F02–F16; ColdFront's C12).
"""

from __future__ import annotations

import inspect
import os
import re
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import site_bundle.slurm
from site_bundle.slurm.accounted_jobs import ShowRuns
from site_bundle.slurm.queued_jobs import ShowQueue
from site_bundle.slurm.submission import CancelJob, Exited, SubmitJob, submitted_job

FENCE = "@abcdefghijklmnop@"
GIVEN: dict[str, Any] = {
    "fence": FENCE, "cluster": "icarus", "account": "p1", "user": "alice",
    "since": datetime(2026, 11, 2, tzinfo=UTC), "job_id": "7", "jobs": ["7"], "name": "n", "partition": "p",
    "cpus": 1, "memory_mib": 1, "gpus": (("a", 1),), "seconds": 60, "script": "", "environment": {},
    "comments": (), "month": None, "begin": datetime(2026, 11, 1, tzinfo=UTC),
    "end": datetime(2026, 12, 1, tzinfo=UTC), "accounts": ["p1"], "parent": "p",
}  # fmt: skip


def every_argv() -> dict[str, list[str]]:
    """The argument list of every command the room can run."""
    found = {}
    for module in iter_modules(site_bundle.slurm.__path__):
        room = import_module(f"site_bundle.slurm.{module.name}")
        for name, kind in inspect.getmembers(room, inspect.isclass):
            if kind.__module__ != room.__name__ or not hasattr(kind, "argv") or name == "Command":
                continue
            wanted = inspect.signature(kind).parameters
            made: Any = kind(**{word: GIVEN[word] for word in wanted if word in GIVEN})
            found[name] = (
                made.argv(3) if "descriptor" in inspect.signature(kind.argv).parameters else made.argv()
            )
    return found


ARGV = every_argv()


def test_the_room_is_whole() -> None:
    assert {"ShowRuns", "ShowQueue", "SubmitJob", "CancelJob", "ShowAssociationIds"} <= ARGV.keys()
    assert {argv[0] for argv in ARGV.values()} == {
        "sacct",
        "sacctmgr",
        "sbatch",
        "scancel",
        "scontrol",
        "squeue",
    }


@pytest.mark.parametrize("name", sorted(ARGV))
def test_a06_a19_a26_a28_a39_a47_firecrest_f04_no_field_of_many_forms_is_asked_for(name: str) -> None:
    """No limit that may be UNLIMITED, no requested memory with letters, no energy, no JSON whose shape is a
    version's, no relative window, no column of a fixed width.
    """
    words = " ".join(ARGV[name]).lower()
    for odd in ("timelimit", "reqmem", "reqtres", "energy", "--json", "--yaml", "now-", "maxrss", "consumed"):
        assert odd not in words, odd
    formats = [word for word in ARGV[name] if word.lower().startswith(("--format", "format"))]
    assert not [word for word in formats if re.search(r"%-?\d|:\d|%\.", word)]


@pytest.mark.parametrize("name", sorted(ARGV))
def test_a43_nobody_is_asked_for_by_user(name: str) -> None:
    """Slurm's commands refuse, or pass over, a user who left the directory; their jobs are still there."""
    words = [word for word in ARGV[name] if word.startswith(("--user=", "--uid=", "-u"))]
    assert words == []


@pytest.mark.parametrize("name", sorted(ARGV))
def test_w34_w35_each_word_is_an_argument_of_its_own(name: str) -> None:
    """No `-A=acct`, no two settings in one word, `--immediate` for sacctmgr alone."""
    argv = ARGV[name]
    assert not [word for word in argv if re.match(r"-[A-Za-z]=", word)]
    assert "--immediate" not in argv or argv[0] == "sacctmgr"
    assert not [word for word in argv[1:] if " " in word and "=" in word]


def test_w22_a_jobs_activity_is_its_state_and_not_its_presence() -> None:
    """squeue is asked for jobs of every state, ended ones too: what is active is told by the state alone."""
    argv = ShowQueue(["p1"], FENCE).argv()
    assert "--states=all" in argv
    assert not [word for word in ShowRuns("icarus", ["p1"], None, FENCE, ["7"]).argv() if "state=" in word]


def test_w36_a34_every_question_to_accounting_names_the_cluster() -> None:
    for name in ("ShowRuns", "ShowAssociationIds", "ShowAccountParent", "ShowAssociations"):
        assert any(word in ARGV[name] for word in ("--clusters=icarus", "cluster=icarus")), name


def test_firecrest_f03_f08_the_window_is_utc_whatever_the_hosts_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", "Pacific/Auckland")
    argv = ShowRuns("icarus", ["p1"], datetime(2026, 3, 29, 0, 30, tzinfo=UTC), FENCE).argv()
    assert "--starttime=2026-03-29T00:30:00" in argv


@pytest.mark.parametrize("partition", ["staging", "compute"])
def test_firecrest_f06_every_stage_is_submitted_with_its_account(partition: str) -> None:
    argv = SubmitJob("n", "p1", partition, 1, 1, (), 60, "", {}).argv(3)
    assert "--account=p1" in argv and f"--partition={partition}" in argv


def test_firecrest_f12_a_value_that_is_empty_is_a_value() -> None:
    environment = {"FOO": "", "BAR": "a=b"}
    assert SubmitJob("n", "a", "p", 1, 1, (), 60, "", environment).exported() == b"FOO=\0BAR=a=b\0"


@pytest.mark.parametrize(
    "output",
    ["41; 42\n", "Submitted batch job 41\n", "41\n42\n", " 41\n", "٤١\n", "-41\n", "041\n", "41;c;d\n"],
)
def test_firecrest_f16_a_job_id_is_the_whole_answer_or_none(output: str) -> None:
    assert submitted_job(Exited(0, output, "")) is None
    assert submitted_job(Exited(1, "41\n", "")) is None


def test_a36_w35_a_cancel_names_one_job() -> None:
    assert CancelJob("7").argv() == ["scancel", "7"]


def test_firecrest_f02_no_script_is_ever_asked_back() -> None:
    asked = {word for argv in ARGV.values() for word in argv}
    assert not asked & {"--batch-script", "batch_script", "write", "--env-vars"}

"""What the demo promises of Runs and of its page, each judged on what it left standing."""

import re
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import urllib3

from tests.demo.looking import Shown, printed, typed
from tests.html import faults
from tests.journeys.releases import ROOT
from tests.journeys.runs import STAGES, has_ended, jobs, stages
from tests.lab.processes import wait_until

Run = dict[str, Any]


def mean_of_the_measurements() -> bytes:
    """What the demo's program must have computed."""
    lines = (ROOT / "tests/demo/repository/measurements.txt").read_text().split()
    return f"{len(lines)} measurements, mean {statistics.mean(map(float, lines)):.2f}\n".encode()


def each_run_ended_once_and_truly(shown: Shown, runs: Sequence[Run]) -> None:
    """One through its stages, one cancelled by alice, one across the upgrade and back (E4, E7, S1)."""
    through, cancelled, in_flight = runs
    assert [run["state"] for run in runs] == ["completed", "cancelled", "completed"]
    assert shown.refs() == {
        f"refs/heads/pharos/runs/{run['runId']}": mean_of_the_measurements() for run in (through, in_flight)
    }
    for run in (through, in_flight):
        told = stages(run)
        assert {name: stage["verdict"] for name, stage in told.items()} == dict.fromkeys(STAGES, "completed")
        assert jobs(shown.host, run) == {name: [stage["jobId"]] for name, stage in told.items()}
    told = stages(cancelled)
    assert (told["compute"]["verdict"], cancelled["output"]) == ("cancelled", None)
    assert cancelled["cancelledBy"] not in (None, cancelled["createdBy"])
    assert jobs(shown.host, cancelled) == {
        "stage-in": [told["stage-in"]["jobId"]], "compute": [told["compute"]["jobId"]], "stage-out": []
    }  # fmt: skip
    named = shown.host.exec(["sacct", "-anPX", "-S", "2020-01-01", "-o", "JobName%200"]).stdout.split()
    assert sum(name.startswith("pharos:") for name in named) == 8, "no job but those of these three Runs"


def the_third_was_in_flight(shown: Shown, run: Run) -> None:
    """The runtime that stands began, by the rollback, while the third Run computed; an upgrade was before."""
    compute = stages(run)["compute"]
    words = ["systemctl", "show", "-P", "ActiveEnterTimestamp", "--timestamp=utc", "pharos-runtime"]
    entered = datetime.strptime(shown.host.exec(words).stdout.strip(), "%a %Y-%m-%d %H:%M:%S %Z")
    began, ended = (datetime.fromisoformat(compute[when]) for when in ("startedAt", "endedAt"))
    assert began < entered.replace(tzinfo=UTC) < ended
    for release in ("0.2.0", "0.1.0"):
        assert re.search(rf"job {compute['jobId']} is RUNNING; the runtime of {release}-", shown.said)


def a_run_of_the_readers_own(shown: Shown) -> None:
    """By the printed line, on what the demo left standing."""
    asked = typed(printed(shown.said, "a Run of your own"))
    wait_until(lambda: has_ended(shown.run(asked["runId"])), 60.0, every=0.5)
    assert shown.run(asked["runId"])["state"] == "completed"
    assert shown.refs()[f"refs/heads/pharos/runs/{asked['runId']}"] == mean_of_the_measurements()


def an_operator_is_told(shown: Shown, runs: Sequence[Run]) -> None:
    """By the printed line: each Run, whatever became of it."""
    line = printed(shown.said, "its operator's words").partition("#")[0]
    told = typed(f"{line} --json")["runs"]
    assert {run["runId"] for run in runs} <= {each["runId"] for each in told}


def the_page_answers(shown: Shown, runs: Sequence[Run]) -> None:
    """What is known, on one plain and accessible page of loopback."""
    url = printed(shown.said, "what it knows")
    answer = urllib3.request("GET", url, timeout=20, retries=False)
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/", url)
    text = answer.data.decode()
    assert (answer.status, faults(text)) == (200, [])
    for word in ("proj_demo", "alice", *(run["runId"] for run in runs)):
        assert word in text, word

"""Many Runs at once on a lab host while every process is killed once: each ends once and true (S1, X7, S10).

A few in the usual run and 500 in a soak (``--soak``); ``PHAROS_TEST_RUNS`` names another number, ``--seed``
repeats the kills.
"""

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import pytest
import urllib3

from tests import long
from tests.journeys.executing import Executing
from tests.journeys.killing import CENTRAL, UNITS, killing
from tests.journeys.members import MemberApiError
from tests.journeys.reporting import UNIT
from tests.journeys.runs import ENDED, STAGES, Repository, Runs, asked, has_ended
from tests.lab.processes import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.soak]

FEW, MANY = 6, 500
SECONDS_A_RUN = 30.0
"""Patience, not a measure: what one of many may take on a slow machine."""
USERS = re.compile(r"^\s*(\S+)\s*\(\s*\d+\)\s*count:(\d+)", re.MULTILINE)


def number() -> int:
    return int(os.environ.get("PHAROS_TEST_RUNS", MANY if long.SOAK else FEW))


@dataclass(frozen=True, slots=True)
class Many:
    """What was asked for: each Run's number by its id, what was killed meanwhile, and how long it took."""

    runs: dict[str, int]
    killed: list[str]
    seconds: float


@pytest.fixture(scope="module")
def alice(executing: Executing) -> Runs:
    return executing.runs("alice")


@pytest.fixture(scope="module")
def repository(executing: Executing) -> Repository:
    return executing.repository("group/many.git")


@pytest.fixture(scope="module")
def installed(executing: Executing) -> Iterator[Executing]:
    """The reporter with its own minute, as installed."""
    executing.end()
    executing.road.host.exec(["systemctl", "start", UNIT])
    yield executing
    executing.begin()


def calls(executing: Executing) -> Counter[str]:
    """RPCs slurmctld answered since it was started, by user (sdiag(1))."""
    shown = executing.road.host.exec(["sdiag"]).stdout
    by_user = shown.split("statistics by user", 1)[1].split("\n\n", 1)[0]
    return Counter({user: int(count) for user, count in USERS.findall(by_user)})


def persistent(alice: Runs, repository: Repository, each: int) -> str:
    """A Run whose asker tries with one key until it knows."""
    body = asked(repository, ["sh", "-c", f"echo {each} >result.txt"])
    key, deadline = str(uuid4()), time.monotonic() + 300.0
    while time.monotonic() < deadline:
        try:
            return str(alice.member.call("POST", alice.url, body, (200, 201), key=key)["runId"])
        except MemberApiError as refused:
            assert refused.status in (502, 503), refused
        except urllib3.exceptions.HTTPError:
            pass
        time.sleep(0.3)
    raise AssertionError("no answer ever came")


def states(executing: Executing, runs: dict[str, int]) -> Counter[str]:
    rows = executing.rows("SELECT run_id::text, state FROM execution.runs")
    return Counter(state for run, state in rows if run in runs)


@pytest.fixture(scope="module")
def many(installed: Executing, alice: Runs, repository: Repository, pytestconfig: pytest.Config) -> Many:
    """All of them, ended."""
    began, total = time.monotonic(), number()
    with killing(installed, pytestconfig.getoption("--seed")) as killer:
        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(lambda each: persistent(alice, repository, each), range(total)))
        runs = {run: each for each, run in enumerate(ids)}

        def over() -> bool:
            with suppress(urllib3.exceptions.HTTPError):
                return set(states(installed, runs)) <= ENDED
            return False

        assert wait_until(over, 120.0 + SECONDS_A_RUN * total, every=0.5), states(installed, runs)
        seconds = time.monotonic() - began
    assert wait_until(killer.back, 60.0, every=0.5)
    return Many(runs, killer.killed, seconds)


def test_s1_each_ends_once_and_true(installed: Executing, alice: Runs, many: Many) -> None:
    assert len(many.runs) == number(), "one Run an Idempotency-Key"
    assert states(installed, many.runs) == Counter({"completed": len(many.runs)})
    assert sorted(many.killed) == sorted([*CENTRAL, *UNITS])


def test_s1_a_job_a_stage(installed: Executing, alice: Runs, many: Many, pytestconfig: pytest.Config) -> None:
    attempts = {attempt["attemptId"]: run for run in many.runs for attempt in alice.show(run)["attempts"]}
    shown = installed.road.host.exec(["sacct", "-anPX", "-S", "2020-01-01", "-o", "JobID,JobName%200"]).stdout
    markers = [line.split("|", 1)[1].split(":") for line in shown.splitlines()]
    ran = Counter((name[1], name[2]) for name in markers if name[0] == "pharos" and name[1] in attempts)
    assert ran == Counter({(attempt, stage): 1 for attempt in attempts for stage in STAGES})
    print(
        f"\n{len(many.runs)} Runs completed, {ran.total()} jobs, {many.seconds:.0f} s, killed {many.killed},"
        f" --seed {pytestconfig.getoption('--seed')}",
        file=sys.stderr,
    )


def test_s2_each_output_is_its_own(
    installed: Executing, alice: Runs, repository: Repository, many: Many
) -> None:
    central = installed.road.central
    for run, each in many.runs.items():
        written = repository.git(central, "show", f"refs/heads/pharos/runs/{run}:result.txt")
        assert written.decode() == f"{each}\n"


def test_p27_all_of_it_is_cleaned_up_and_said(installed: Executing, many: Many) -> None:
    def settled() -> bool:
        rows = installed.rows(
            "SELECT run_id::text FROM execution.runs WHERE released AND published = revision"
        )
        return set(many.runs) <= {run for (run,) in rows}

    assert wait_until(settled, 60.0 + 2.0 * len(many.runs), every=1.0)
    installed.wait_idle()
    ((whole,),) = installed.rows(
        "SELECT head = (SELECT count(*) FROM execution.commands c WHERE c.site = f.site)"
        " FROM execution.feeds f WHERE site = 'slurm'"
    )
    assert whole, "a gap in the feed"
    status = installed.road.admin.agent_status("runtime")
    assert (status["state"], status["outbox"]["waiting"]) == ("ready", 0), status


def weight(executing: Executing, component: str) -> int:
    """RSS of the component's process, in kB."""
    host = executing.road.host
    pid = host.exec(["systemctl", "show", "-P", "MainPID", f"pharos-{component}"]).stdout.strip()
    return int(host.exec(["awk", "/VmRSS/{print $2}", f"/proc/{pid}/status"]).stdout)


def asked_meanwhile(executing: Executing, act: Callable[[], object]) -> dict[str, int]:
    """RPCs of slurmctld by those who are not its administrators, while something is done."""
    before = calls(executing)
    act()
    return {user: count for user, count in (calls(executing) - before).items() if user != "root"}


def test_s10_each_process_weighs_little_and_asks_little(
    installed: Executing, alice: Runs, repository: Repository, many: Many
) -> None:
    """After the load; four times a bare Python is about 40 MB. Calls of slurmctld are counted by itself."""
    python = installed.road.admin.agent_script("runtime").rpartition("/")[0] + "/python"
    bare = "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"
    alone = int(installed.road.host.exec([python, "-c", bare]).stdout)
    weights = {name: weight(installed, name) for name in installed.road.components}
    idle = asked_meanwhile(installed, lambda: time.sleep(5.0))
    a_pass = asked_meanwhile(installed, lambda: installed.wait_pass(installed.restart))
    began = time.monotonic()
    one = asked_meanwhile(
        installed, lambda: alice.wait(alice.start(repository, ["sh", "-c", "echo x >result.txt"]), has_ended)
    )
    minutes = (time.monotonic() - began) / 60.0
    rates = {user: round(count / minutes) for user, count in one.items()}
    print(
        f"\nRSS in kB after {len(many.runs)} Runs: {weights}, bare Python {alone}\n"
        f"RPCs of slurmctld: idle {idle} in 5 s; a pass of the reporter, one a minute, {a_pass};"
        f" one Run {one}, {rates} a minute while it goes",
        file=sys.stderr,
    )
    assert all(each <= max(4 * alone, 40_000) for each in weights.values()), (weights, alone)
    assert idle.get("pharos-runtime", 0) == 0, "an idle Runtime asks nothing"

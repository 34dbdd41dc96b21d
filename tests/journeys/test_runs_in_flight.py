"""What happens around a Run in flight does not touch it: its member leaves and rejoins, the Runtime is
upgraded and rolled back (E1, E7, P28, S8, I13, I14).
"""

from collections.abc import Callable
from functools import partial

import pytest

from tests.journeys.executing import HELD, Executing
from tests.journeys.members import MemberApiError
from tests.journeys.releases import Release
from tests.journeys.runs import STAGES, Repository, Runs, has_ended, jobs, stages

pytestmark = pytest.mark.lab

USER, NUMBER = "carol", 5_000_003
ONE_EACH = dict.fromkeys(STAGES, 1)


@pytest.fixture(scope="module")
def repository(executing: Executing) -> Repository:
    return executing.repository("group/flight.git")


@pytest.fixture(scope="module")
def alice(executing: Executing) -> Runs:
    return executing.runs("alice")


@pytest.fixture(scope="module")
def carol(executing: Executing) -> Runs:
    return executing.admit(USER, NUMBER)


@pytest.fixture(scope="module")
def held(executing: Executing, carol: Runs, repository: Repository) -> str:
    """A Run of carol's whose compute is running."""
    run = carol.start(repository, HELD)
    executing.wait_running(carol, run)
    return run


def counted(executing: Executing, runs: Runs, run: str) -> dict[str, int]:
    return {stage: len(ran) for stage, ran in jobs(executing.road.host, runs.show(run)).items()}


def refusal(ask: Callable[[], object]) -> tuple[int, str]:
    with pytest.raises(MemberApiError) as refused:
        ask()
    return refused.value.status, refused.value.code


def test_e7_who_left_neither_looks_nor_controls_nor_begins(
    executing: Executing, carol: Runs, repository: Repository, held: str
) -> None:
    executing.leave(executing.sold, USER)
    executing.wait_pass()
    asks: list[Callable[[], object]] = [
        partial(carol.show, held),
        partial(carol.member.call, "GET", carol.url),
        partial(carol.cancel, held),
        partial(carol.start, repository, ["true"]),
    ]
    assert [refusal(ask) for ask in asks] == [(403, "forbidden")] * len(asks)


def test_p28_its_job_runs_on_in_an_account_that_is_kept(executing: Executing, alice: Runs, held: str) -> None:
    assert USER in executing.retained()
    number = stages(alice.show(held))["compute"]["jobId"]
    assert executing.job(number, "User", "State") == {"User": USER, "State": "RUNNING"}
    assert executing.wait_account(executing.sold, USER, state="ready")["generation"] == 1


def test_e7_its_next_stage_waits_and_says_why(executing: Executing, alice: Runs, held: str) -> None:
    executing.let_go(USER, alice, held)
    waits = alice.wait(held, lambda run: run["state"] == "waiting")
    assert waits["reason"] == "authority_refused"
    compute, stage_out = stages(waits)["compute"], stages(waits)["stage-out"]
    assert (compute["verdict"], compute["exitCode"], stage_out["jobId"]) == ("completed", 0, None)


def test_e1_rejoined_it_finishes_with_the_account_it_was_accepted_with(
    executing: Executing, carol: Runs, held: str
) -> None:
    """The Site has not applied the second generation yet: it only observes."""
    executing.drive(PHAROS_REPORTER_MODE="observe")
    executing.join(executing.sold, USER)
    ended = carol.wait(held, has_ended)
    assert ended["state"] == "completed" and ended["output"] is not None
    assert executing.kept(held).identity.generation == 1
    assert counted(executing, carol, held) == ONE_EACH


def test_s8_a_new_run_waits_for_the_new_generation(
    executing: Executing, carol: Runs, repository: Repository
) -> None:
    with pytest.raises(MemberApiError, match="generation_pending") as refused:
        carol.start(repository, ["true"])
    assert (refused.value.status, refused.value.code) == (503, "account_awaiting_site")


def test_s8_and_goes_once_the_site_has_applied_it(
    executing: Executing, carol: Runs, repository: Repository
) -> None:
    executing.drive()
    executing.wait_account(executing.sold, USER, state="ready", generation=2)
    run = carol.start(repository, ["sh", "-c", "id -un >result.txt"])
    ended = carol.wait(run, has_ended)
    assert ended["state"] == "completed"
    assert executing.kept(run).identity.generation == 2
    written = repository.git(executing.road.central, "show", f"{ended['output']['commit']}:result.txt")
    assert written.decode() == f"{USER}\n"


@pytest.fixture(scope="module")
def second(executing: Executing) -> Release:
    """The next release, installed; nothing is switched."""
    release = executing.road.build("0.2.0")
    executing.road.install(executing.road.admin.receive(release.archive))
    return release


def running_release(executing: Executing) -> str:
    return str(executing.road.admin.agent_status("runtime")["release"])


def test_i13_an_upgrade_with_a_run_in_flight(
    executing: Executing, alice: Runs, repository: Repository, second: Release
) -> None:
    run = alice.start(repository, HELD)
    number = executing.wait_running(alice, run)
    before = running_release(executing)
    folder = f"/root/pharos/{second.archive.top_folder}"
    executing.road.activate(folder, components=("runtime",))
    assert running_release(executing) == second.release_id != before
    executing.let_go("alice", alice, run)
    ended = alice.wait(run, has_ended)
    assert ended["state"] == "completed" and stages(ended)["compute"]["jobId"] == number
    assert counted(executing, alice, run) == ONE_EACH


def test_i14_a_rollback_with_a_run_in_flight(
    executing: Executing, alice: Runs, repository: Repository, second: Release
) -> None:
    run = alice.start(repository, HELD)
    number = executing.wait_running(alice, run)
    executing.road.admin.installer("rollback", "--components", "runtime")
    assert running_release(executing) != second.release_id
    executing.let_go("alice", alice, run)
    ended = alice.wait(run, has_ended)
    assert ended["state"] == "completed" and stages(ended)["compute"]["jobId"] == number
    assert counted(executing, alice, run) == ONE_EACH

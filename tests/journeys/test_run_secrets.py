"""Where secrets of a Run can be read while a stage has them: on the host by anybody, in Slurm, at central
(X5, S2, S4, K08).
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import urllib3

from tests.journeys.executing import Executing
from tests.journeys.runs import Repository, Runs, has_ended, stages
from tests.journeys.searching import (
    PASSWORD,
    READERS,
    USERNAME,
    Planted,
    environment_of,
    files_in,
    files_on,
    lines_of_journal,
    owners_of_environments,
    planted,
    processes_here,
    rows_with,
    shown_of_processes,
    told_by_slurm,
    with_credential,
)
from tests.lab.processes import wait_until

pytestmark = pytest.mark.lab

OWN = ("/etc/pharos-hpc/credentials/", "/run/credentials/")
STATE_SAVE = "/var/lib/slurm/ctld/hash."


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage-in that runs and waits for the Git host, with the environment it was started with."""

    run: str
    job: str
    environment: dict[str, str]
    known: Planted


@contextmanager
def silent(executing: Executing) -> Iterator[None]:
    """The Git host answers nothing meanwhile."""
    pid = executing.road.central.facts()["pids"]["git"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def partition(executing: Executing, state: str) -> None:
    executing.road.host.exec(["scontrol", "update", "PartitionName=staging", f"State={state}"])


@pytest.fixture(scope="module")
def alice(executing: Executing) -> Runs:
    return executing.runs("alice")


@pytest.fixture(scope="module")
def repository(executing: Executing) -> Repository:
    return executing.repository("group/secret.git")


@pytest.fixture(scope="module")
def stage(executing: Executing, alice: Runs, repository: Repository) -> Iterator[Stage]:
    """Submitted while the partition takes no job, so that it starts when the Git host is silent."""
    host, known = executing.road.host, planted(executing, "alice")
    partition(executing, "DOWN")
    try:
        run = alice.start(repository, ["sh", "-c", "env -0 >environment; echo x >result.txt"])
        shown = alice.wait(run, lambda shown: bool(stages(shown).get("stage-in", {}).get("jobId")))
    except BaseException:
        partition(executing, "UP")
        raise
    job = stages(shown)["stage-in"]["jobId"]
    with silent(executing):
        partition(executing, "UP")
        assert wait_until(lambda: "git" in _programs(executing), 60.0, every=0.2)
        environment = environment_of(host, "alice")
        after = planted(executing, "alice")
        both = Planted({**{f"{name} before": each for name, each in known.values.items()}, **after.values})
        yield Stage(
            run, job, environment, with_credential(both, environment[USERNAME], environment[PASSWORD])
        )
    assert alice.wait(run, has_ended)["state"] == "completed"


def _programs(executing: Executing) -> list[str]:
    return executing.road.host.exec(["ps", "-u", "alice", "-o", "comm="], check=False).stdout.split()


def test_s4_the_job_has_the_two_values_and_nothing_else(stage: Stage) -> None:
    ours = {name for name in stage.environment if name.startswith("PHAROS_")}
    assert ours == {USERNAME, PASSWORD}
    assert "SLURM_JWT" not in stage.environment
    others = "".join(f"{name}={text}\n" for name, text in stage.environment.items() if name not in ours)
    assert stage.known.found_in(others) == []


def test_x5_on_the_hosts_files_as_root(executing: Executing, stage: Stage) -> None:
    """Each bearer in its own credential; the stage's credential in Slurm's own state save (S4's residue)."""
    found = files_on(executing.road.host, stage.known)
    assert found, "not even the credentials themselves were found"
    saved = {path: names for path, names in found.items() if path.startswith(STATE_SAVE)}
    odd = {path: names for path, names in found.items() if not path.startswith((*OWN, STATE_SAVE))}
    assert odd == {}
    assert set(saved) == {f"{STATE_SAVE}{int(stage.job) % 10}/job.{stage.job}/environment"}
    assert {tuple(names) for names in saved.values()} == {("repository credential",)}
    (kept,) = saved
    assert executing.road.host.exec(["stat", "-c", "%U %a", kept]).stdout.split()[0] == "slurm"
    for path, names in found.items():
        assert len({name.removesuffix(" before") for name in names}) == 1, (path, names)
    assert lines_of_journal(executing.road.host, stage.known) == 0


@pytest.mark.parametrize("user", READERS)
def test_x5_k08_in_what_slurm_tells(executing: Executing, stage: Stage, user: str | None) -> None:
    told = told_by_slurm(executing.road.host, stage.job, user)
    assert f"JobId={stage.job}" in told or "Invalid" in told or "denied" in told, told[:500]
    assert stage.known.found_in(told) == []


@pytest.mark.parametrize("user", READERS)
def test_x5_in_arguments_and_environments_of_processes(
    executing: Executing, stage: Stage, user: str | None
) -> None:
    host = executing.road.host
    assert stage.known.found_in(shown_of_processes(host, "cmdline", user)) == []
    seen = stage.known.found_in(shown_of_processes(host, "environ", user))
    of_the_stage = {"repository credential", "the same for HTTP"}
    assert set(seen) <= (of_the_stage if user in (None, "alice") else set())
    assert ("repository credential" in seen) == (user in (None, "alice"))


def test_s4_no_other_member_or_service_enters_what_the_stage_was_handed(
    executing: Executing, stage: Stage
) -> None:
    for user in ("bob", "pharos-agent", "pharos-ssh-access"):
        for folder in ("/scratch/pharos/.runtime", "/scratch/pharos/alice"):
            done = executing.road.host.exec(["ls", folder], user=user, check=False)
            assert done.returncode != 0 and "denied" in done.stderr


def test_x5_at_central(executing: Executing, stage: Stage) -> None:
    central = executing.road.central
    kept = files_in(central.state, stage.known, ("secrets", "tls"))
    assert kept == {}
    with open(central.facts()["brokerDatabaseUrlFile"], encoding="utf-8") as file:
        assert rows_with(file.read().strip(), stage.known) == {}
    assert stage.known.found_in(processes_here("cmdline")) == []


def test_s4_the_credential_dies_with_the_stage(
    executing: Executing, alice: Runs, repository: Repository, stage: Stage
) -> None:
    os.kill(executing.road.central.facts()["pids"]["git"], signal.SIGCONT)
    alice.wait(stage.run, has_ended)
    executing.wait_released(stage.run)
    assert wait_until(lambda: executing.credentials(stage.run)[1] == 0, 60.0, every=0.5)
    with urllib3.PoolManager(ca_certs=executing.road.central.facts()["runs"]["git"]["caFile"]) as pool:
        headers = urllib3.make_headers(
            basic_auth=f"{stage.environment[USERNAME]}:{stage.environment[PASSWORD]}"
        )
        asked = pool.request("GET", f"{repository.url}/info/refs?service=git-upload-pack", headers=headers)
    assert asked.status == 401
    found = files_on(executing.road.host, stage.known)
    assert [path for path in found if not path.startswith((*OWN, STATE_SAVE))] == []


def test_a41_s2_compute_has_none(executing: Executing, alice: Runs, stage: Stage) -> None:
    (attempt,) = alice.show(stage.run)["attempts"]
    written = executing.road.host.read(f"/scratch/pharos/alice/{attempt['attemptId']}/work/environment")
    names = {item.split("=", 1)[0] for item in written.split("\0") if item}
    assert "SLURM_JOB_ID" in names and "SLURM_JWT" not in names
    assert not any(name.startswith("PHAROS_") for name in names)
    assert stage.known.found_in(written) == []


@pytest.fixture(scope="module")
def submitting(executing: Executing, alice: Runs, repository: Repository) -> Iterator[Planted]:
    """What a submission has while the controller does not take it."""
    host = executing.road.host
    host.exec(["systemctl", "kill", "--signal=STOP", "slurmctld"])
    try:
        run = alice.start(repository, ["sh", "-c", "echo x >result.txt"])
        look = ["ps", "-u", "pharos-runtime", "-o", "comm="]
        assert wait_until(lambda: "sbatch" in host.exec(look, check=False).stdout, 60.0, every=0.2)
        yield planted(executing, "alice")
    finally:
        host.exec(["systemctl", "kill", "--signal=CONT", "slurmctld"])
    assert alice.wait(run, has_ended)["state"] == "completed"


def test_s2_the_members_token_is_sbatchs_alone_and_not_to_be_seen(
    executing: Executing, submitting: Planted
) -> None:
    host = executing.road.host
    assert owners_of_environments(host, submitting) == {"pharos-runtime sbatch"}
    for user in READERS:
        assert submitting.found_in(shown_of_processes(host, "cmdline", user)) == []
        if user not in (None, "pharos-runtime"):
            assert submitting.found_in(shown_of_processes(host, "environ", user)) == []
    assert [path for path in files_on(host, submitting) if not path.startswith(OWN)] == []

"""A member's Run, accepted at central, done by the Site's Slurm as that member, from and to a Git repository
(E4, E5, E7, S1–S5).
"""

import json
from hashlib import sha256

import pytest

from tests.journeys.executing import LARGE_SOURCE, SCRATCH, Executing
from tests.journeys.members import MemberApiError
from tests.journeys.runs import STAGES, Repository, Runs, has_ended, jobs, stages
from tests.lab.processes import wait_until

pytestmark = pytest.mark.lab

WORDS = ["it's $HOME; *", '"two"\nlines']


@pytest.fixture(scope="module")
def repository(executing: Executing) -> Repository:
    return executing.repository("group/work.git")


@pytest.fixture(scope="module")
def alice(executing: Executing) -> Runs:
    return executing.runs("alice")


@pytest.fixture(scope="module")
def run(executing: Executing, alice: Runs, repository: Repository) -> str:
    """One that has ended well."""
    words = ["sh", "run.sh", *WORDS]
    asked = alice.start(repository, words, outputs=["result.txt", "large"], environment={"OMP": "1"})
    alice.wait(asked, has_ended)
    return asked


def in_bytes(text: str) -> int:
    """Memory as accounting writes it: 512M, 1G, 1.50G."""
    return int(float(text[:-1]) * 1024 ** (" KMGT".index(text[-1])))


def denied(executing: Executing, user: str, *words: str) -> bool:
    done = executing.road.host.exec(list(words), user=user, check=False)
    return done.returncode != 0 and "denied" in done.stderr


def test_e4_s1_it_ends_true_with_one_job_a_stage(executing: Executing, alice: Runs, run: str) -> None:
    shown = alice.show(run)
    assert (shown["state"], shown["reason"]) == ("completed", None), executing.explained("run", run)
    told = {stage: (each["verdict"], each["exitCode"]) for stage, each in stages(shown).items()}
    assert told == dict.fromkeys(STAGES, ("completed", 0))
    ran = jobs(executing.road.host, shown)
    assert ran == {stage: [each["jobId"]] for stage, each in stages(shown).items()}
    assert wait_until(lambda: executing.queued() == [], 60.0, every=0.2), executing.queued()


def test_s2_each_stage_was_the_members_in_the_allocations_account(
    executing: Executing, alice: Runs, run: str
) -> None:
    partitions = dict(zip(STAGES, ("staging", "compute", "staging"), strict=True))
    for stage, each in stages(alice.show(run)).items():
        ran = executing.job(each["jobId"], "User", "Account", "Partition", "State", "ExitCode", "SubmitLine")
        assert ran.pop("SubmitLine").count("sbatch") == 1
        assert ran == {
            "User": "alice",
            "Account": executing.sold.account,
            "Partition": partitions[stage],
            "State": "COMPLETED",
            "ExitCode": "0:0",
        }


def test_s2_s8_usage_is_what_accounting_has(executing: Executing, alice: Runs, run: str) -> None:
    for stage in executing.kept(run).attempt.stages:
        assert stage.result is not None and stage.result.usage is not None
        assert stage.acknowledgement is not None and stage.acknowledgement.job_id is not None
        ran = executing.job(stage.acknowledgement.job_id, "ElapsedRaw", "AllocTRES")
        given = dict(each.split("=") for each in ran["AllocTRES"].split(","))
        assert stage.result.usage.elapsed_seconds == int(ran["ElapsedRaw"])
        allocated = dict(stage.result.usage.allocated)
        assert allocated["cpu"] == int(given["cpu"]) * 1000
        assert in_bytes(given["mem"]) == allocated["memory"]


def test_s2_its_outputs_are_at_the_git_host_byte_for_byte(
    executing: Executing, alice: Runs, repository: Repository, run: str
) -> None:
    output = alice.show(run)["output"]
    assert output["ref"] == f"refs/heads/pharos/runs/{run}"
    central = executing.road.central
    commit = output["commit"]
    assert repository.git(central, "rev-parse", output["ref"]).decode().strip() == commit
    assert repository.git(central, "rev-parse", f"{commit}^").decode().strip() == repository.commit
    said = "".join(f"{word}\n" for word in WORDS)
    assert repository.git(central, "show", f"{commit}:result.txt") == b"seed\n" + LARGE_SOURCE + said.encode()
    pointer = repository.git(central, "show", f"{commit}:large/zeros.bin").decode()
    oid = sha256(bytes(11_000_000)).hexdigest()
    assert f"oid sha256:{oid}\nsize 11000000\n" in pointer
    assert repository.bare(central).joinpath("lfs", oid).read_bytes() == bytes(11_000_000)


def test_s4_the_workspace_is_the_members_alone(executing: Executing, alice: Runs, run: str) -> None:
    (attempt,) = alice.show(run)["attempts"]
    host, folder = executing.road.host, f"{SCRATCH}/alice/{attempt['attemptId']}"
    shown = host.exec(["find", f"{SCRATCH}/alice", "-printf", "%u\\n"]).stdout
    assert set(shown.split()) == {"alice"}
    modes = host.exec(["stat", "-c", "%a", f"{SCRATCH}/alice", folder]).stdout.split()
    assert {mode[-3:] for mode in modes} == {"700"}
    look = (
        "import os, sys\n"
        "for top, folders, files in os.walk(sys.argv[1]):\n"
        "    for name in [top, *(os.path.join(top, each) for each in files)]:\n"
        "        print(name, *os.listxattr(name, follow_symlinks=False))\n"
    )
    attributes = host.exec(["python3", "-c", look, f"{SCRATCH}/alice"]).stdout
    assert folder in attributes and "posix_acl" not in attributes
    for other in ("bob", "pharos-runtime", "pharos-agent", "pharos-ssh-access"):
        assert denied(executing, other, "ls", f"{SCRATCH}/alice")
        assert denied(executing, other, "cat", f"{folder}/work/result.txt")
    assert host.exec(["cat", f"{folder}/work/result.txt"], user="alice").stdout.startswith("seed\n")


def test_s4_p27_nothing_is_kept_for_it_afterwards(executing: Executing, run: str) -> None:
    executing.wait_released(run)
    executing.wait_idle()
    assert executing.credentials(run)[0] == 3, "to read, to write, and central's own to confirm"
    assert wait_until(lambda: executing.credentials(run) == (3, 0), 60.0, every=0.5)


def test_e7_another_member_cancels_and_is_named(
    executing: Executing, alice: Runs, repository: Repository
) -> None:
    run = alice.start(repository, ["sleep", "600"])
    number = executing.wait_running(alice, run)
    bob = executing.runs("bob")
    assert bob.show(run)["createdBy"] == executing.parties["alice"]
    bob.cancel(run, "wrong input")
    ended = alice.wait(run, has_ended)
    assert (ended["state"], ended["cancelledBy"]) == ("cancelled", executing.parties["bob"])
    assert stages(ended)["compute"]["verdict"] == "cancelled" and ended["output"] is None
    assert executing.job(number, "State")["State"].startswith("CANCELLED")
    assert f"member_asked, by Party {executing.parties['bob']}" in executing.explained("run", run)
    audited = executing.rows(
        "SELECT actor::text FROM execution.audit WHERE subject = %s AND permission = 'run.cancel'", run
    )
    assert audited == [(executing.parties["bob"],)]
    executing.wait_released(run)
    assert {stage: len(each) for stage, each in jobs(executing.road.host, ended).items()} == {
        "stage-in": 1,
        "compute": 1,
        "stage-out": 0,
    }


def test_e7_who_is_no_member_sees_nothing(executing: Executing, run: str) -> None:
    party = executing.road.central.beto("new_party", site="slurm", username="mallory")["id"]
    stranger = Runs(executing.road.central, executing.road.central.member(party), executing.sold.project)
    for ask in (stranger.show, stranger.cancel):
        with pytest.raises(MemberApiError) as refused:
            ask(run)
        assert (refused.value.status, refused.value.code) == (403, "forbidden"), refused.value


def test_s1_a_program_that_fails_is_told_as_it_ended(
    executing: Executing, alice: Runs, repository: Repository
) -> None:
    ended = alice.wait(alice.start(repository, ["sh", "-c", "exit 7"]), has_ended)
    assert ended["state"] == "failed"
    assert (stages(ended)["compute"]["verdict"], stages(ended)["compute"]["exitCode"]) == ("failed", 7)
    assert stages(ended)["stage-out"]["jobId"] is None and ended["output"] is None


def test_e5_an_ended_consent_holds_the_run_until_there_is_another(
    executing: Executing, alice: Runs, repository: Repository
) -> None:
    assert executing.end_sessions("alice") > 0
    run = alice.start(repository, ["sh", "run.sh"])
    held = alice.wait(run, lambda shown: shown["state"] == "waiting")
    assert held["reason"] == "consent_expired"
    assert "consent ENDED" in " ".join(executing.explained("run", run).split())
    assert jobs(executing.road.host, held) == {stage: [] for stage in STAGES}
    assert executing.consent("alice") == "standing"
    ended = alice.wait(run, has_ended)
    assert ended["state"] == "completed", json.dumps(ended)
    assert {stage: len(each) for stage, each in jobs(executing.road.host, ended).items()} == dict.fromkeys(
        STAGES, 1
    )


def test_e5_a_consent_taken_back_by_the_member_does_so_at_once(
    executing: Executing, alice: Runs, repository: Repository
) -> None:
    member = alice.member
    taken = member.call("DELETE", f"{member.api}/api/v1/me/execution-consent")
    assert taken["state"] == "ended"
    run = alice.start(repository, ["sh", "run.sh"])
    assert alice.wait(run, lambda shown: shown["state"] == "waiting")["reason"] == "consent_expired"
    assert executing.consent("alice") == "standing"
    assert alice.wait(run, has_ended)["state"] == "completed"

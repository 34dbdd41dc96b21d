"""Credentials of the Git host and what its refs prove, against the stand-in (K02-K12, S2, X1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from central.dev.certificates import ensure_authority, issue_leaf
from central.execution.adapters.git_refs import SmartHttpRefs
from central.execution.adapters.postgres_credentials import PostgresCredentials
from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.adapters.repository_credentials import Giver, HttpRepositoryCredentials
from central.execution.application.git_passes import RevokeCredentials
from central.execution.application.host_turns import HostTurns
from central.execution.application.ports import RepositoryCredential, RepositoryRefused, StoreCommand
from central.execution.domain.accept import accept, run_id_of
from central.execution.domain.progress import acknowledge, cancel
from central.execution.domain.request import Repository
from central.execution.domain.run import Run, WaitReason
from central.kernel.database import Database, DatabaseOptions
from central.kernel.errors import Unavailable
from central.kernel.times import utc_now
from tests.postgres.conftest import PgServer
from tests.simulators.git.credentials import CredentialServer, giving
from tests.simulators.git.server import GitServer
from tests.simulators.git.server_state import Faults
from tests.simulators.git.serving import serving
from tests.unit.central.execution.hosts import MemorySilences
from tests.unit.central.execution.values import IDENTITY, MEMBER, REQUEST, refused

NAME = "group/project.git"
MAIN = "refs/heads/main"
WORD = "central"


@dataclass(slots=True)
class Host:
    """The Git host, who gives out its credentials, and central's adapters for both."""

    git: GitServer
    giver: CredentialServer
    commit: str
    refs: SmartHttpRefs
    credentials: HttpRepositoryCredentials
    runs: PostgresRuns
    store: PostgresCredentials

    def run(self, repository: str = NAME) -> Run:
        """A saved Run on a repository of this host."""
        now, asked = utc_now(), StoreCommand(uuid4(), b"x" * 32)
        wanted = replace(
            REQUEST,
            repository=Repository(f"{self.git.url}/{repository}", self.commit),
            deadline=now + timedelta(hours=1),
        )
        run_id = run_id_of(asked.id, wanted.project_id)
        step = accept(run_id, wanted, UUID(int=40), identity=IDENTITY, member=MEMBER, now=now)
        return self.runs.add(asked, step).run

    def issue(self, run: Run, purpose: str = "stage-in", ref: str | None = None) -> RepositoryCredential:
        return self.credentials.issue(run, purpose, write_ref=ref, now=utc_now())

    def commit_of(self, run: Run, ref: str, given: RepositoryCredential) -> str | None:
        return self.refs.commit_of(run.request.repository.url, ref, given)


@pytest.fixture
def host(
    pg_server: PgServer,
    database_name: str,
    open_database: Callable[[DatabaseOptions], Database],
    tmp_path: Path,
) -> Iterator[Host]:
    url = pg_server.role_url("pharos_execution", database_name)
    database = open_database(DatabaseOptions(url, pool_size=4))
    ca_file = str(ensure_authority(tmp_path, utc_now()))
    certificate, key = issue_leaf(tmp_path, "git.test", "127.0.0.1", utc_now())
    with (
        serving(tmp_path / "git", certificate, key, name="127.0.0.1") as git,
        giving(git, WORD) as giver,
    ):
        git.repositories.create(NAME)
        commit = git.repositories.commit(NAME, None)
        store = PostgresCredentials(database)
        credentials = HttpRepositoryCredentials(Giver(giver.url, WORD), store)
        yield Host(git, giver, commit, SmartHttpRefs(ca_file), credentials, PostgresRuns(database), store)


def test_s2_a_ref_is_there_or_proven_absent(host: Host) -> None:
    run = host.run()
    given = host.issue(run)
    assert host.commit_of(run, MAIN, given) == host.commit
    assert host.commit_of(run, "refs/heads/pharos/runs/none", given) is None
    assert given.expires_at <= run.request.deadline


@pytest.mark.parametrize(
    "faults",
    [Faults(status=503), Faults(status=404), Faults(status=401), Faults(redirect="https://other.test"),
     Faults(cut_after=120)],
    ids=["out_of_order", "gone", "refused", "redirect", "cut"],
)  # fmt: skip
def test_x1_a_host_that_does_not_answer_well_proves_nothing(host: Host, faults: Faults) -> None:
    run = host.run()
    given = host.issue(run)
    host.git.repositories.faults = faults
    with pytest.raises(Unavailable):
        host.commit_of(run, MAIN, given)


def test_x1_another_certificate_or_a_wrong_word_proves_nothing(host: Host) -> None:
    run = host.run()
    given = host.issue(run)
    with pytest.raises(Unavailable):
        SmartHttpRefs().commit_of(run.request.repository.url, MAIN, given)
    with pytest.raises(Unavailable):
        host.commit_of(run, MAIN, RepositoryCredential(given.username, "wrong", given.expires_at))


def test_s2_one_credential_a_stage_and_the_later_one_counts(host: Host) -> None:
    run = host.run()
    first, second = host.issue(run), host.issue(run)
    assert host.commit_of(run, MAIN, second) == host.commit
    with pytest.raises(Unavailable):
        host.commit_of(run, MAIN, first)
    assert len(host.giver.given) == 1


def test_s2_a_repository_the_host_does_not_know_or_give_is_refused_by_name(host: Host) -> None:
    with pytest.raises(RepositoryRefused) as unknown:
        host.issue(host.run("group/another.git"))
    host.giver.closed.add(NAME)
    with pytest.raises(RepositoryRefused) as closed:
        host.issue(host.run())
    assert (unknown.value.reason, closed.value.reason) == (
        WaitReason.REPOSITORY_UNKNOWN,
        WaitReason.REPOSITORY_REFUSED,
    )


@pytest.mark.parametrize(
    ("path", "word", "status"), [("/elsewhere", WORD, "404"), ("", "wrong", "401")], ids=["moved", "stranger"]
)
def test_x1_a_refusal_that_names_no_repository_proves_nothing(
    path: str, word: str, status: str, host: Host
) -> None:
    asked = HttpRepositoryCredentials(Giver(host.giver.url + path, word), host.store)
    with pytest.raises(Unavailable, match=status):
        asked.issue(host.run(), "stage-in", write_ref=None, now=utc_now())


def test_x1_a_404_of_whoever_is_no_revocation(host: Host) -> None:
    """What stands at a moved address says 404 to everything; the credential lives on, and is taken back."""
    host.issue(host.run())
    [given] = host.credentials.outstanding(None, 10)
    moved = HttpRepositoryCredentials(Giver(host.giver.url + "/elsewhere", WORD), host.store)
    with pytest.raises(Unavailable, match="404"):
        moved.revoke(given.credential_id, utc_now())
    assert host.credentials.outstanding(None, 10) == [given]
    host.credentials.revoke(given.credential_id, utc_now())
    host.credentials.revoke(given.credential_id, utc_now())  # unknown by now, and no fault
    assert (host.giver.given, host.credentials.outstanding(None, 10)) == (set(), [])


def test_x1_a_host_out_of_order_is_unavailable(host: Host) -> None:
    host.giver.out_of_order = True
    with pytest.raises(Unavailable, match="503"):
        host.issue(host.run())


def test_s2_what_was_asked_for_is_taken_back_even_if_its_answer_was_lost(host: Host) -> None:
    run, revoke = host.run(), RevokeCredentials(host.runs, host.credentials, HostTurns(MemorySilences()))
    host.issue(run)
    host.giver.out_of_order = True
    with pytest.raises(Unavailable):
        host.issue(run, "stage-out", "refs/heads/pharos/runs/00000000-0000-4000-8000-000000000001")
    assert revoke(utc_now()).changed == 0, "the Run still needs both"
    end(host, run)
    assert revoke(utc_now()).unavailable == 2, "not while the host is away"
    host.giver.out_of_order = False
    assert revoke(utc_now()).changed == 2
    assert host.giver.given == set()
    assert host.credentials.outstanding(None, 10) == []


def end(host: Host, run: Run) -> None:
    """The member cancels, and the Site says that nothing was begun."""
    stage = run.attempt.stages[0].command_id
    assert stage is not None
    for step in (
        lambda at: cancel(at, MEMBER, None, utc_now()),
        lambda at: acknowledge(at, stage, refused("held"), utc_now()),
    ):
        moved = host.runs.move(StoreCommand(uuid4(), b"x" * 32), run.run_id, step, utc_now()).run
    assert moved.ended


def test_x5_nothing_of_a_credential_is_shown(host: Host) -> None:
    given = host.issue(host.run())
    assert given.password not in repr(given)
    assert WORD not in repr(Giver(host.giver.url, WORD))

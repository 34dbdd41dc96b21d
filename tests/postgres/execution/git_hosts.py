"""Git hosts, Runs whose output is awaited there, and the passes that ask, in this or a dying process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from central.dev.certificates import ensure_authority, issue_leaf
from central.execution.adapters.exchange import ExchangeLimits
from central.execution.adapters.git_refs import SmartHttpRefs
from central.execution.adapters.postgres_credentials import PostgresCredentials
from central.execution.adapters.postgres_passes import PostgresPasses
from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.adapters.postgres_silences import PostgresSilences
from central.execution.adapters.repository_credentials import Giver, HttpRepositoryCredentials
from central.execution.application.git_passes import CONFIRM, REVOKE, ConfirmOutputs, RevokeCredentials
from central.execution.application.host_turns import HostTurns
from central.execution.application.passes import Passed
from central.execution.application.ports import RepositoryCredential, StoreCommand
from central.execution.domain.accept import accept, run_id_of
from central.execution.domain.command import runs_ref
from central.execution.domain.progress import acknowledge, record_result
from central.execution.domain.request import Repository
from central.execution.domain.run import Output, Run, StageName
from central.kernel.database import Database, DatabaseOptions
from central.kernel.times import utc_now
from tests.simulators.git.credentials import CredentialServer, giving
from tests.simulators.git.server import GitServer
from tests.simulators.git.serving import serving
from tests.unit.central.execution.values import IDENTITY, MEMBER, REQUEST, accepted, ended

NAME: Final = "group/project.git"
WORD: Final = "central"
PATIENCE: Final = timedelta(days=2)
SPAWN: Final = multiprocessing.get_context("spawn")
SILENT_AFTER: Final = ExchangeLimits(timeout=5.0, whole=10.0, answer_max=1 << 24)
"""Sooner than in service; no answer takes as long on a busy machine."""


@dataclass(frozen=True, slots=True)
class GitHost:
    """A Git host with one repository, and who gives out its credentials."""

    git: GitServer
    giver: CredentialServer
    commit: str

    @property
    def name(self) -> str:
        return self.git.url.removeprefix("https://")

    def run(self, runs: PostgresRuns) -> Run:
        """A Run that pushed here: its output is awaited."""
        now = utc_now()
        wanted = replace(
            REQUEST,
            repository=Repository(f"{self.git.url}/{NAME}", self.commit),
            deadline=now + timedelta(hours=1),
        )
        asked = _some()
        run_id = run_id_of(asked.id, wanted.project_id)
        ref = runs_ref(run_id)
        path = self.git.repositories.path(NAME) / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{self.commit}\n")
        run = runs.add(
            asked, accept(run_id, wanted, UUID(int=40), identity=IDENTITY, member=MEMBER, now=now)
        ).run
        for number, name in enumerate(StageName):
            command = run.attempt.stages[number].command_id
            assert command is not None
            output = Output(ref, self.commit) if name is StageName.STAGE_OUT else None
            for step in (
                lambda at: acknowledge(at, command, accepted(), now),  # noqa: B023 - called at once
                lambda at: record_result(at, command, ended(output=output), now),  # noqa: B023
            ):
                run = runs.move(_some(), run_id, step, now).run
        assert run.output_awaited is not None
        return run


def _some() -> StoreCommand:
    return StoreCommand(uuid4(), b"x" * 32)


@contextmanager
def git_host(folder: Path) -> Iterator[GitHost]:
    """Serves one while the block runs; `folder`'s parent keeps the authority of all."""
    ensure_authority(folder.parent, utc_now())
    certificate, key = issue_leaf(folder.parent, "git.test", "127.0.0.1", utc_now())
    with serving(folder, certificate, key, name="127.0.0.1") as git, giving(git, WORD) as giver:
        git.repositories.create(NAME)
        yield GitHost(git, giver, git.repositories.commit(NAME, None))


@dataclass(frozen=True, slots=True)
class Where:
    """Everything the passes ask, as a process of its own is told it. `givers`: of each host."""

    database_url: str
    ca_file: str
    givers: dict[str, str]


@dataclass(slots=True)
class Parts:
    """What the passes are made of; `asked` are the hosts that were asked for refs."""

    database: Database
    runs: Any
    store: Any
    silences: Any
    credentials: Any
    git: Any
    asked: list[str] = field(default_factory=list)
    turns: HostTurns | None = None

    def confirm(self, now: datetime) -> Passed:
        """One pass."""
        self.turns = self.turns or HostTurns(self.silences)
        passes = PostgresPasses(self.database)
        return ConfirmOutputs(passes, self.runs, self, self, PATIENCE, self.turns)(now)

    def revoke(self, now: datetime) -> Passed:
        """One pass."""
        [given] = self.credentials.values()
        return RevokeCredentials(self.runs, given, HostTurns(PostgresSilences(self.database, REVOKE)))(now)

    def issue(self, run: Run, purpose: str, *, write_ref: str | None, now: datetime) -> RepositoryCredential:
        given = self.credentials[run.request.repository.host]
        credential: RepositoryCredential = given.issue(run, purpose, write_ref=write_ref, now=now)
        return credential

    def commit_of(self, url: str, ref: str, credential: RepositoryCredential) -> str | None:
        self.asked.append(Repository(url, "").host)
        commit: str | None = self.git.commit_of(url, ref, credential)
        return commit


@contextmanager
def parts_at(where: Where) -> Iterator[Parts]:
    """The passes' parts over their real adapters."""
    with Database(DatabaseOptions(where.database_url, pool_size=6)) as database:
        store = PostgresCredentials(database)
        yield Parts(
            database=database,
            runs=PostgresRuns(database),
            store=store,
            silences=PostgresSilences(database, CONFIRM),
            credentials={
                host: HttpRepositoryCredentials(Giver(url, WORD), store) for host, url in where.givers.items()
            },
            git=SmartHttpRefs(where.ca_file, limits=SILENT_AFTER),
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a process ends without a word: behind one call of a part, or before it."""

    part: str
    method: str
    before: bool = False


class _Last:
    """A part whose call at the checkpoint is the last thing its process does."""

    def __init__(self, part: Any, at: Checkpoint) -> None:
        self._part, self._at = part, at

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._part, name)
        if name != self._at.method:
            return call

        def last(*words: Any, **more: Any) -> None:
            if not self._at.before:
                call(*words, **more)
            os.kill(os.getpid(), signal.SIGKILL)

        return last


def die(where: Where, work: str, at: Checkpoint, now: datetime) -> None:
    """One pass in a process of its own that ends at the checkpoint."""
    process = SPAWN.Process(target=_die, args=(where, work, at, now))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL, f"{at} was not reached: {process.exitcode}"


def _die(where: Where, work: str, at: Checkpoint, now: datetime) -> None:
    with parts_at(where) as parts:
        last: Callable[[Any], Any] = lambda part: _Last(part, at)  # noqa: E731
        if at.part == "store":
            for given in parts.credentials.values():
                given._store = last(parts.store)
        elif at.part == "credentials":
            parts.credentials = {host: last(given) for host, given in parts.credentials.items()}
        else:
            setattr(parts, at.part, last(getattr(parts, at.part)))
        getattr(parts, work)(now)

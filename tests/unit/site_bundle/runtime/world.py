"""Slurm, a central and a host made of plain objects, for the use cases over the real journal."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.ranges import NumberRange
from site_bundle.runtime.adapters.sqlite_journal import SqliteCommandJournal, open_command_journal
from site_bundle.runtime.adapters.token_user import TokenUsers
from site_bundle.runtime.adapters.wire_words import encode_ack, encode_result
from site_bundle.runtime.application.begin_stage import BeginStage, Site
from site_bundle.runtime.application.observe_jobs import ObserveJobs
from site_bundle.runtime.application.ports import (
    Accepted,
    Job,
    MemberToken,
    Outcome,
    RepositoryCredential,
    UnknownOutcome,
    Word,
)
from site_bundle.runtime.application.send_words import SendWords
from site_bundle.runtime.application.words import Words
from site_bundle.runtime.domain.command import Command, Identity
from site_bundle.runtime.domain.feed import Page
from site_bundle.runtime.domain.jobs import AccountedRun, QueuedJob
from site_bundle.runtime.domain.script import Grant
from site_bundle.runtime.domain.stage import Account, Graces, State
from site_bundle.runtime.domain.verdict import Output
from tests.unit.site_bundle.runtime.scenes import NOW, REF, UID, after, run


def token_of(**claims: object) -> str:
    """A token of the form Slurm takes; who signed it is not looked at here."""
    body = urlsafe_b64encode(json.dumps({"exp": 4102444800} | claims).encode()).decode().rstrip("=")
    return f"planted-token.{body}.planted-signature"


TOKEN = MemberToken(token_of(sun="alice"), after(900), RepositoryCredential("pharos-run", "planted-password"))


class Died(BaseException):
    """The process is gone, as by SIGKILL."""


class World:
    """All ports in one. `jobs`: submitted jobs in order; `lose`: answers of sbatch that are lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: list[Job] = []
        self.times: list[datetime] = []
        self.clock = NOW
        self.lose = 0
        self.outcome: Outcome | None = None
        self.token: MemberToken | SiteError = TOKEN
        self.done = False
        self.sent: list[Word] = []
        self.refuse: SiteError | None = None
        self.down = False
        self.platform = {"proj_a"}
        self.result: Output | None = Output(REF, "c" * 40)
        self.events: list[tuple[Any, ...]] = []
        self.die_at = ""
        self.who: Account | None = Account(UID, "/home/alice")
        self.ids = frozenset({42})
        self.journal: SqliteCommandJournal = open_command_journal(folder / "journal.sqlite")

    def restart(self) -> None:
        """The process begins again with what the journal has."""
        self.die_at = ""
        self.journal.close_file()
        self.journal = open_command_journal(self.folder / "journal.sqlite")

    def checkpoint(self, name: str) -> None:
        if name == self.die_at:
            raise Died(name)

    def receive(self, *commands: Command) -> None:
        self.journal.record_page(
            Page("slurm", UUID(int=2), 0, commands, commands[-1].sequence, False), advance=True, now=NOW
        )

    # Events: every other name is one.

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args: self.events.append((name, *args))

    # Ports.

    def member_token(self, _command: UUID, _attempt: UUID) -> MemberToken:
        if isinstance(self.token, SiteError):
            raise self.token
        return self.token

    def send(self, word: Word) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.sent.append(word)

    def account(self, _name: str) -> Account | None:
        return self.who

    def associations(self, _identity: Identity) -> frozenset[int]:
        return self.ids

    def is_of_platform(self, account: str) -> bool:
        return account in self.platform

    def submit(self, job: Job, _token: MemberToken) -> Outcome:
        if self.outcome is not None:
            return self.outcome
        self.jobs.append(job)
        self.times.append(self.clock)
        if self.lose:
            self.lose -= 1
            return UnknownOutcome()
        return Accepted(str(6 + len(self.jobs)), None)

    def queue(self, _accounts: Sequence[str]) -> tuple[QueuedJob, ...]:
        if self.down:
            raise UnavailableError("slurm_unavailable", found="squeue: exit 1")
        state = "COMPLETED" if self.done else "RUNNING"
        return tuple(
            QueuedJob(str(7 + n), UID, state, self.times[n], job.marker, job.marker)
            for n, job in enumerate(self.jobs)
        )

    def accounting(
        self, _uids: Sequence[int], _since: datetime | None, _jobs: Sequence[str]
    ) -> tuple[AccountedRun, ...]:
        if not self.done:
            return ()
        return tuple(
            run(job_id=str(7 + n), name=job.marker, submitted_at=self.times[n])
            for n, job in enumerate(self.jobs)
        )

    def grant(self, attempt_id: UUID, _url: str) -> Grant:
        return Grant(f"{attempt_id}-x", "drop")

    def prepare(self, _grant: Grant, _url: str) -> None: ...

    def output(self, _attempt: UUID, _command: UUID, _uid: int) -> Output | None:
        return self.result

    # The use cases.

    def turn(self, at: float = 10, *, observe: bool = False) -> None:
        """Begin, look and deliver once."""
        self.clock = after(at)
        words = Words(uuid4, encode_ack, encode_result)
        anything: Any = self
        begin = BeginStage(
            api=anything, journal=self.journal, accounts=anything, grants=anything, submission=anything,
            render=lambda _stage: "#!/bin/sh\n", words=words, site=Site("icarus", "staging", "compute"),
            uids=NumberRange(5000000, 5499999), token_user=TokenUsers(None).user,
            events=anything, observe=observe, checkpoint=self.checkpoint,
        )  # fmt: skip
        for stage in self.journal.stages():
            if stage.state is State.RECEIVED:
                begin.run(stage, may_begin=self.journal.feed_state().may_begin, now=after(at))
        look = ObserveJobs(
            anything, self.journal, anything, words, Graces(), "icarus", anything, self.checkpoint
        )
        look.run(now=after(at))
        SendWords(anything, self.journal, anything, self.checkpoint).run()

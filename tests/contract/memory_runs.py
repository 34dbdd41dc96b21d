"""`Runs` in memory, and the others Runs ask, for tests of the wire."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from central.execution.application.ports import (
    Account,
    AccountChanged,
    Authority,
    CommandPage,
    ConsentExpired,
    Holder,
    Listed,
    MemberToken,
    RepositoryCredential,
    RepositoryRefused,
    RunPage,
    RunUnknown,
    Saved,
    StoreCommand,
)
from central.execution.domain.maintenance import Statement
from central.execution.domain.permission import Permission
from central.execution.domain.planning import Lifecycle, Resource
from central.execution.domain.progress import Step
from central.execution.domain.run import Identity, Run, WaitReason
from central.kernel.problems import COMMAND_REUSED, Problem
from central.kernel.site_feed import FeedPage, PositionUnknown

FEED = UUID("00000000-0000-4000-8000-000000000002")


@dataclass
class MemoryRuns:
    """The store. Nothing is copied: Runs are values."""

    runs: dict[UUID, Run] = field(default_factory=dict)
    receipts: dict[UUID, tuple[bytes, UUID]] = field(default_factory=dict)
    feed: list[tuple[str, Listed]] = field(default_factory=list)

    def recorded(self, command: StoreCommand) -> Run | None:
        known = self.receipts.get(command.id)
        if known is None:
            return None
        if known[0] != command.digest:
            raise Problem(COMMAND_REUSED, "used before")
        return self.runs[known[1]]

    def add(self, command: StoreCommand, step: Step) -> Saved:
        self._keep(command, step, step.run.created_at)
        return Saved(step.run, False)

    def move(self, command: StoreCommand, run_id: UUID, step: Callable[[Run], Step], now: datetime) -> Saved:
        earlier = self.recorded(command)
        if earlier is not None:
            return Saved(earlier, True)
        if run_id not in self.runs:
            raise RunUnknown
        after = step(self.runs[run_id])
        self._keep(command, after, now)
        return Saved(after.run, False)

    def by_id(self, run_id: UUID) -> Run | None:
        return self.runs.get(run_id)

    def of_project(self, project: UUID, after: UUID | None, limit: int) -> RunPage:
        mine = sorted(
            (run for run in self.runs.values() if run.request.project_id == project),
            key=lambda run: (run.created_at, run.run_id),
            reverse=True,
        )
        ids = [run.run_id for run in mine]
        if after is not None and after not in ids:
            raise RunUnknown
        rest = mine[ids.index(after) + 1 :] if after is not None else mine
        return RunPage(tuple(rest[:limit]), rest[limit - 1].run_id if len(rest) > limit else None)

    def run_of_command(self, site: str, command: UUID) -> UUID:
        for at, listed in self.feed:
            if at == site and listed.command_id == command:
                return listed.run.run_id
        raise RunUnknown

    def commands(self, site: str, after: int, limit: int, *, unacknowledged: bool) -> CommandPage:
        mine = [listed for at, listed in self.feed if at == site]
        if after > len(mine):
            raise PositionUnknown(FEED, len(mine), after)
        found = [each for each in mine if each.sequence > after]
        found = [
            Listed(e.sequence, e.command_id, e.issued_at, e.action, e.attempt_id, self.runs[e.run.run_id])
            for e in found
        ]
        return FeedPage(FEED, after, tuple(found[:limit]), len(mine), len(found) > limit)

    def _keep(self, command: StoreCommand, step: Step, now: datetime) -> None:
        self.receipts[command.id] = (command.digest, step.run.run_id)
        self.runs[step.run.run_id] = step.run
        site = step.run.request.site
        for each in step.commands:
            place = 1 + sum(at == site for at, _ in self.feed)
            listed = Listed(place, each.command_id, now, each.action, each.attempt.attempt_id, step.run)
            self.feed.append((site, listed))


@dataclass
class Others:
    """Beto, the Sites, allocations, accounts, tokens and the Git host, as a test wants them."""

    project: UUID
    resources_of: Mapping[str, Sequence[Resource]]
    identity: Identity
    denied: set[Permission] = field(default_factory=set)
    observed_at: datetime = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
    consent: bool = True
    open: bool = True
    no_account: Exception | None = None
    has_account: bool = True
    statements: dict[str, Statement] = field(default_factory=dict)
    uses: list[tuple[UUID, Permission, UUID]] = field(default_factory=list)
    repository: WaitReason | None = None
    changed: bool = False
    management: int = 1

    def decide(self, project: UUID, party: UUID, permission: Permission) -> Authority:
        allowed = project == self.project and permission not in self.denied
        return Authority(allowed, self.management, self.observed_at + timedelta(hours=1))

    def note(self, subject: UUID, permission: Permission, actor: UUID, now: datetime) -> None:
        self.uses.append((subject, permission, actor))

    def known(self, site: str) -> bool:
        return site in self.resources_of

    def qualified(self, site: str) -> bool:
        return self.open

    def resources(self, project: UUID, site: str) -> Sequence[Resource]:
        return self.resources_of[site]

    def for_new_work(self, holder: Holder, resource: Resource, now: datetime) -> Account | None:
        if self.no_account is not None:
            raise self.no_account
        return Account(self.identity, self.observed_at) if self.has_account else None

    def confirmed_at(self, run: Run, now: datetime) -> datetime:
        if self.changed:
            raise AccountChanged
        return self.observed_at

    def token(self, party: UUID, site: str, now: datetime) -> MemberToken:
        if not self.consent:
            raise ConsentExpired
        return MemberToken("a-members-own-word", now + timedelta(minutes=5))

    def issue(self, run: Run, purpose: str, *, write_ref: str | None, now: datetime) -> RepositoryCredential:
        if self.repository is not None:
            raise RepositoryRefused(self.repository)
        return RepositoryCredential("pharos-run", "repository-word", now + timedelta(hours=1))

    def of(self, site: str) -> Statement | None:
        return self.statements.get(site)

    def state(self, site: str, statement: Statement, now: datetime) -> bool:
        self.statements[site] = statement
        return True


def ready(allocation: UUID, observed_at: datetime) -> Resource:
    """An allocation with room for the goldens' Run."""
    return Resource(
        allocation,
        "p1-alloc1",
        Lifecycle.READY,
        observed_at,
        {"cpu": 4000, "gpu.gh200": 2, "memory": 1 << 33},
    )

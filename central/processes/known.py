"""`Known` of the operators' page, from the same reads as `show` and `explain` (O1).

A standing follows from the domain's rules alone: how old an allocation's sighting may be (P30), a set of
accounts (P25), a scope's last match with Beto (P14), a recovery pass (P28).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.adapters.run_evidence import RunEvidence
from central.execution.domain.run import Run
from central.grants.adapters.postgres_grants import PostgresGrants
from central.kernel.database import Database
from central.kernel.times import format_rfc3339
from central.processes.explain import key_links
from central.processes.explain_execution import run_links, run_row
from central.processes.explain_provisioning import Ages, account_links, allocation_links
from central.processes.links import Link, rows_of
from central.processes.operator import grant_document
from central.processes.refusals import AllocationUnknown, MemberUnknown, RunUnknown
from central.processes.retention import LIMITS, owners_of
from central.processes.show import account_row, allocation_row
from central.processes.view import scope_row
from central.projects.adapters.view_evidence import ViewEvidence
from central.projects.domain.view import Phase, ScopeView, ViewLimits
from central.provisioning.adapters.account_evidence import AccountEvidence, AccountPlace
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.domain.ids import AllocationId
from central.provisioning.domain.member_account import ALLOCATION_MAX_AGE
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.domain.recovery import Phase as RecoveryPhase
from central.settings import Settings
from central.ssh_access.adapters.key_evidence import KeyCounts, key_counts, keys_of_member
from central.ssh_access.application.ports import KeyUnknown
from central.ssh_access.domain.member_key import MemberKey
from central.web.known import Row, Rows, Want
from central.web.model import Standing


@dataclass(frozen=True, slots=True)
class CentralKnown:
    """The reads, over one database as a role that only reads. Safe to share between threads."""

    settings: Settings
    database: Database

    @property
    def sites(self) -> Sequence[str]:
        """See `Known`."""
        return self.settings.sites

    def view(self, now: datetime) -> Rows:
        """See `Known`."""
        scopes = ViewEvidence(self.database).scopes()
        return Rows([scope_row(one, now) | _scope_standing(one, now) for _, one in sorted(scopes.items())])

    def retention(self, now: datetime) -> Rows:
        """See `Known`."""
        standing = PostgresWork(self.database).recovery()
        missing = standing.missing(owners_of(self.settings), now, LIMITS)
        found = Standing.FRESH if missing is None else Standing.UNAVAILABLE
        if missing is not None and standing.asked_at is None:
            found = Standing.NEVER
        elif missing is not None and standing.phase is RecoveryPhase.STANDING:
            found = Standing.STALE
        row = {
            "phase": standing.phase.value,
            "askedAt": format_rfc3339(standing.asked_at) if standing.asked_at else None,
            "owners": list(standing.owners),
            "unusable": missing,
        }
        return Rows([row | _stands(found)])

    def grants(self, site: str, now: datetime) -> Rows:
        """See `Known`."""
        everything = PostgresGrants(self.database).everything()
        newest = sorted((one for one in everything if one.site == site), key=lambda one: one.issued_at)
        return Rows([grant_document(one, now) for one in reversed(newest)])

    def allocations(self, want: Want, now: datetime) -> Rows:
        """See `Known`."""
        place = AllocationId(UUID(want.after)) if want.after else None
        page = PostgresSavedAllocations(self.database).page_of_site(want.site, place, want.limit)
        rows = [
            allocation_row(saved, now) | _aged(saved.last_seen, now, ALLOCATION_MAX_AGE)
            for saved in page.allocations
        ]
        return Rows([_standing_of(row) for row in rows], str(page.next) if page.next else None)

    def accounts(self, want: Want, now: datetime) -> Rows:
        """See `Known`."""
        place = _place(want.after) if want.after else AccountPlace()
        found = AccountEvidence(self.database).of_site(want.site, place, want.limit + 1)
        max_age = self.settings.account_max_age
        rows = [
            account_row(one.account, want.site, one.observed_at, max_age, now)
            | _aged(one.observed_at, now, max_age)
            for one in found[: want.limit]
        ]
        following = (
            _place_text(AccountPlace.of(found[want.limit - 1].account)) if len(found) > want.limit else None
        )
        return Rows([_standing_of(row) for row in rows], following)

    def keys(self, want: Want) -> Rows:
        """See `Known`."""
        found = key_counts(self.database, want.site, want.after or "", want.limit + 1)
        following = found[want.limit - 1].member if len(found) > want.limit else None
        return Rows([_counts(one) for one in found[: want.limit]], following)

    def keys_of(self, site: str, member: str) -> Rows:
        """See `Known`."""
        return Rows([_key(one) for one in keys_of_member(self.database, site, member)])

    def runs(self, want: Want, now: datetime) -> Rows:
        """See `Known`."""
        place = UUID(want.after) if want.after else None
        found = RunEvidence(self.database).page_of_site(want.site, place, want.limit + 1)
        following = str(found[want.limit - 1].run_id) if len(found) > want.limit else None
        shown = found[: want.limit]
        runs = PostgresRuns(self.database).by_ids([one.run_id for one in shown])
        return Rows([run_row(one, now) | _progress(runs[one.run_id]) for one in shown], following)

    def explain_allocation(self, allocation: UUID, now: datetime) -> Sequence[Row] | None:
        """See `Known`."""
        ages = Ages(now, self.settings.account_max_age)
        return _unless(AllocationUnknown, lambda: allocation_links(self.database, allocation, ages))

    def explain_account(self, site: str, member: str, now: datetime) -> Sequence[Row] | None:
        """See `Known`."""
        ages = Ages(now, self.settings.account_max_age)
        return _unless(MemberUnknown, lambda: account_links(self.database, site, member, ages))

    def explain_key(self, key: UUID, now: datetime) -> Sequence[Row] | None:
        """See `Known`."""
        return _unless(KeyUnknown, lambda: key_links(self.database, key, now))

    def explain_run(self, run: UUID, now: datetime) -> Sequence[Row] | None:
        """See `Known`."""
        return _unless(RunUnknown, lambda: run_links(self.settings, self.database, run, now))


def _unless(unknown: type[Exception], read: Callable[[], Sequence[Link]]) -> Sequence[Row] | None:
    try:
        return rows_of(read())
    except unknown:
        return None


def _stands(standing: Standing, since: datetime | None = None) -> dict[str, Any]:
    return {"standing": standing.value, "staleSince": format_rfc3339(since) if since else None}


def _aged(at: datetime, now: datetime, limit: timedelta) -> dict[str, Any]:
    """Since when evidence of that time is stale, if it is; one from ahead of our clock never was fresh."""
    since = at + limit
    return {"staleSince": format_rfc3339(since) if since <= now else None}


def _standing_of(row: dict[str, Any]) -> Row:
    """What the row's own `fresh` says, in the page's word."""
    return row | {"standing": (Standing.FRESH if row["fresh"] else Standing.STALE).value}


def _scope_standing(view: ScopeView, now: datetime) -> dict[str, Any]:
    limits = ViewLimits()
    if view.unusable(now, limits) is None:
        return _stands(Standing.FRESH)
    if view.checked_at is None:
        return _stands(Standing.NEVER)
    if view.phase is not Phase.CURRENT:
        return _stands(Standing.UNAVAILABLE)
    return _stands(Standing.STALE, view.checked_at + limits.stale_after)


def _counts(counts: KeyCounts) -> Row:
    return {
        "member": counts.member,
        "accounts": counts.accounts,
        "active": counts.active,
        "pending": counts.pending,
        "removing": counts.removing,
        "removed": counts.removed,
        "held": counts.held,
        "refused": counts.refused,
        "reportedAt": format_rfc3339(counts.reported_at) if counts.reported_at else None,
    }


def _key(key: MemberKey) -> Row:
    return {
        "keyId": str(key.key_id),
        "name": key.name,
        "type": key.public_key.key_type,
        "fingerprint": key.public_key.fingerprint,
        "state": key.state.value,
        "reason": key.reason,
        "addedAt": format_rfc3339(key.added_at),
        "reportedAt": format_rfc3339(key.reported_at) if key.reported_at else None,
    }


def _progress(run: Run) -> dict[str, Any]:
    """The stage a Run is at, and the latest verdict."""
    stages = run.attempt.stages
    reached = [one for one in stages if one.issues] or list(stages[:1])
    stage = reached[-1] if run.ended else run.attempt.open_stage or stages[-1]
    verdicts = [one.result.verdict.value for one in stages if one.result is not None]
    return {
        "stage": stage.name.value,
        "stageState": stage.state.value,
        "verdict": verdicts[-1] if verdicts else None,
    }


def _place(text: str) -> AccountPlace:
    """A place a list gave out. `ValueError` for any other text."""
    parts = text.split("_", 4)
    if len(parts) != 5:
        raise ValueError("no place in a list of accounts")
    allocation, party, binding, generation, native_uid = parts
    number = int(generation)
    if not 0 <= number < 2**63 or "\x00" in native_uid:
        raise ValueError("no place in a list of accounts")
    return AccountPlace(UUID(allocation), UUID(party), UUID(binding), number, native_uid)


def _place_text(place: AccountPlace) -> str:
    named = (place.allocation, place.party, place.binding, place.generation, place.native_uid)
    return "_".join(map(str, named))

"""The decision of a pass: each allocation's resource report and, where everything was readable, its complete
set of accounts (S8, P2, P12, P21).

One allocation that cannot be decided takes no other with it: it has a fault, and ages at central.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from site_bundle.reporter.domain.accounts import Decided, UnreadableSetError, decide_accounts
from site_bundle.reporter.domain.amounts import Amounts, counted, lowered, node_capacity
from site_bundle.reporter.domain.policy import Policy
from site_bundle.reporter.domain.sources import Row, RowState, Slurm, SlurmAccount, Sources

EMPTY = "directory_empty"


@dataclass(frozen=True, slots=True)
class ResourceReport:
    """One resource of a report (docs/wire.md). None: not known."""

    resource_id: UUID
    project_id: UUID
    native_name: str | None
    state: RowState
    paused: bool
    configured: Amounts | None
    applied: Amounts | None
    used: Amounts | None


@dataclass(frozen=True, slots=True)
class AccountSet:
    """The accounts of one allocation, whole."""

    resource_id: UUID
    decided: Decided


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an allocation has no account report, or no limits; `code` of a closed set. `name`: the member it is
    about, for the operator.
    """

    code: str
    resource: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Resources in the order of their ids; sets only where complete. Faults with `waiting` heal by themselves
    as the platform goes on.
    """

    resources: tuple[ResourceReport, ...]
    sets: tuple[AccountSet, ...]
    faults: tuple[Fault, ...]
    waiting: tuple[Fault, ...]


def decide(sources: Sources, policy: Policy) -> Decision:
    """Pure: the same sources give the same decision."""
    rows = sorted(sources.listing.rows, key=lambda row: row.resource_id)
    live = Counter(row.account for row in rows if row.account and row.state is not RowState.TERMINATED)
    limits = _Limits.of(sources.slurm, policy)
    resources: list[ResourceReport] = []
    sets: list[AccountSet] = []
    faults = [Fault("row_unreadable", name) for name in sources.listing.unreadable]
    waiting: list[Fault] = []
    for row in rows:
        shared = row.account is not None and live[row.account] > 1
        account, fault = _account_of(row, sources.slurm, policy, shared=shared)
        report, more = _resource(row, account, limits, known=not fault)
        resources.append(report)
        name = str(row.resource_id)
        faults += [Fault(code, name) for code in (fault, more) if code]
        if fault or row.account is None or row.state is RowState.TERMINATED:
            continue
        found, held, waits, whose = _accounts(row, account, sources, policy)
        sets += [AccountSet(row.resource_id, found)] if found is not None else []
        (waiting if waits else faults).extend([Fault(held, name, whose)] if held else [])
    return Decision(tuple(resources), tuple(sets), tuple(faults), tuple(waiting))


def _account_of(row: Row, slurm: Slurm, policy: Policy, *, shared: bool) -> tuple[SlurmAccount | None, str]:
    """The allocation's Slurm account, None for proven absent; and what forbids to speak of it."""
    if row.account is None or row.state is RowState.TERMINATED:
        return None, ""
    if shared:
        return None, "account_shared"
    account = slurm.accounts.get(row.account)
    if account is None:
        return None, ""
    above = [item.name for item in slurm.chain(row.account)]
    return (account, "") if policy.parent_account in above[1:] else (None, "account_outside_parent")


@dataclass(frozen=True, slots=True)
class _Limits:
    """What one compute node gives, and what the running jobs of each account and of those below it hold."""

    slurm: Slurm
    declared: Amounts
    capacity: Amounts
    held: Mapping[str, list[Amounts | None]]

    @classmethod
    def of(cls, slurm: Slurm, policy: Policy) -> _Limits:
        held: dict[str, list[Amounts | None]] = {}
        for name, jobs in slurm.jobs.items():
            for account in slurm.chain(name):
                held.setdefault(account.name.lower(), []).extend(jobs)
        offered = node_capacity(slurm.nodes, policy.capacity)
        known = {name: amount for name, amount in offered.items() if name in slurm.known}
        return cls(slurm, policy.capacity, known, held)

    def amounts(self, account: SlurmAccount | None) -> tuple[Amounts | None, Amounts | None, str]:
        """Applied and used, and what was unreadable. Without the account nothing is applied, which is not the
        same as not known.
        """
        if account is None:
            return {}, None, ""
        chain = [item.limits for item in self.slurm.chain(account.name.lower())]
        readable = [limits for limits in chain if limits is not None]
        if len(readable) != len(chain) or account.limits is None:
            return None, None, "limits_unreadable"
        applied = lowered(self.capacity, readable)
        jobs = self.held.get(account.name.lower(), [])
        held = [job for job in jobs if job is not None]
        if len(held) != len(jobs):
            return applied, None, "usage_unreadable"
        try:
            used = counted(self.capacity, account.limits, held)
        except ValueError:
            return applied, None, "usage_unreadable"
        return applied, used, ""


def _resource(
    row: Row, account: SlurmAccount | None, limits: _Limits, *, known: bool
) -> tuple[ResourceReport, str]:
    """The report of a row, and what was unreadable of its limits. `known`: of its account can be spoken."""
    applied, used, code = None, None, ""
    named = row.account is not None
    if named and known and row.state is not RowState.TERMINATED:
        applied, used, code = limits.amounts(account)
    report = ResourceReport(
        resource_id=row.resource_id,
        project_id=row.project_id,
        native_name=row.account,
        state=row.state,
        paused=row.paused,
        configured=limits.declared if named else None,
        applied=applied,
        used=used,
    )
    return report, code


def _accounts(
    row: Row, account: SlurmAccount | None, sources: Sources, policy: Policy
) -> tuple[Decided | None, str, bool, str]:
    """The complete set, or why there is none, whether that heals by itself, and whom it is about."""
    if sources.directory is None:
        return None, "directory_unavailable", False, ""
    if sources.applied and not (sources.directory.people and sources.directory.group_ids):
        # Nobody at all, or no group, where both were proven before: hidden, until the contrary is seen (B06).
        return None, EMPTY, False, ""
    if row.project_id not in sources.projects:
        return None, "members_unavailable", False, ""
    project = sources.projects[row.project_id]
    if project is None:
        return None, "project_unknown", True, ""
    here = account or SlurmAccount(row.account or "", "", {}, ())
    try:
        decided = decide_accounts(
            here,
            directory=sources.directory,
            project=project,
            retained=sources.retained,
            applied=sources.applied,
            policy=policy,
        )
    except UnreadableSetError as error:
        return None, error.code, False, error.name
    return decided, "", False, ""

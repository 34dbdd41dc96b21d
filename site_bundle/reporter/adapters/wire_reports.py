"""Reports to the Site intake and their receipts, schema 1 (docs/wire.md; X10): exact in, byte-stable out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from site_bundle.kernel.documents import Between, Length, Matching, write_document
from site_bundle.kernel.strict_json import decode_object
from site_bundle.kernel.times import parse_time, render_time
from site_bundle.reporter.application.make_reports import ACCOUNT_SETS, ACCOUNTS, REPORTS
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.domain.accounts import Account
from site_bundle.reporter.domain.decide import ResourceReport

MAX_RESOURCES = 1000
MAX_ACCOUNTS_BYTES = 8 * 1024 * 1024
MAX_SETS = 1000

Count = Annotated[int, Between(0, 2**63 - 1)]
Positive = Annotated[int, Between(1, 2**63 - 1)]
Code = Annotated[str, Matching(r"[a-z][a-z0-9_]{0,63}")]
AmountsBody = dict[str, Count]


@dataclass(frozen=True, slots=True)
class ResourceBody:
    resource_id: UUID
    offering_id: UUID
    provider_project_ref: str
    native_name: str | None
    state: str
    paused: bool
    configured: AmountsBody | None
    applied: AmountsBody | None
    used: AmountsBody | None


@dataclass(frozen=True, slots=True)
class ReportBody:
    schema: Literal[1]
    report_id: UUID
    observed_at: str
    resources: tuple[ResourceBody, ...]


@dataclass(frozen=True, slots=True)
class AccountBody:
    party_id: UUID
    name: str
    native_uid: str
    uid_number: int | None
    binding_id: UUID
    generation: int
    state: str


@dataclass(frozen=True, slots=True)
class AccountsBody:
    schema: Literal[1]
    report_id: UUID
    observed_at: str
    allocation_id: UUID
    accounts: tuple[AccountBody, ...]


@dataclass(frozen=True, slots=True)
class AccountSetBody:
    allocation_id: UUID
    accounts: tuple[AccountBody, ...]


@dataclass(frozen=True, slots=True)
class AccountSetsBody:
    schema: Literal[1]
    report_id: UUID
    observed_at: str
    sets: tuple[AccountSetBody, ...]


@dataclass(frozen=True, slots=True)
class OutcomeBody:
    resource_id: UUID
    allocation_id: UUID | None
    outcome: Literal["changed", "seen", "unchanged", "stale_report", "conflicting_report", "refused"]
    revision: Positive | None
    code: Code | None


@dataclass(frozen=True, slots=True)
class OutcomesBody:
    schema: Literal[1]
    report_id: UUID
    received_at: str
    outcomes: Annotated[tuple[OutcomeBody, ...], Length(0, MAX_RESOURCES)]

    def checked(self, report_id: UUID) -> datetime:
        """`receivedAt`; ValueError when the answer is not that of the report."""
        return _received(self, report_id)


@dataclass(frozen=True, slots=True)
class SetOutcomeBody:
    allocation_id: UUID
    outcome: Literal["recorded", "unchanged", "stale_report", "conflicting_report", "refused"]
    code: Literal["allocation_unknown", "account_name_invalid", "state_corrupt"] | None


@dataclass(frozen=True, slots=True)
class SetOutcomesBody:
    schema: Literal[1]
    report_id: UUID
    received_at: str
    outcomes: Annotated[tuple[SetOutcomeBody, ...], Length(1, MAX_SETS)]

    def checked(self, report_id: UUID) -> datetime:
        """As above."""
        return _received(self, report_id)


def _received(answer: OutcomesBody | SetOutcomesBody, report_id: UUID) -> datetime:
    if answer.report_id != report_id:
        raise ValueError("the answer to another report")
    if any((item.outcome == "refused") is (item.code is None) for item in answer.outcomes):
        raise ValueError("a refusal without a code, or a code without a refusal")
    return parse_time(answer.received_at)


@dataclass(frozen=True, slots=True)
class AccountsReceiptBody:
    schema: Literal[1]
    report_id: UUID
    allocation_id: UUID
    outcome: Literal["recorded", "unchanged"]
    accounts: Count
    received_at: str

    def checked(self, report_id: UUID) -> datetime:
        """As above."""
        if self.report_id != report_id:
            raise ValueError("the answer to another report")
        return parse_time(self.received_at)


def encode_report(
    report_id: UUID, observed_at: datetime, offering_id: UUID, resources: Sequence[ResourceReport]
) -> bytes:
    """The body of `POST …/reports`."""
    bodies = tuple(
        ResourceBody(
            resource_id=item.resource_id,
            offering_id=offering_id,
            provider_project_ref=str(item.project_id),
            native_name=item.native_name,
            state=item.state.value,
            paused=item.paused,
            configured=_amounts(item.configured),
            applied=_amounts(item.applied),
            used=_amounts(item.used),
        )
        for item in resources
    )
    return write_document(ReportBody(1, report_id, render_time(observed_at), bodies))


class SetEncoding:
    """The bodies of `POST …/account-sets` and `POST …/accounts`: the port `EncodeSets`."""

    def one(self, allocation: UUID, accounts: Sequence[Account]) -> bytes:
        return write_document(AccountSetBody(allocation, _accounts(accounts)))

    def few(self, report_id: UUID, observed_at: datetime, sets: Sequence[bytes]) -> bytes:
        frame = write_document(AccountSetsBody(1, report_id, render_time(observed_at), ()))
        return frame.removesuffix(b"]}") + b",".join(sets) + b"]}"

    def alone(
        self, report_id: UUID, observed_at: datetime, allocation: UUID, accounts: Sequence[Account]
    ) -> bytes:
        return write_document(
            AccountsBody(1, report_id, render_time(observed_at), allocation, _accounts(accounts))
        )


def _accounts(accounts: Sequence[Account]) -> tuple[AccountBody, ...]:
    return tuple(
        AccountBody(
            party_id=item.party_id,
            name=item.name,
            native_uid=item.native_uid,
            uid_number=item.uid_number,
            binding_id=item.identity.binding_id,
            generation=item.identity.generation,
            state="ready" if item.ready else "incomplete",
        )
        for item in accounts
    )


def _amounts(amounts: object) -> AmountsBody | None:
    return dict(sorted(amounts.items())) if isinstance(amounts, dict) else None


def halves(report: Report, new_id: Callable[[], UUID]) -> Sequence[Report]:
    """A report of resources or of several sets as two, under ids of their own. A set of accounts is complete
    or not at all: one that is left goes by itself, and then cannot be halved.
    """
    if report.kind == REPORTS:
        body = decode_object(report.body, ReportBody, max_bytes=MAX_ACCOUNTS_BYTES)
        middle = len(body.resources) // 2
        parts = (body.resources[:middle], body.resources[middle:]) if middle else ()
        return [_part(report, replace(body, report_id=new_id(), resources=one)) for one in parts]
    if report.kind != ACCOUNT_SETS:
        return ()
    sets = decode_object(report.body, AccountSetsBody, max_bytes=MAX_ACCOUNTS_BYTES)
    if len(sets.sets) == 1:
        (one,) = sets.sets
        single = AccountsBody(1, new_id(), sets.observed_at, one.allocation_id, one.accounts)
        return [_part(report, single, kind=ACCOUNTS)]
    middle = len(sets.sets) // 2
    return [
        _part(report, replace(sets, report_id=new_id(), sets=few), subjects=subjects)
        for few, subjects in (
            (sets.sets[:middle], report.subjects[:middle]),
            (sets.sets[middle:], report.subjects[middle:]),
        )
    ]


def _part(
    report: Report,
    body: ReportBody | AccountSetsBody | AccountsBody,
    *,
    kind: str = "",
    subjects: tuple[str, ...] | None = None,
) -> Report:
    about = report.subjects if subjects is None else subjects
    return Report(body.report_id, kind or report.kind, about, report.observed_at, write_document(body))

"""Bodies of docs/wire.md "Site intake" about accounts, schema 1, fields in the wire's order (X4, X10)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from msgspec import Meta, Struct

from central.kernel.times import format_rfc3339
from central.provisioning.application.account_ports import AccountReport
from central.provisioning.domain.account import AccountState
from central.provisioning.domain.account_report import AccountsOutcome, AccountsRefusal, Told
from central.provisioning.entrypoints.wire import SCHEMA, Schema

ACCOUNTS_BYTES_MAX: Final = 8_388_608
SETS_MAX: Final = 1_000
SETS_BYTES_MAX: Final = 1_048_576


class AccountBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """One account of a report. Texts are checked by `entrypoints.account_reports`."""

    party_id: str
    name: str
    native_uid: str
    uid_number: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None
    binding_id: str
    generation: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    state: AccountState


class AccountReportBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST /resource-provisioning/<site>/accounts`."""

    schema: Schema
    report_id: str
    observed_at: str
    allocation_id: str
    accounts: list[AccountBody]


class AccountSetBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """One allocation's complete set among several."""

    allocation_id: str
    accounts: list[AccountBody]


class AccountSetsReportBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST /resource-provisioning/<site>/account-sets`."""

    schema: Schema
    report_id: str
    observed_at: str
    sets: Annotated[list[AccountSetBody], Meta(min_length=1)]


class SetOutcomeBody(Struct, frozen=True, gc=False, rename="camel"):
    """What a report was told about one set. A refusal has a `code`."""

    allocation_id: UUID
    outcome: str
    code: str | None


class SetOutcomesBody(Struct, frozen=True, gc=False, rename="camel"):
    """The answer to a report of several sets, one outcome a set, in order."""

    schema: Schema
    report_id: UUID
    received_at: str
    outcomes: list[SetOutcomeBody]


class AccountReceiptBody(Struct, frozen=True, gc=False, rename="camel"):
    """The answer to a report that counts."""

    schema: Schema
    report_id: UUID
    allocation_id: UUID
    outcome: AccountsOutcome
    accounts: int
    received_at: str


def account_receipt(
    report_id: UUID, allocation_id: UUID, outcome: AccountsOutcome, accounts: int, received_at: datetime
) -> AccountReceiptBody:
    """The answer to a report."""
    return AccountReceiptBody(
        SCHEMA, report_id, allocation_id, outcome, accounts, format_rfc3339(received_at)
    )


def set_outcomes(report: AccountReport, told: Sequence[Told], received_at: datetime) -> SetOutcomesBody:
    """The answer to a report of several sets."""
    outcomes = [
        _set_outcome(found.allocation_id, answer) for found, answer in zip(report.sets, told, strict=True)
    ]
    return SetOutcomesBody(SCHEMA, report.report_id, format_rfc3339(received_at), outcomes)


def _set_outcome(allocation_id: UUID, told: Told) -> SetOutcomeBody:
    match told:
        case AccountsOutcome.RECORDED | AccountsOutcome.UNCHANGED:
            return SetOutcomeBody(allocation_id, told.value, None)
        case AccountsRefusal.STALE_REPORT | AccountsRefusal.CONFLICTING_REPORT:
            return SetOutcomeBody(allocation_id, told.value, None)
        case (
            AccountsRefusal.ALLOCATION_UNKNOWN
            | AccountsRefusal.ACCOUNT_NAME_INVALID
            | AccountsRefusal.STATE_CORRUPT
        ):
            return SetOutcomeBody(allocation_id, "refused", told.value)
        case AccountsRefusal.OBSERVED_IN_FUTURE:
            raise AssertionError("a report from the future is refused as a whole")

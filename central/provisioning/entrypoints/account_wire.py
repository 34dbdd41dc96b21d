"""Bodies of docs/wire.md "Site intake" about accounts, schema 1, fields in the wire's order (X4, X10)."""

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from msgspec import Meta, Struct

from central.kernel.times import format_rfc3339
from central.provisioning.domain.account import AccountState
from central.provisioning.domain.account_report import AccountsOutcome
from central.provisioning.entrypoints.wire import SCHEMA, Schema

ACCOUNTS_BYTES_MAX: Final = 8_388_608


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

"""What the use cases of native accounts need from outside. What cannot be read raises `Unavailable` (X1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.kernel.site_names import Site
from central.provisioning.domain.account import Account
from central.provisioning.domain.account_report import AccountsOutcome, AccountsRefusal
from central.provisioning.domain.confirmation import PartyAccounts
from central.provisioning.domain.ids import AllocationId
from central.provisioning.domain.observation import Content


@dataclass(frozen=True, slots=True)
class AccountReport:
    """The complete set of one allocation's accounts. `content` names all it says but its time and id.

    `observed_at` is before the first read the report speaks of, in UTC. `accounts` makes the accounts, of
    distinct native UIDs, on demand: of an unchanged set none is ever needed.
    """

    report_id: UUID
    site: Site
    allocation_id: AllocationId
    observed_at: datetime
    accounts: Callable[[], Sequence[Account]]
    content: Content


class NativeAccounts(Protocol):
    """The Sites' complete sets, in one database."""

    def replace(self, report: AccountReport, now: datetime) -> AccountsOutcome | AccountsRefusal:
        """Takes a report whole or not at all, in one transaction with its receipt (P21, X7).

        An unchanged set is renewed in one statement. The same report again is told what it was told before
        and renews nothing. Raises `Problem(COMMAND_REUSED)` if its id was another report's.
        """
        ...


class AccountReads(Protocol):
    """Validated reads of what Sites confirmed: what contradicts itself is `CorruptState` (P24)."""

    def of_party(self, allocation: AllocationId, site: Site, party: UUID) -> PartyAccounts | None:
        """The Party's accounts in the allocation's saved set, with its time, in one statement.

        None if no set of the allocation was ever saved.
        """
        ...

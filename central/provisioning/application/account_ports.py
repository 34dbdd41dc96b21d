"""What the use cases of native accounts need from outside. What cannot be read raises `Unavailable` (X1)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.kernel.site_names import Site
from central.provisioning.domain.account import Account
from central.provisioning.domain.account_report import AccountsRefusal, Told
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.confirmation import PartyAccounts
from central.provisioning.domain.ids import AllocationId
from central.provisioning.domain.observation import Content


@dataclass(frozen=True, slots=True)
class AccountSet:
    """The complete set of one allocation's accounts. `content` names all it says.

    `accounts` makes the accounts, of distinct native UIDs, on demand: of an unchanged set none is ever
    needed. `refused`: the set cannot be taken, whatever is saved.
    """

    allocation_id: AllocationId
    accounts: Callable[[], Sequence[Account]]
    content: Content
    refused: AccountsRefusal | None = None


@dataclass(frozen=True, slots=True)
class AccountReport:
    """One observation of complete sets, each allocation's once. `observed_at` is before the first read the
    report speaks of, in UTC.
    """

    report_id: UUID
    site: Site
    observed_at: datetime
    sets: Sequence[AccountSet]


class NativeAccounts(Protocol):
    """The Sites' complete sets, in one database."""

    def replace(self, report: AccountReport, now: datetime) -> Told:
        """Takes a report of one set whole or not at all, in one transaction with its receipt (P21, X7).

        An unchanged set is renewed in one statement. The same report again is told what it was told before
        and renews nothing; of a refused one nothing is kept. Raises `Problem(COMMAND_REUSED)` if its id was
        another report's.
        """
        ...

    def replace_each(self, report: AccountReport, now: datetime) -> Sequence[Told]:
        """Takes each set of a report whole or not at all, all of them in one transaction with the receipt,
        which names the refused ones too: what each was told, in order (P12, P21, X7).

        The number of statements does not grow with the sets. Raises as `replace`.
        """
        ...


class AccountReads(Protocol):
    """Validated reads of what Sites confirmed: what contradicts itself is `CorruptState` (P24)."""

    def of_party(self, allocation: AllocationId, site: Site, party: UUID) -> PartyAccounts | None:
        """The Party's accounts in the allocation's saved set, with its time, in one statement.

        None if no set of the allocation was ever saved.
        """
        ...


@dataclass(frozen=True, slots=True)
class AllocationEvidence:
    """An allocation, and what its set holds of the Party; None if no set of it was ever saved."""

    saved: Saved
    found: PartyAccounts | None


class MemberAccountReads(Protocol):
    """What Sites reported about one person, validated; each answer is read in one statement (P30)."""

    def of_projects(
        self, site: Site, projects: Collection[UUID], party: UUID
    ) -> Sequence[AllocationEvidence]:
        """Every allocation of these Projects at the Site, in the order of their ids."""
        ...

    def at_site(self, site: Site, party: UUID) -> Sequence[PartyAccounts | None]:
        """What the set of every allocation at the Site holds of the Party, in the order of their ids."""
        ...

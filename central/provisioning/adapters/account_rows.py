"""Rows of native accounts as domain values. Rows at odds with each other are `CorruptState` (P24)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.kernel.times import stored_instant
from central.provisioning.domain.account import Account, AccountState
from central.provisioning.domain.account_report import SavedSet
from central.provisioning.domain.confirmation import PartyAccounts
from central.provisioning.domain.observation import Content

STATES: Final = {AccountState.READY: "r", AccountState.INCOMPLETE: "i"}
"""How a present account's state is stored."""

_STORED: Final = {letter: state for state, letter in STATES.items()}


@dataclass(frozen=True, slots=True)
class RenewedSet:
    """`renew_set`."""

    version: int
    kept: int


@dataclass(frozen=True, slots=True)
class MissedSet:
    """`renew_sets`: where in the report a set stands that was not renewed."""

    position: int


@dataclass(frozen=True, slots=True)
class AccountReceiptRow:
    """`account_report`."""

    digest: bytes
    outcome: str


@dataclass(frozen=True, slots=True)
class StandingSet:
    """`standing_sets`."""

    known: bool
    site: str | None
    version: int | None
    content: UUID | None
    observed_at: datetime | None

    def saved(self, site: Site) -> SavedSet | None:
        """The set that stands; None if there never was one."""
        if self.site is None or self.version is None or self.content is None or self.observed_at is None:
            return None
        if self.site != site and self.known:
            raise CorruptState("a set of accounts belongs to another Site than its allocation")
        return SavedSet(self.version, Content(self.content.hex), stored_instant(self.observed_at))


@dataclass(frozen=True, slots=True)
class PartyRow:
    """`accounts_of_party`: the set, with one account of the Party or none."""

    site: str | None
    observed_at: datetime | None
    accounts: int | None
    present: int
    party_id: UUID | None
    binding_id: UUID | None
    generation: int | None
    native_uid: str | None
    name: str | None
    uid_number: int | None
    state: str | None

    def account(self) -> Account | None:
        """The account of the row, None where the Party has none."""
        if self.party_id is None or self.binding_id is None or self.generation is None:
            return None
        state = _STORED.get(self.state or "")
        if state is None or not self.native_uid or not self.name:
            raise CorruptState(f"an account of party {self.party_id} is stored in a state nobody writes")
        return Account(
            party_id=self.party_id,
            name=self.name,
            native_uid=self.native_uid,
            uid_number=self.uid_number,
            binding_id=self.binding_id,
            generation=self.generation,
            state=state,
        )


def party_accounts(rows: Sequence[PartyRow], site: Site) -> PartyAccounts | None:
    """The rows of one read; None if the allocation never had a set."""
    first = rows[0]
    if first.site is None or first.observed_at is None:
        if first.present:
            raise CorruptState("an allocation has accounts but no set of them")
        return None
    if first.site != site:
        raise CorruptState("a set of accounts belongs to another Site than its allocation")
    if first.present != first.accounts:
        raise CorruptState(f"{first.present} accounts are stored of a set of {first.accounts}")
    accounts = [account for row in rows if (account := row.account()) is not None]
    return PartyAccounts(stored_instant(first.observed_at), accounts)

"""Whether the Site confirms one exact account (P24, P25): pure, from what was last reported.

In this order, the first that holds:

1. The allocation is not the Project's, not at that Site, or retired: `not_confirmed`.
2. No complete set of the allocation was ever saved: `not_reported`.
3. The set is as old as the limit or older, or further ahead of our clock than is accepted: `stale_report`.
4. One ready account of exactly this Party, binding and generation: confirmed. Several: `not_confirmed`.
5. One that is not ready yet: `incomplete`.
6. The Party's account under this binding, but of another generation: `generation_pending`.
7. Anything else: `not_confirmed`, for the set is complete and does not hold it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from central.kernel.site_names import Site
from central.kernel.times import AHEAD_MAX
from central.provisioning.domain.account import Account, AccountState
from central.provisioning.domain.allocation import Allocation, Lifecycle
from central.provisioning.domain.ids import AllocationId


@dataclass(frozen=True, slots=True)
class AccountKey:
    """Names one account as accepted work saves it: it still answers after the member left."""

    allocation_id: AllocationId
    project_id: UUID
    site: Site
    party_id: UUID
    binding_id: UUID
    generation: int


@dataclass(frozen=True, slots=True)
class PartyAccounts:
    """What the saved set of an allocation holds of one Party, read together with when the Site looked."""

    observed_at: datetime
    accounts: Sequence[Account]


class Unconfirmed(StrEnum):
    """Why an account is not confirmed."""

    NOT_REPORTED = "not_reported"
    STALE_REPORT = "stale_report"
    INCOMPLETE = "incomplete"
    NOT_CONFIRMED = "not_confirmed"
    GENERATION_PENDING = "generation_pending"


@dataclass(frozen=True, slots=True)
class AccountUnconfirmed:
    """The Site does not confirm the account now. `observed_at` is the set's, None where none counts."""

    reason: Unconfirmed
    observed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConfirmedAccount:
    """The account exists at the Site; `name` is the reported one, never derived."""

    name: str
    native_uid: str
    uid_number: int | None
    observed_at: datetime


Confirmation = ConfirmedAccount | AccountUnconfirmed


def fresh(observed_at: datetime, now: datetime, max_age: timedelta) -> bool:
    """Whether evidence of `observed_at` may be used: at the limit it is stale, 5 s ahead it is not (E13)."""
    age = now - observed_at
    return -AHEAD_MAX <= age < max_age


def belongs(allocation: Allocation | None, key: AccountKey) -> bool:
    """Rule 1."""
    return (
        allocation is not None
        and allocation.site == key.site
        and allocation.facts.project_id == key.project_id
        and allocation.lifecycle is not Lifecycle.RETIRED
    )


def confirm(found: PartyAccounts | None, key: AccountKey, now: datetime, max_age: timedelta) -> Confirmation:
    """Rules 2 to 7."""
    if found is None:
        return AccountUnconfirmed(Unconfirmed.NOT_REPORTED)
    if not fresh(found.observed_at, now, max_age):
        return AccountUnconfirmed(Unconfirmed.STALE_REPORT, found.observed_at)
    bound = [
        one for one in found.accounts if (one.party_id, one.binding_id) == (key.party_id, key.binding_id)
    ]
    exact = [one for one in bound if one.generation == key.generation]
    ready = [one for one in exact if one.state is AccountState.READY]
    if len(ready) == 1:
        account = ready[0]
        return ConfirmedAccount(account.name, account.native_uid, account.uid_number, found.observed_at)
    if ready or not bound:
        return AccountUnconfirmed(Unconfirmed.NOT_CONFIRMED, found.observed_at)
    reason = Unconfirmed.INCOMPLETE if exact else Unconfirmed.GENERATION_PENDING
    return AccountUnconfirmed(reason, found.observed_at)

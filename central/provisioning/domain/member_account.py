"""The one account of a member at a Site, from everything the Site's reports hold of it (P30): pure.

1. A member may use a Site where a Project they are in has an allocation that is `ready` or `changing` and was
   seen lately. A stale one proves nothing either way.
2. Ready accounts under the Party's site binding count, under any generation that is asked for.
3. Each must have the binding's username and a numeric UID, which is never inferred, and all must be one
   account of the host: anything else is a doubt, and a doubt defers. A member has one in the directory and an
   association in each allocation, so native UIDs are compared up to their first `/`.
4. None counts: proven absent only if every set that was looked at is complete, recent, and holds nothing of
   this binding, not even unfinished or of another generation.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from central.provisioning.domain.account import AccountState
from central.provisioning.domain.allocation import Lifecycle, Saved
from central.provisioning.domain.confirmation import PartyAccounts, fresh

ALLOCATION_MAX_AGE: Final = timedelta(minutes=15)
"""From this age on, an allocation's last sighting says nothing about who may use it (P30)."""

_USABLE: Final = frozenset({Lifecycle.READY, Lifecycle.CHANGING})


@dataclass(frozen=True, slots=True)
class HeldName:
    """The name Beto's site binding gives a Party at a Site. `active`: the binding is established."""

    party_id: UUID
    binding_id: UUID
    username: str
    active: bool


@dataclass(frozen=True, slots=True)
class MemberAccount:
    """The account, as every counting report agrees."""

    username: str
    uid_number: int
    native_uid: str
    """What all of the Site's native UIDs of this account begin with: at a Slurm Site the entryUUID."""


class NoMemberAccount(StrEnum):
    """Proven: the member has none."""

    NOT_ELIGIBLE = "not_eligible"
    ACCOUNT_ABSENT = "account_absent"


@dataclass(frozen=True, slots=True)
class Doubt:
    """It cannot be known now; `reason` is for people and names no one.

    `awaits_site`: the Site's next reports are all that is wanted.
    """

    reason: str
    awaits_site: bool = False


MemberAccountAnswer = MemberAccount | NoMemberAccount | Doubt


@dataclass(frozen=True, slots=True)
class Evidence:
    """One allocation's set as far as it holds the Party. `generations` count; None counts every one."""

    found: PartyAccounts | None
    generations: Collection[int] | None


class Usable(StrEnum):
    """Whether an allocation makes its Project's members eligible."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def usable(saved: Saved, now: datetime) -> Usable:
    """Rule 1 for one allocation."""
    if saved.allocation.lifecycle is Lifecycle.RETIRED:
        return Usable.NO
    if not fresh(saved.last_seen, now, ALLOCATION_MAX_AGE):
        return Usable.UNKNOWN
    return Usable.YES if saved.allocation.lifecycle in _USABLE else Usable.NO


def one_account(
    held: HeldName, evidence: Sequence[Evidence], now: datetime, max_age: timedelta
) -> MemberAccountAnswer:
    """Rules 2 to 4."""
    accounts: set[MemberAccount] = set()
    doubts: list[str] = []
    for each in evidence:
        if each.found is None or not fresh(each.found.observed_at, now, max_age):
            doubts.append("an allocation's accounts were not reported lately")
            continue
        for account in each.found.accounts:
            if (account.party_id, account.binding_id) != (held.party_id, held.binding_id):
                continue
            counts = each.generations is None or account.generation in each.generations
            if account.state is not AccountState.READY or not counts:
                doubts.append("the account is not finished, or not of the present membership")
            elif account.name != held.username:
                return Doubt("the Site reports another username than the Party's site binding names")
            elif account.uid_number is None:
                return Doubt("the Site has not told the account's numeric UID", awaits_site=True)
            else:
                entry = account.native_uid.partition("/")[0]
                accounts.add(MemberAccount(account.name, account.uid_number, entry))
    if len(accounts) > 1:
        return Doubt("the Site's reports name several accounts")
    if accounts:
        return accounts.pop()
    return Doubt(doubts[0], awaits_site=True) if doubts else NoMemberAccount.ACCOUNT_ABSENT

"""Which account new work of a member runs as (P26): pure, over the allocations that were selected.

1. Each allocation is confirmed or not as `confirmation` says.
2. Two confirmed accounts are several, also under two bindings in one set, and also at two allocations: the
   caller selects more narrowly.
3. A complete, recent set without the account is absence for its own allocation only. Any other reason leaves
   open whether there is a second account, so the whole answer waits for it.
4. Absent everywhere: the answer waits with `not_confirmed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from central.provisioning.domain.account import AccountState
from central.provisioning.domain.confirmation import (
    AccountKey,
    AccountUnconfirmed,
    ConfirmedAccount,
    PartyAccounts,
    Unconfirmed,
    confirm,
    fresh,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The account that one selected allocation should have, and what its set holds of the Party."""

    key: AccountKey
    found: PartyAccounts | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The one account, with everything that names it for accepted work."""

    key: AccountKey
    account: ConfirmedAccount


@dataclass(frozen=True, slots=True)
class Several:
    """More than one account fits: no answer."""


def choose(
    candidates: Sequence[Candidate], now: datetime, max_age: timedelta
) -> Chosen | Several | Unconfirmed:
    """Rules 1 to 4, over at least one candidate."""
    if any(_several(candidate, now, max_age) for candidate in candidates):
        return Several()
    chosen: list[Chosen] = []
    waits: list[Unconfirmed] = []
    for candidate in candidates:
        answer = confirm(candidate.found, candidate.key, now, max_age)
        if isinstance(answer, AccountUnconfirmed):
            waits.append(answer.reason)
        else:
            chosen.append(Chosen(candidate.key, answer))
    if len(chosen) > 1:
        return Several()
    unproven = [reason for reason in waits if reason is not Unconfirmed.NOT_CONFIRMED]
    if unproven:
        return unproven[0]
    return chosen[0] if chosen else Unconfirmed.NOT_CONFIRMED


def _several(candidate: Candidate, now: datetime, max_age: timedelta) -> bool:
    """Whether one fresh set holds two ready accounts of the present membership, whatever their bindings."""
    found, key = candidate.found, candidate.key
    if found is None or not fresh(found.observed_at, now, max_age):
        return False
    ready = [
        account
        for account in found.accounts
        if account.state is AccountState.READY
        and (account.party_id, account.generation) == (key.party_id, key.generation)
    ]
    return len(ready) > 1

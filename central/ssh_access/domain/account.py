"""Whose account a key goes to: three outcomes, never two (ledger X1, P30)."""

from dataclasses import dataclass
from enum import StrEnum

from central.ssh_access.domain.member_key import Target


class Absence(StrEnum):
    """Why a member provably has no account at a Site; the values are the wire's codes."""

    SITE_UNKNOWN = "site_unknown"
    NOT_ELIGIBLE = "not_eligible"
    ACCOUNT_ABSENT = "account_absent"


@dataclass(frozen=True, slots=True)
class NoAccount:
    """Proven: there is none."""

    reason: Absence


@dataclass(frozen=True, slots=True)
class AccountUnavailable:
    """The evidence cannot be read, is stale or contradicts itself. `reason` is for people.

    `awaits_site`: the Site has not confirmed the account yet, or not lately; its next reports may.
    """

    reason: str
    awaits_site: bool = False


AccountAnswer = Target | NoAccount | AccountUnavailable

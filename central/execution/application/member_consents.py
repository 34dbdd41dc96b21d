"""Members' offline consents: given once by the member, used for each native action (E5, K09).

One refresh at a time for a member: the store holds the row's lock while the issuer is asked, so that a second
caller waits and then finds the fresh access token instead of using up the same refresh token.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Protocol
from uuid import UUID

from central.execution.application.ports import ConsentExpired, MemberToken
from central.execution.domain.consent import Consent, Tokens, ended, refreshed


class GrantRefused(Exception):
    """The issuer says definitely no: the code, or the refresh token, is good for nothing any more."""


class WrongMember(Exception):
    """The code was given by somebody else than who hands it in."""


class TokenIssuer(Protocol):
    """The members' issuer at its token endpoint. `Unavailable` for anything but a definite answer."""

    def redeem(self, code: str, verifier: str, redirect_uri: str, now: datetime) -> tuple[str, Tokens]:
        """The subject and tokens of an authorization code. `GrantRefused`."""
        ...

    def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        """The next tokens. `GrantRefused`."""
        ...

    def exchange(self, access_token: str, audience: str, now: datetime) -> MemberToken:
        """A token for one audience alone, as short as the issuer makes it. `GrantRefused`."""
        ...

    def revoke(self, refresh_token: str) -> None:
        """Tells the issuer that a consent is over."""
        ...


class Consents(Protocol):
    """The store; what it keeps is encrypted with a key that is not in the database."""

    def read(self, party: UUID) -> Consent | None:
        """The member's consent, None where none was ever given."""
        ...

    def change(self, party: UUID, change: Callable[[Consent | None], Consent]) -> Consent:
        """Replaces it under the member's lock; `change` runs once, and what it raises changes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class GiveConsent:
    """The member hands over a code: one time, bound to its verifier (RFC 7636)."""

    issuer: TokenIssuer
    consents: Consents
    subject_of: Callable[[str], UUID | None]

    def __call__(self, party: UUID, code: str, verifier: str, redirect_uri: str, now: datetime) -> Consent:
        """The consent that stands now; the same code again is told what it came to (X7).

        `GrantRefused`, `WrongMember`, `Unavailable`.
        """
        digest = sha256(code.encode()).digest()

        def give(known: Consent | None) -> Consent:
            if known is not None and known.code_digest == digest:
                return known
            subject, tokens = self.issuer.redeem(code, verifier, redirect_uri, now)
            if self.subject_of(subject) != party:
                self.issuer.revoke(tokens.refresh)
                raise WrongMember
            return Consent(tokens, now, now, code_digest=digest)

        return self.consents.change(party, give)


@dataclass(frozen=True, slots=True)
class ReadConsent:
    """The member looks at its own consent."""

    consents: Consents

    def __call__(self, party: UUID) -> Consent | None:
        """The consent, None where none was given. `Unavailable`."""
        return self.consents.read(party)


@dataclass(frozen=True, slots=True)
class WithdrawConsent:
    """The member takes it back: nothing is refreshed from here on, and the issuer is told."""

    issuer: TokenIssuer
    consents: Consents

    def __call__(self, party: UUID, now: datetime) -> Consent | None:
        """The ended consent, None where none was given. `Unavailable` if the issuer could not be told: then
        it stands, and the member asks again.
        """
        known = self.consents.read(party)
        if known is None:
            return None

        def end(at: Consent | None) -> Consent:
            if at is None or not at.stands:
                return at or known
            self.issuer.revoke(at.tokens.refresh)
            return ended(at, now)

        return self.consents.change(party, end)


@dataclass(frozen=True, slots=True)
class TokensFromConsents:
    """`MemberTokens`. `audiences` maps a Site to its Slurm's audience at the issuer."""

    issuer: TokenIssuer
    consents: Consents
    audiences: Mapping[str, str]

    def token(self, party: UUID, site: str, now: datetime) -> MemberToken:
        """See `MemberTokens`. An issuer may end an access token before its time (its session is over, its
        keys were changed): then the refresh token has the last word, which also ends a consent that is over.
        """
        access = self._access(party, now)
        with suppress(GrantRefused):
            return self.issuer.exchange(access, self.audiences[site], now)
        fresh = self._access(party, now, refused=access)
        try:
            return self.issuer.exchange(fresh, self.audiences[site], now)
        except GrantRefused:
            raise ConsentExpired from None

    def _access(self, party: UUID, now: datetime, refused: str | None = None) -> str:
        """An access token other than `refused`."""
        known = self.consents.read(party)
        if known is None or not known.stands:
            raise ConsentExpired
        if known.serves(now) and known.tokens.access != refused:
            return known.tokens.access
        fresh = self.consents.change(party, lambda at: self._next(at, now, refused))
        if not fresh.stands:
            raise ConsentExpired
        return fresh.tokens.access

    def _next(self, known: Consent | None, now: datetime, refused: str | None) -> Consent:
        """Rules 1 to 3 of the consent, under its lock: another caller may have been here first."""
        if known is None:
            raise ConsentExpired
        if not known.stands or (known.serves(now) and known.tokens.access != refused):
            return known
        try:
            return refreshed(known, self.issuer.refresh(known.tokens.refresh, now), now)
        except GrantRefused:
            return ended(known, now)

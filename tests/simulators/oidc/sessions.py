"""Offline sessions: one consent, refresh tokens that rotate, an end.

RFC 6749 §4.1 and §6, RFC 7636, RFC 7009, RFC 9700 §4.14.

Rules:

1. A code serves once, for its client, address and verifier; used twice it ends the session it began.
2. Each refresh gives a new refresh token and ends the one used. One used a second time ends the session:
   nobody can tell the thief from the owner.
3. A session ends `OFFLINE_SECONDS` after consent, however often it was refreshed, or when it is revoked.
4. While every session of a member is ended (it had one), no access token of the member's is exchanged.
"""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final

OFFLINE_SECONDS: Final = 86_400
CODE_SECONDS: Final = 60


class SessionRefused(Exception):
    """RFC 6749 §5.2 `invalid_grant`."""


@dataclass(slots=True)
class Session:
    """One consent of one member to one client. `consented` in seconds since the epoch."""

    member: str
    client: str
    consented: float
    refresh: str = field(repr=False)
    ended: bool = False


@dataclass(frozen=True, slots=True)
class _Code:
    member: str
    client: str
    redirect: str
    challenge: str
    until: float


class Sessions:
    """Every code and session; time is passed in."""

    def __init__(self) -> None:
        self._codes: dict[str, _Code] = {}
        self._begun: dict[str, Session] = {}
        self._tokens: dict[str, Session] = {}

    def authorize(self, member: str, client: str, redirect: str, challenge: str, now: float) -> str:
        """The code a member's consent brings to `redirect`."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = _Code(member, client, redirect, challenge, now + CODE_SECONDS)
        return code

    def redeem(self, code: str, client: str, redirect: str, verifier: str, now: float) -> Session:
        """Rule 1."""
        if code in self._begun:
            self._begun[code].ended = True
            raise SessionRefused("the code was used before")
        known = self._codes.get(code)
        digest = hashlib.sha256(verifier.encode("ascii", "replace")).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
        if known is None or now >= known.until:
            raise SessionRefused("no such code")
        if (known.client, known.redirect, known.challenge) != (client, redirect, challenge):
            raise SessionRefused("the code is another client's, address's or verifier's")
        session = Session(known.member, client, now, secrets.token_urlsafe(32))
        self._begun[code] = session
        self._tokens[session.refresh] = session
        return session

    def refresh(self, token: str, client: str, now: float) -> Session:
        """Rules 2 and 3: the session with its new refresh token."""
        session = self._tokens.get(token)
        if session is None or session.client != client:
            raise SessionRefused("no such refresh token")
        if session.refresh != token:
            session.ended = True
        if session.ended or now >= session.consented + OFFLINE_SECONDS:
            raise SessionRefused("the session has ended")
        session.refresh = secrets.token_urlsafe(32)
        self._tokens[session.refresh] = session
        return session

    def revoke(self, token: str) -> None:
        """RFC 7009: an unknown token is no fault."""
        if token in self._tokens:
            self._tokens[token].ended = True

    def is_over(self, member: str) -> bool:
        """Rule 4."""
        theirs = [each for each in self._tokens.values() if each.member == member]
        return bool(theirs) and all(each.ended for each in theirs)

    def revoke_member(self, member: str) -> int:
        """Ends every session of a member, as the account console does; how many."""
        live = {id(each): each for each in self._tokens.values() if each.member == member and not each.ended}
        for each in live.values():
            each.ended = True
        return len(live)

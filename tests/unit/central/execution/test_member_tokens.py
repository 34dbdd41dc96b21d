"""Members' tokens from their consents, when the issuer ends an access token before its time (E5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from central.execution.application.member_consents import GrantRefused, TokensFromConsents
from central.execution.application.ports import ConsentExpired, MemberToken
from central.execution.domain.consent import Consent, Tokens

NOW = datetime(2026, 11, 30, tzinfo=UTC)
MEMBER = UUID(int=7)


@dataclass
class Kept:
    """One member's consent."""

    consent: Consent | None

    def read(self, party: UUID) -> Consent | None:
        return self.consent

    def change(self, party: UUID, change: Callable[[Consent | None], Consent]) -> Consent:
        self.consent = change(self.consent)
        return self.consent


@dataclass
class Issuer:
    """Exchanges what it does not call `dead`; refreshes while the session `lives`."""

    dead: set[str] = field(default_factory=set)
    lives: bool = True
    refreshes: int = 0

    def exchange(self, access_token: str, audience: str, now: datetime) -> MemberToken:
        if access_token in self.dead:
            raise GrantRefused
        return MemberToken(f"{audience} {access_token}", now + timedelta(minutes=5))

    def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        self.refreshes += 1
        if not self.lives:
            raise GrantRefused
        return tokens(f"access{self.refreshes}")

    def redeem(self, code: str, verifier: str, redirect_uri: str, now: datetime) -> tuple[str, Tokens]:
        raise NotImplementedError

    def revoke(self, refresh_token: str) -> None:
        raise NotImplementedError


def tokens(access: str) -> Tokens:
    return Tokens(access, f"refresh of {access}", NOW + timedelta(minutes=5))


def standing() -> Kept:
    return Kept(Consent(tokens("access0"), NOW, NOW))


def serving(issuer: Issuer, kept: Kept) -> TokensFromConsents:
    return TokensFromConsents(issuer, kept, {"slurm": "slurm.icarus"})


def test_e5_a_token_the_issuer_serves_costs_no_refresh() -> None:
    issuer = Issuer()
    assert "access0" in serving(issuer, standing()).token(MEMBER, "slurm", NOW).token
    assert issuer.refreshes == 0


def test_e5_one_that_died_before_its_time_is_refreshed_once() -> None:
    issuer, kept = Issuer(dead={"access0"}), standing()
    assert "access1" in serving(issuer, kept).token(MEMBER, "slurm", NOW).token
    assert issuer.refreshes == 1 and kept.consent is not None and kept.consent.stands


def test_e5_a_session_that_is_over_ends_the_consent_at_once() -> None:
    issuer, kept = Issuer(dead={"access0"}, lives=False), standing()
    for _ in range(2):
        with pytest.raises(ConsentExpired):
            serving(issuer, kept).token(MEMBER, "slurm", NOW)
    assert issuer.refreshes == 1 and kept.consent is not None and kept.consent.ended_at == NOW


def test_e5_a_refusal_of_every_token_is_no_endless_loop() -> None:
    issuer, kept = Issuer(dead={"access0", "access1"}), standing()
    with pytest.raises(ConsentExpired):
        serving(issuer, kept).token(MEMBER, "slurm", NOW)
    assert issuer.refreshes == 1

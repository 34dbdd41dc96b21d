"""The development issuer's grants: consent, rotation, an end, and a token for one Slurm alone (E5, S2)."""

import base64
import hashlib
import re
import time
from typing import Any

import jwt
import pytest

from tests.simulators.oidc.grants import ACCESS_TOKEN, EXCHANGE, TokenRequestRefused, token
from tests.simulators.oidc.issuer import GRANT_TYPE, Issuer, SigningKey
from tests.simulators.oidc.sessions import OFFLINE_SECONDS, SessionRefused, Sessions

CLIENT = ("pharos-central", "secret")
BACK = "https://members.test/back"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def keys() -> list[SigningKey]:
    return [SigningKey.make("RS256"), SigningKey.make("ES256")]


@pytest.fixture
def issuer(keys: list[SigningKey]) -> Issuer:
    return Issuer(
        url="http://issuer.test",
        audience="pharos",
        keys=keys,
        client_secret="secret",
        slurm_keys={"slurm.icarus": SigningKey.make("ES256")},
        logins={"m1": "alice"},
    )


def consent(issuer: Issuer, member: str = "m1") -> dict[str, Any]:
    code = issuer.sessions.authorize(member, CLIENT[0], BACK, CHALLENGE, time.time())
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
    }
    return token(issuer, form, CLIENT)


def refresh(issuer: Issuer, refresh_token: str) -> dict[str, Any]:
    return token(issuer, {"grant_type": "refresh_token", "refresh_token": refresh_token}, CLIENT)


def exchange(issuer: Issuer, access: str, audience: str = "slurm.icarus") -> dict[str, Any]:
    form = {
        "grant_type": EXCHANGE,
        "subject_token": access,
        "subject_token_type": ACCESS_TOKEN,
        "audience": audience,
    }
    return token(issuer, form, CLIENT)


def test_e5_a_consent_refreshes_with_rotation(issuer: Issuer) -> None:
    first = consent(issuer)
    second = refresh(issuer, first["refresh_token"])
    third = refresh(issuer, second["refresh_token"])
    assert len({each["refresh_token"] for each in (first, second, third)}) == 3


def test_k09_a_refresh_token_used_twice_ends_the_session(issuer: Issuer) -> None:
    first = consent(issuer)
    second = refresh(issuer, first["refresh_token"])
    with pytest.raises(TokenRequestRefused, match="ended"):
        refresh(issuer, first["refresh_token"])
    with pytest.raises(TokenRequestRefused, match="ended"):
        refresh(issuer, second["refresh_token"])


def test_e5_revocation_and_the_account_console_end_it(issuer: Issuer) -> None:
    revoked, ended = consent(issuer), consent(issuer, "m2")
    issuer.sessions.revoke(revoked["refresh_token"])
    assert issuer.sessions.revoke_member("m2") == 1
    assert issuer.sessions.revoke_member("m2") == 0
    for session in (revoked, ended):
        with pytest.raises(TokenRequestRefused) as refused:
            refresh(issuer, session["refresh_token"])
        assert refused.value.error == "invalid_grant"


def test_s5_a_session_ends_a_day_after_consent_however_often_refreshed() -> None:
    sessions = Sessions()
    code = sessions.authorize("m1", CLIENT[0], BACK, CHALLENGE, 1000.0)
    session = sessions.redeem(code, CLIENT[0], BACK, VERIFIER, 1001.0)
    last = 1001.0 + OFFLINE_SECONDS
    sessions.refresh(session.refresh, CLIENT[0], last - 0.001)
    with pytest.raises(SessionRefused):
        sessions.refresh(session.refresh, CLIENT[0], last)


@pytest.mark.parametrize(
    ("client", "redirect", "verifier", "late"),
    [("other", BACK, VERIFIER, 0), (CLIENT[0], BACK + "/", VERIFIER, 0), (CLIENT[0], BACK, "w" * 43, 0),
     (CLIENT[0], BACK, VERIFIER, 60)],
)  # fmt: skip
def test_a_code_is_its_clients_addresss_and_verifiers(
    client: str, redirect: str, verifier: str, late: int
) -> None:
    sessions = Sessions()
    code = sessions.authorize("m1", CLIENT[0], BACK, CHALLENGE, 0.0)
    with pytest.raises(SessionRefused):
        sessions.redeem(code, client, redirect, verifier, float(late))


def test_a_code_used_twice_ends_its_session() -> None:
    sessions = Sessions()
    code = sessions.authorize("m1", CLIENT[0], BACK, CHALLENGE, 0.0)
    session = sessions.redeem(code, CLIENT[0], BACK, VERIFIER, 1.0)
    with pytest.raises(SessionRefused):
        sessions.redeem(code, CLIENT[0], BACK, VERIFIER, 2.0)
    with pytest.raises(SessionRefused):
        sessions.refresh(session.refresh, CLIENT[0], 3.0)


def test_s2_a_slurm_token_is_signed_by_that_slurms_own_key(issuer: Issuer) -> None:
    given = exchange(issuer, consent(issuer)["access_token"])
    key_set = issuer.slurm_key_set("slurm.icarus")
    assert key_set is not None
    key = jwt.PyJWK(key_set["keys"][0])
    claims = jwt.decode(given["access_token"], key, algorithms=["ES256"], audience="slurm.icarus")
    assert claims["preferred_username"] == "alice"
    assert {entry["kid"] for entry in key_set["keys"]}.isdisjoint(
        entry["kid"] for entry in issuer.key_set()["keys"]
    )


@pytest.mark.parametrize("what", ["audience", "login", "subject", "type"])
def test_an_exchange_that_does_not_fit_is_refused(issuer: Issuer, what: str) -> None:
    access = consent(issuer, "nobody" if what == "login" else "m1")["access_token"]
    form = {
        "grant_type": EXCHANGE,
        "subject_token": access + "x" if what == "subject" else access,
        "subject_token_type": "x" if what == "type" else ACCESS_TOKEN,
        "audience": "slurm.other" if what == "audience" else "slurm.icarus",
    }
    with pytest.raises(TokenRequestRefused):
        token(issuer, form, CLIENT)


@pytest.mark.parametrize("client", [None, ("other", "secret"), ("pharos-central", "wrong")])
def test_only_the_confidential_client_refreshes(issuer: Issuer, client: tuple[str, str] | None) -> None:
    held = consent(issuer)["refresh_token"]
    with pytest.raises(TokenRequestRefused) as refused:
        token(issuer, {"grant_type": "refresh_token", "refresh_token": held}, client)
    assert refused.value.error == "invalid_client"


def test_an_unknown_field_or_grant_is_refused(issuer: Issuer) -> None:
    with pytest.raises(TokenRequestRefused, match="fields"):
        token(issuer, {"grant_type": GRANT_TYPE, "member": "m1", "more": "1"}, None)
    with pytest.raises(TokenRequestRefused, match=re.escape(GRANT_TYPE)):
        token(issuer, {"grant_type": "password"}, CLIENT)

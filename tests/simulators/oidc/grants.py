"""The token endpoint's grants: what each wants, and what it gives.

`urn:pharos:development:member` stands for a browser login. The others are the standard ones: code with
PKCE (RFC 7636), refresh (RFC 6749 §6), token exchange for a Slurm Site's own audience (RFC 8693): that token
is signed by a key set used for this Site's Slurm alone, names the member's login in `preferred_username`,
and lives at most `SLURM_SECONDS`.
"""

import hmac
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import jwt

from tests.simulators.oidc.issuer import GRANT_TYPE, LIFETIME_MAX, Algorithm, Issuer
from tests.simulators.oidc.sessions import Session, SessionRefused

EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"
SLURM_SECONDS: Final = 300
OFFLINE_ACCESS_SECONDS: Final = 300
MEMBER: Final = re.compile(r"[\x21-\x7e]{1,255}")
Client = tuple[str, str] | None


class TokenRequestRefused(Exception):
    """RFC 6749 §5.2: `error` and its description."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error


def token(issuer: Issuer, form: Mapping[str, str], client: Client) -> dict[str, Any]:
    """Answers one request at the token endpoint. `client` is what came by HTTP Basic, or None."""
    grant = form.get("grant_type", "")
    known = _GRANTS.get(grant)
    if known is None:
        raise TokenRequestRefused("unsupported_grant_type", f"offered: {', '.join(_GRANTS)}")
    wanted, give = known
    if set(form) - wanted - {"grant_type"}:
        raise TokenRequestRefused("invalid_request", f"fields of this grant: {', '.join(sorted(wanted))}")
    if grant != GRANT_TYPE:
        require_client(issuer, client)
    return give(issuer, form, client[0] if client else "")


def require_client(issuer: Issuer, client: Client) -> str:
    """The confidential client's id; refuses every other."""
    if client is None or issuer.client_secret is None:
        raise TokenRequestRefused("invalid_client", "this grant wants the confidential client")
    name, secret = client
    if name != issuer.client_id or not hmac.compare_digest(secret.encode(), issuer.client_secret.encode()):
        raise TokenRequestRefused("invalid_client", "unknown client or wrong secret")
    return name


def _member(issuer: Issuer, form: Mapping[str, str], client: str) -> dict[str, Any]:
    member, lifetime, algorithm = (
        form.get("member", ""), form.get("lifetime", "300"), form.get("alg", "RS256"),
    )  # fmt: skip
    if not MEMBER.fullmatch(member):
        raise TokenRequestRefused("invalid_request", "member is 1 to 255 printable ASCII characters")
    if not re.fullmatch(r"-?[0-9]{1,6}", lifetime) or abs(int(lifetime)) > LIFETIME_MAX:
        raise TokenRequestRefused("invalid_request", f"lifetime is at most {LIFETIME_MAX} seconds")
    signed: dict[str, Algorithm] = {"RS256": "RS256", "ES256": "ES256"}
    if algorithm not in signed:
        raise TokenRequestRefused("invalid_request", "alg is RS256 or ES256")
    minted = issuer.mint(
        member, lifetime=int(lifetime), algorithm=signed[algorithm], audience=form.get("audience")
    )
    return {"access_token": minted, "token_type": "Bearer", "expires_in": int(lifetime)}


def _code(issuer: Issuer, form: Mapping[str, str], client: str) -> dict[str, Any]:
    wanted = [form.get(name, "") for name in ("code", "redirect_uri", "code_verifier")]
    return _session(
        issuer, lambda: issuer.sessions.redeem(wanted[0], client, wanted[1], wanted[2], time.time())
    )


def _refresh(issuer: Issuer, form: Mapping[str, str], client: str) -> dict[str, Any]:
    return _session(
        issuer, lambda: issuer.sessions.refresh(form.get("refresh_token", ""), client, time.time())
    )


def _session(issuer: Issuer, step: Callable[[], Session]) -> dict[str, Any]:
    try:
        with issuer.lock:
            session = step()
            refresh = session.refresh
    except SessionRefused as refused:
        raise TokenRequestRefused("invalid_grant", str(refused)) from refused
    return {
        "access_token": issuer.mint(session.member, lifetime=OFFLINE_ACCESS_SECONDS),
        "token_type": "Bearer",
        "expires_in": OFFLINE_ACCESS_SECONDS,
        "refresh_token": refresh,
        "scope": "openid offline_access",
    }


def _exchange(issuer: Issuer, form: Mapping[str, str], client: str) -> dict[str, Any]:
    if form.get("subject_token_type") != ACCESS_TOKEN:
        raise TokenRequestRefused("invalid_request", f"subject_token_type is {ACCESS_TOKEN}")
    audience = form.get("audience", "")
    if audience not in issuer.slurm_keys:
        raise TokenRequestRefused("invalid_target", "no such audience")
    member = _subject(issuer, form.get("subject_token", ""))
    with issuer.lock:
        over = issuer.sessions.is_over(member)
    if over:
        raise TokenRequestRefused("invalid_grant", "the session has ended")
    login = issuer.logins.get(member)
    if login is None:
        raise TokenRequestRefused("invalid_grant", "this member has no login name")
    minted = issuer.mint_slurm(member, login, audience, SLURM_SECONDS)
    return {
        "access_token": minted,
        "issued_token_type": ACCESS_TOKEN,
        "token_type": "Bearer",
        "expires_in": SLURM_SECONDS,
    }


def _subject(issuer: Issuer, subject_token: str) -> str:
    try:
        key_id = jwt.get_unverified_header(subject_token).get("kid")
        key = next(each for each in issuer.keys if each.key_id == key_id)
        claims = jwt.decode(
            subject_token,
            key.private.public_key(),
            algorithms=[key.algorithm],
            audience=issuer.audience,
            issuer=issuer.url,
        )
    except (jwt.PyJWTError, StopIteration) as error:
        raise TokenRequestRefused("invalid_grant", "the subject token does not verify") from error
    return str(claims["sub"])


_GRANTS: Final[
    dict[str, tuple[frozenset[str], Callable[[Issuer, Mapping[str, str], str], dict[str, Any]]]]
] = {
    GRANT_TYPE: (frozenset({"member", "lifetime", "audience", "alg"}), _member),
    "authorization_code": (frozenset({"code", "redirect_uri", "code_verifier"}), _code),
    "refresh_token": (frozenset({"refresh_token"}), _refresh),
    EXCHANGE: (frozenset({"subject_token", "subject_token_type", "audience"}), _exchange),
}

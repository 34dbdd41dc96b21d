"""The issuer itself: its keys, its documents, and tokens minted for a named member on demand."""

import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.simulators.oidc.sessions import Sessions

Algorithm = Literal["RS256", "ES256"]
GRANT_TYPE = "urn:pharos:development:member"
STANDARD_GRANTS = (
    "authorization_code",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:token-exchange",
)
LIFETIME_MAX = 86_400


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and the id it is published under."""

    key_id: str
    algorithm: Algorithm
    private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

    @classmethod
    def make(cls, algorithm: Algorithm) -> "SigningKey":
        """A fresh key."""
        private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
        if algorithm == "RS256":
            private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        else:
            private = ec.generate_private_key(ec.SECP256R1())
        return cls(secrets.token_hex(8), algorithm, private)

    def public_jwk(self) -> dict[str, Any]:
        """The entry of the key set (RFC 7517)."""
        if isinstance(self.private, rsa.RSAPrivateKey):
            entry = RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        else:
            entry = ECAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        return {**entry, "kid": self.key_id, "use": "sig", "alg": self.algorithm}


@dataclass(slots=True)
class Issuer:
    """Mints access tokens. `url` is the issuer's name, set once the socket is known.

    `slurm_keys` maps a Slurm audience to the key used for it alone; `logins` a member to the login name its
    tokens carry there. Without a client secret only the development grant is offered.
    """

    url: str
    audience: str
    keys: list[SigningKey] = field(default_factory=list)
    client_id: str = "pharos-central"
    client_secret: str | None = field(default=None, repr=False)
    slurm_keys: dict[str, SigningKey] = field(default_factory=dict)
    logins: dict[str, str] = field(default_factory=dict)
    sessions: Sessions = field(default_factory=Sessions, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def discovery(self) -> dict[str, Any]:
        """OpenID Connect Discovery 1.0 §3."""
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/jwks",
            "token_endpoint": f"{self.url}/token",
            "authorization_endpoint": f"{self.url}/authorize",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "revocation_endpoint": f"{self.url}/revoke",
            "grant_types_supported": [GRANT_TYPE, *(STANDARD_GRANTS if self.client_secret else ())],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "scopes_supported": ["openid", "offline_access"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        }

    def key_set(self) -> dict[str, Any]:
        """RFC 7517 §5."""
        return {"keys": [key.public_jwk() for key in self.keys]}

    def mint(
        self, member: str, *, lifetime: int = 300, algorithm: Algorithm = "RS256", audience: str | None = None
    ) -> str:
        """An access token whose subject is `member`, signed with the newest key of `algorithm`."""
        now = int(time.time())
        key = next(key for key in reversed(self.keys) if key.algorithm == algorithm)
        claims = {
            "iss": self.url,
            "sub": member,
            "aud": audience or self.audience,
            "iat": now,
            "nbf": now,
            "exp": now + lifetime,
            "jti": uuid4().hex,
        }
        return jwt.encode(claims, key.private, algorithm=algorithm, headers={"kid": key.key_id})

    def slurm_key_set(self, audience: str) -> dict[str, Any] | None:
        """The key set one Slurm trusts, and no other; None for an unknown audience."""
        key = self.slurm_keys.get(audience)
        return None if key is None else {"keys": [key.public_jwk()]}

    def mint_slurm(self, member: str, login: str, audience: str, lifetime: int) -> str:
        """A token for `auth/jwt` with `userclaimfield=preferred_username` (slurm.conf(5))."""
        now, key = int(time.time()), self.slurm_keys[audience]
        claims = {
            "iss": self.url,
            "sub": member,
            "aud": audience,
            "iat": now,
            "exp": now + lifetime,
            "jti": uuid4().hex,
            "preferred_username": login,
        }
        return jwt.encode(claims, key.private, algorithm=key.algorithm, headers={"kid": key.key_id})

    def rotate(self) -> None:
        """Replaces every key; tokens of the old ones are no longer verifiable."""
        self.keys = [SigningKey.make("RS256"), SigningKey.make("ES256")]


def load_or_make(path: Path | None) -> list[SigningKey]:
    """Keys from `path` (made there at the first start, 0600), or fresh ones that die with the process."""
    if path is not None and path.exists():
        return [_from_json(entry) for entry in json.loads(path.read_text(encoding="ascii"))]
    keys = [SigningKey.make("RS256"), SigningKey.make("ES256")]
    if path is not None:
        path.touch(mode=0o600)
        path.write_text(json.dumps([_to_json(key) for key in keys]), encoding="ascii")
    return keys


def _to_json(key: SigningKey) -> dict[str, str]:
    pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {"kid": key.key_id, "alg": key.algorithm, "pem": pem.decode("ascii")}


def _from_json(entry: dict[str, str]) -> SigningKey:
    private = load_pem_private_key(entry["pem"].encode("ascii"), password=None)
    if isinstance(private, rsa.RSAPrivateKey) and entry["alg"] == "RS256":
        return SigningKey(entry["kid"], "RS256", private)
    if isinstance(private, ec.EllipticCurvePrivateKey) and entry["alg"] == "ES256":
        return SigningKey(entry["kid"], "ES256", private)
    raise ValueError("the key file holds a key that does not fit its algorithm")

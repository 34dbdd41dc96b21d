"""Members' tokens: what proves a member, what proves nothing, what cannot be known (E6, X1)."""

import base64
import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from central.identity.claims import LEEWAY, Expected, TokenRefused, subject_of
from central.identity.issuer import KEY_LIMITS, IssuerKeys, may_be_read
from central.identity.verifier import TokenVerifier
from central.kernel.errors import Unavailable
from tests.simulators.oidc.issuer import Issuer, SigningKey

URL = "https://issuer.test"


@dataclass
class FakeDocuments:
    """The issuer's documents without a network; counts reads, and can be down."""

    issuer: Issuer
    down: bool = False
    reads: list[str] = field(default_factory=list)
    replaced: dict[str, dict[str, Any]] = field(default_factory=dict)

    def read(self, url: str) -> dict[str, object]:
        self.reads.append(url)
        if self.down:
            raise Unavailable("unavailable", "down")
        path = url.removeprefix(URL)
        found = {"/.well-known/openid-configuration": self.issuer.discovery, "/jwks": self.issuer.key_set}
        return self.replaced.get(path) or found[path]()


@pytest.fixture(scope="module")
def pair() -> list[SigningKey]:
    return [SigningKey.make("RS256"), SigningKey.make("ES256")]


@pytest.fixture
def documents(pair: list[SigningKey]) -> FakeDocuments:
    return FakeDocuments(Issuer(URL, "pharos", list(pair)))


@pytest.fixture
def verifier(documents: FakeDocuments) -> TokenVerifier:
    return TokenVerifier(Expected(URL, "pharos"), IssuerKeys(URL, documents))


def now() -> datetime:
    return datetime.now(UTC)


def signed(issuer: Issuer, header: dict[str, Any] | None = None, **changed: Any) -> str:
    """A token like the issuer's with some claims changed; None leaves one out."""
    moment = int(time.time())
    claims = {
        "iss": URL,
        "sub": "alice",
        "aud": "pharos",
        "iat": moment,
        "exp": moment + 300,
        **changed,
    }
    key = issuer.keys[0]
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, key.private, algorithm="RS256", headers={"kid": key.key_id, **(header or {})})


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part(header)}.{part(claims)}.{base64.urlsafe_b64encode(b'0' * 32).decode().rstrip('=')}"


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_minted_token_names_its_member(
    algorithm: Any, verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    assert verifier.member(documents.issuer.mint("alice", algorithm=algorithm), now()) == "alice"


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.test"},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"aud": ["other", "another"]},
        {"aud": {"pharos": 1}},
        {"exp": None},
        {"exp": 1},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 256},
        {"sub": "zoë"},
        {"sub": "a b"},
        {"sub": "alice\n"},
        {"exp": True},
    ],
    ids=str,
)
def test_a_claim_that_proves_nothing_is_refused(
    changed: dict[str, Any], verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    with pytest.raises(TokenRefused):
        verifier.member(signed(documents.issuer, **changed), now())


@pytest.mark.parametrize(
    "changed",
    [{"exp": "tomorrow"}, {"exp": float("inf")}, {"sub": 7}, {"exp": -1}, {"exp": [1]}],
    ids=str,
)
def test_claims_of_a_wrong_kind_are_refused(changed: dict[str, Any]) -> None:
    claims = {"iss": URL, "aud": "pharos", "sub": "alice", "exp": time.time() + 300, **changed}
    with pytest.raises(TokenRefused):
        subject_of(claims, Expected(URL, "pharos"), now())


def test_several_audiences_with_ours_among_them_are_fine(
    verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    assert verifier.member(signed(documents.issuer, aud=["other", "pharos"]), now()) == "alice"


def test_the_leeway_is_five_seconds_and_no_more() -> None:
    at = datetime(2026, 11, 2, 10, tzinfo=UTC)
    claims = {"iss": URL, "aud": "pharos", "sub": "alice", "exp": at.timestamp()}
    expected = Expected(URL, "pharos")
    assert subject_of(claims, expected, at + LEEWAY - timedelta(seconds=1)) == "alice"
    with pytest.raises(TokenRefused):
        subject_of(claims, expected, at + LEEWAY)
    early = {**claims, "exp": at.timestamp() + 60, "nbf": at.timestamp()}
    assert subject_of(early, expected, at - LEEWAY) == "alice"
    with pytest.raises(TokenRefused):
        subject_of(early, expected, at - LEEWAY - timedelta(seconds=1))


def test_algorithm_confusion_opens_nothing(verifier: TokenVerifier, documents: FakeDocuments) -> None:
    """`none`, an HMAC over the public key, and a curve's algorithm on an RSA key id."""
    key = documents.issuer.keys[0]
    claims = {"iss": URL, "sub": "alice", "aud": "pharos", "exp": int(time.time()) + 300}
    for algorithm in ("none", "HS256", "ES256", "RS512", "PS256"):
        with pytest.raises(TokenRefused):
            verifier.member(unsigned({"alg": algorithm, "kid": key.key_id}, claims), now())


def test_another_key_under_a_known_id_is_refused(verifier: TokenVerifier, documents: FakeDocuments) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims = {"iss": URL, "sub": "alice", "aud": "pharos", "exp": int(time.time()) + 300}
    token = jwt.encode(claims, other, algorithm="RS256", headers={"kid": documents.issuer.keys[0].key_id})
    with pytest.raises(TokenRefused):
        verifier.member(token, now())


@pytest.mark.parametrize("header", [{"kid": ""}, {"kid": "x" * 256}, {"crit": ["exp"]}], ids=str)
def test_headers_that_lead_elsewhere_are_refused(
    header: dict[str, Any], verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    with pytest.raises(TokenRefused):
        verifier.member(signed(documents.issuer, header), now())


@pytest.mark.parametrize(
    "token", ["", "a", "a.b", "a.b.c", "a.b.c.d", "é.b.c", "." * 10, "a" * 5000, "eyJhbGciOiJSUzI1NiJ9..x"]
)
def test_what_is_no_token_is_refused_before_the_issuer_is_asked(
    token: str, verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    with pytest.raises(TokenRefused):
        verifier.member(token, now())
    assert documents.reads == []


def test_x1_an_issuer_that_is_down_is_unavailable_and_not_a_refusal(
    verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    documents.down = True
    with pytest.raises(Unavailable):
        verifier.member(documents.issuer.mint("alice"), now())


def test_keys_read_before_serve_on_through_an_outage(
    verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    started = now()
    token = documents.issuer.mint("alice", lifetime=86_400)
    verifier.member(token, started)
    documents.down = True
    within = started + KEY_LIMITS.usable_for - timedelta(seconds=1)
    assert verifier.member(token, within) == "alice"
    with pytest.raises(Unavailable):
        verifier.member(token, started + KEY_LIMITS.usable_for + timedelta(seconds=30))


def test_a_new_key_is_found_and_unknown_ids_do_not_storm_the_issuer(
    verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    started = now()
    verifier.member(documents.issuer.mint("alice"), started)
    reads = len(documents.reads)
    documents.issuer.rotate()
    rotated = documents.issuer.mint("alice")
    for _ in range(50):
        with pytest.raises(TokenRefused):
            verifier.member(rotated, started + timedelta(seconds=1))
    assert len(documents.reads) == reads
    assert verifier.member(rotated, started + KEY_LIMITS.retry_after) == "alice"


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("/.well-known/openid-configuration", {"issuer": "https://evil.test", "jwks_uri": f"{URL}/jwks"}),
        ("/.well-known/openid-configuration", {"issuer": URL, "jwks_uri": "http://10.0.0.1/jwks"}),
        ("/.well-known/openid-configuration", {"issuer": URL}),
        ("/jwks", {"keys": "none"}),
        ("/jwks", {"keys": [{}] * 65}),
    ],
)
def test_documents_that_contradict_themselves_are_unavailable(
    path: str, document: dict[str, Any], verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    documents.replaced[path] = document
    with pytest.raises(Unavailable):
        verifier.member(documents.issuer.mint("alice"), now())


def test_keys_of_other_kinds_in_the_set_are_passed_over(
    verifier: TokenVerifier, documents: FakeDocuments
) -> None:
    small = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    weak = SigningKey("weak", "RS256", small)
    strange: list[Any] = [7, {"kty": "oct", "kid": "o", "k": "AA"}, {"kty": "RSA", "kid": "broken"}]
    encryption = {**documents.issuer.keys[0].public_jwk(), "kid": "enc", "use": "enc"}
    documents.replaced["/jwks"] = {
        "keys": [*strange, encryption, weak.public_jwk(), *documents.issuer.key_set()["keys"]]
    }
    assert verifier.member(documents.issuer.mint("alice"), now()) == "alice"


@pytest.mark.parametrize(
    ("url", "readable"),
    [
        ("https://issuer.test/jwks", True),
        ("http://127.0.0.1:8080/jwks", True),
        ("http://localhost/jwks", True),
        ("http://issuer.test/jwks", False),
        ("http://127.0.0.1.evil.test/jwks", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_plain_http_is_read_on_this_machine_alone(url: str, readable: bool) -> None:
    assert may_be_read(url) is readable

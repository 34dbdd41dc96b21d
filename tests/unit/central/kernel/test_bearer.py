"""One strict reading of the Authorization header (X5)."""

import pytest

from central.kernel.bearer import parse_bearer
from central.kernel.problems import Problem
from central.kernel.secret_digests import same_bytes, secret_digest


@pytest.mark.parametrize("header", ["Bearer abc", "bearer abc", "BEARER abc"])
def test_the_scheme_is_read_without_case(header: str) -> None:
    assert parse_bearer(header) == "abc"


def test_every_token_character_passes() -> None:
    token = "Aa0-._~+/=="
    assert parse_bearer(f"Bearer {token}") == token


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer  a", " Bearer a", "Bearer a ", "Bearer a b", "Bearer a, Bearer b",
     "Basic abc", "Bearer=a", "Bearer a\n", "Bearer é", "Bearer =", "Bearer a=b", "Token a", "Bearer\ta",
     "Bearer " + "a" * 5000],
)  # fmt: skip
def test_anything_else_is_401_with_a_challenge_and_no_echo(header: str | None) -> None:
    with pytest.raises(Problem) as refused:
        parse_bearer(header)
    assert (refused.value.status, refused.value.code) == (401, "unauthenticated")
    assert refused.value.headers["WWW-Authenticate"].startswith("Bearer")


def test_the_longest_token_is_read_and_one_more_is_not() -> None:
    assert parse_bearer("Bearer " + "a" * 4096) == "a" * 4096
    with pytest.raises(Problem):
        parse_bearer("Bearer " + "a" * 4097)


def test_x14_digests_are_sha256() -> None:
    assert secret_digest("abc").hex().startswith("ba7816bf8f01cfea")
    assert same_bytes(secret_digest("abc"), secret_digest("abc"))
    assert not same_bytes(secret_digest("abc"), secret_digest("abd"))

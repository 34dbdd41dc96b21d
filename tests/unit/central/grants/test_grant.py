"""Grants as pure values (E3, I18, X5)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from central.grants.domain.grant import (
    Grant,
    GrantRefused,
    Scope,
    format_token,
    issue,
    parse_token,
    secret_text,
)
from central.kernel.secret_digests import secret_digest

NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)
SECRET = bytes(range(32))


def granted(number: int = 1, *scopes: Scope, expires_at: datetime | None = None) -> Grant:
    return issue(
        [],
        grant_id=UUID(int=number),
        site="slurm",
        scopes=scopes or (Scope.SSH_ACCESS,),
        secret=SECRET,
        expires_at=expires_at,
        now=NOW,
    )


def issued_beside(*standing: Grant, scopes: tuple[Scope, ...] = (Scope.SSH_ACCESS,)) -> Grant:
    return issue(
        standing,
        grant_id=UUID(int=99),
        site="slurm",
        scopes=scopes,
        secret=SECRET,
        expires_at=None,
        now=NOW,
    )


def test_a_token_has_its_form_and_comes_apart_again() -> None:
    token = format_token(UUID(int=5), SECRET)
    presented = parse_token(token)
    assert presented is not None
    assert (presented.grant_id, presented.secret) == (UUID(int=5), secret_text(SECRET))
    assert len(token) == len("phs1_") + 32 + 1 + 43


@pytest.mark.parametrize(
    "text",
    ["", "hello", "phs1_", "phs2_" + "0" * 32 + "_" + "A" * 43, "phs1_" + "G" * 32 + "_" + "A" * 43],
)
def test_what_is_no_token_opens_nothing(text: str) -> None:
    assert parse_token(text) is None


def test_e21_a_final_newline_is_no_part_of_a_token() -> None:
    assert parse_token(format_token(UUID(int=5), SECRET) + "\n") is None


def test_only_the_digest_is_kept() -> None:
    grant = granted()
    assert grant.secret_digest == secret_digest(secret_text(SECRET))
    assert secret_text(SECRET) not in repr(grant)
    assert grant.opened_by(secret_text(SECRET))
    assert not grant.opened_by(secret_text(bytes(32)))


def test_two_are_valid_at_once_a_third_is_refused_and_says_which() -> None:
    first, second = granted(1), granted(2)
    assert issued_beside(first).scopes == (Scope.SSH_ACCESS,)
    with pytest.raises(GrantRefused) as refused:
        issued_beside(first, second)
    assert str(UUID(int=1)) in str(refused.value)


@pytest.mark.parametrize(
    "other",
    [
        replace(granted(2), revoked_at=NOW),
        replace(granted(2), expires_at=NOW),
        granted(2, Scope.COMMANDS),
    ],
    ids=["revoked", "expired", "another scope"],
)
def test_what_does_not_count_towards_the_two(other: Grant) -> None:
    assert issued_beside(granted(1), other).grant_id == UUID(int=99)


def test_a_grant_of_both_scopes_counts_in_both() -> None:
    both = (Scope.SSH_ACCESS, Scope.COMMANDS)
    with pytest.raises(GrantRefused):
        issued_beside(granted(1, *both), granted(2, *both), scopes=(Scope.COMMANDS,))


def test_validity_ends_at_the_expiry_and_with_revocation() -> None:
    grant = granted(expires_at=NOW + timedelta(hours=1))
    assert grant.valid(NOW + timedelta(minutes=59))
    assert not grant.valid(NOW + timedelta(hours=1))
    assert not replace(grant, revoked_at=NOW).valid(NOW)


def test_an_expiry_in_the_past_is_refused() -> None:
    with pytest.raises(GrantRefused):
        granted(expires_at=NOW)


def test_last_use_is_kept_to_the_minute() -> None:
    grant = granted()
    assert grant.use_is_due(NOW)
    used = replace(grant, last_used_at=NOW)
    assert not used.use_is_due(NOW + timedelta(seconds=59))
    assert used.use_is_due(NOW + timedelta(seconds=60))

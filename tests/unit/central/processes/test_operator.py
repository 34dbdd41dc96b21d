"""What an operator types and reads (E3, X2)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from central.grants.domain.grant import Grant, GrantRefused, Scope
from central.processes.operator import grant_document, parse_expiry

NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)
GRANT = Grant(
    grant_id=UUID(int=1),
    site="slurm",
    scopes=(Scope.SSH_ACCESS,),
    secret_digest=b"\x5a" * 32,
    issued_at=NOW,
    expires_at=None,
    revoked_at=None,
    last_used_at=None,
)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("90d", NOW + timedelta(days=90)),
        ("12h", NOW + timedelta(hours=12)),
        ("30m", NOW + timedelta(minutes=30)),
        ("2027-01-01T00:00:00+01:00", datetime(2026, 12, 31, 23, tzinfo=UTC)),
    ],
)
def test_expiries(text: str, at: datetime) -> None:
    assert parse_expiry(text, NOW) == at


@pytest.mark.parametrize(
    "text", ["", "d", "0d", "-1d", "1.5d", "٣d", "1w", "2027-01-01", "tomorrow", "9" * 9 + "d"]
)
def test_texts_that_are_no_expiry(text: str) -> None:
    with pytest.raises(GrantRefused) as refused:
        parse_expiry(text, NOW)
    assert refused.value.code == "grant_expiry"
    assert str(refused.value).count("--expires") == 1


@pytest.mark.parametrize(
    ("grant", "state"),
    [
        (GRANT, "valid"),
        (replace(GRANT, expires_at=NOW), "expired"),
        (replace(GRANT, expires_at=NOW, revoked_at=NOW), "revoked"),
    ],
)
def test_a_grant_is_shown_with_its_state_and_without_its_digest(grant: Grant, state: str) -> None:
    document = grant_document(grant, NOW)
    assert document["state"] == state
    assert "Z" * 8 not in str(document)
    assert "digest" not in str(document).lower()

"""Schema changes in ``<context package>/sql/migrations/NN_{pre,post}_name.sql`` (O2).

``pre`` expands and runs before new code (old code survives it); ``post`` contracts and runs after. One migrator at
a time by advisory lock; each file in its own transaction under lock and statement timeouts; the ledger
``pharos.migrations`` keeps each file's SHA-256.
"""

from collections.abc import Sequence
from typing import Literal

Phase = Literal["pre", "post"]


class MigrationRefused(Exception):
    """The schema or the files are not what is needed; the message says what and the remedy."""


def migrate(
    direct_url: str, packages: Sequence[str], *, phases: Sequence[Phase] = ("pre", "post")
) -> list[str]:
    """Apply what is missing, in order of packages and numbers; return what was applied."""
    raise NotImplementedError


def require_schema(url: str, packages: Sequence[str]) -> None:
    """Refuse a start on a missing, altered or newer-than-known schema (``MigrationRefused``)."""
    raise NotImplementedError


def set_role_password(direct_url: str, role: str, password: str) -> None:
    """Set a login role's password, sent as its SCRAM verifier only (X5)."""
    raise NotImplementedError

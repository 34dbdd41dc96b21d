"""Schema changes in ``<context package>/sql/migrations/NN_{pre,post}_name.sql`` (O2).

1. ``pre`` expands and runs before new code, so code N−1 survives it; ``post`` contracts and runs after.
2. One migrator at a time, by advisory lock; each file in its own transaction, as the owner role, with
   ``lock_timeout`` 4 s and ``statement_timeout`` 60 s.
3. The ledger ``pharos.migrations`` holds each file's SHA-256: an applied file never changes.
4. A start is refused on a missing or altered schema and on one whose ``post`` steps this code does not know;
   unknown ``pre`` steps are a newer release's expansion and are accepted.
"""

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import psycopg
from psycopg.rows import class_row

from central.kernel.database import Database
from central.kernel.driver_errors import DatabaseUnavailable
from central.kernel.queries import Query, load_queries

Phase = Literal["pre", "post"]
KERNEL = "central.kernel"
_FILE = re.compile(r"([0-9]{2})_(pre|post)_([a-z0-9_]+)\.sql")
_LOCK_SECONDS = 60


class MigrationRefused(Exception):
    """The schema or the files are not what is needed; the message says what was found and the remedy."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One row of the ledger."""

    package: str
    number: int
    phase: str
    name: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    package: str
    number: int
    phase: Phase
    name: str
    statements: bytes

    @property
    def digest(self) -> bytes:
        """SHA-256 of the file."""
        return hashlib.sha256(self.statements).digest()

    @property
    def title(self) -> str:
        """``package/NN_phase_name``."""
        return f"{self.package}/{self.number:02}_{self.phase}_{self.name}"


def find_migrations(packages: Sequence[str]) -> list[Migration]:
    """Return the files of the kernel and of ``packages`` in order; ``MigrationRefused`` for a gap or a bad
    name.
    """
    found: list[Migration] = []
    for package in (KERNEL, *(name for name in packages if name != KERNEL)):
        numbered: dict[int, Migration] = {}
        for file in resources.files(package).joinpath("sql", "migrations").iterdir():
            match = _FILE.fullmatch(file.name)
            if match is None:
                if file.name.endswith(".sql"):
                    raise MigrationRefused(
                        f"{package}: {file.name} is not named NN_pre_name.sql or NN_post_name.sql"
                    )
                continue
            number, phase = int(match[1]), "pre" if match[2] == "pre" else "post"
            if number in numbered:
                raise MigrationRefused(f"{package}: two migrations have the number {number:02}")
            numbered[number] = Migration(
                package, number, "pre" if phase == "pre" else "post", match[3], file.read_bytes()
            )
        if sorted(numbered) != list(range(1, len(numbered) + 1)):
            raise MigrationRefused(f"{package}: the migrations are not numbered 01, 02, … without a gap")
        found += [numbered[number] for number in sorted(numbered)]
    return found


def compare(files: Sequence[Migration], applied: Sequence[Applied]) -> list[Migration]:
    """Return the files not applied yet; ``MigrationRefused`` if what is applied is not what this code knows
    (rule 4).
    """
    known = {(file.package, file.number): file for file in files}
    packages = {file.package for file in files}
    for row in applied:
        file = known.pop((row.package, row.number), None)
        title = f"{row.package}/{row.number:02}_{row.phase}_{row.name}"
        if file is not None and (file.digest, file.phase) != (row.digest, row.phase):
            raise MigrationRefused(
                f"{title} was applied with other content than {file.title} has; restore the file"
            )
        if file is None and row.package in packages and row.phase == "post":
            raise MigrationRefused(
                f"{title} is applied and unknown here: this code is too old for the schema"
            )
    return [file for file in files if (file.package, file.number) in known]


def migrate(
    direct_url: str, packages: Sequence[str], *, phases: Sequence[Phase] = ("pre", "post")
) -> list[str]:
    """Apply what is missing, in order of packages and numbers; return the titles of what was applied.

    ``direct_url`` logs in as a role that may make roles and schemas (a superuser, or the database's owner
    with CREATEROLE) and reaches PostgreSQL itself, not a pooler (O4).
    """
    files = find_migrations(packages)
    queries = load_queries(KERNEL, "migrations.sql")
    try:
        with psycopg.connect(
            direct_url, autocommit=True, connect_timeout=10, application_name="migrate"
        ) as connection:
            _become_migrator(connection, queries["lock_migrator"])
            connection.execute(resources.files(KERNEL).joinpath("sql", "roles.sql").read_bytes())
            with connection.transaction():
                connection.execute(queries["transaction_settings"].statement)
                connection.execute(queries["make_ledger"].statement)
            with connection.cursor(row_factory=class_row(Applied)) as cursor:
                missing = compare(files, cursor.execute(queries["applied"].statement).fetchall())
            first = next((file.title for file in missing if file.phase == "pre"), None)
            if first is not None and "pre" not in phases:
                raise MigrationRefused(f"{first} is not applied yet: run `--phase pre` first")
            return [_apply(connection, file, queries.__getitem__) for file in missing if file.phase in phases]
    except psycopg.Error as error:
        if error.sqlstate is None or error.sqlstate[:2] == "08":
            raise DatabaseUnavailable(
                "database_unavailable", f"no answer: {' '.join(str(error).split())}"
            ) from None
        raise MigrationRefused(
            f"the database refused ({error.sqlstate or type(error).__name__}): "
            f"{error.diag.message_primary or error}{_remedy(error)}"
        ) from None


def _remedy(error: psycopg.Error) -> str:
    """What to do about a role that may not migrate, such as a process's or the operator's."""
    if not isinstance(error, psycopg.errors.InsufficientPrivilege):
        return ""
    return (
        "; PHAROS_DATABASE_URL must name the migrator: a role that may make roles and schemas (a superuser,"
        " or the database's owner with CREATEROLE), not the operator's or a process's"
    )


def require_schema(database: Database, packages: Sequence[str]) -> None:
    """Refuse a start on a missing, altered or too new schema (rule 4); ``DatabaseUnavailable`` if
    unreadable.
    """
    queries = load_queries(KERNEL, "migrations.sql")
    files = find_migrations(packages)
    made = database.run(lambda tx: tx.one(_Made, queries["ledger_exists"]), repeatable=True)
    rows = database.run(lambda tx: tx.all(Applied, queries["applied"]), repeatable=True) if made.made else []
    missing = [file.title for file in compare(files, rows) if file.phase == "pre"]
    if missing:
        raise MigrationRefused(
            f"the schema lacks {', '.join(missing)}: run `pharos-central migrate` as the owner, then start"
        )


def set_role_password(direct_url: str, role: str, password: str) -> None:
    """Set a login role's password; only its SCRAM verifier leaves this process (X5)."""
    with psycopg.connect(direct_url, autocommit=True, connect_timeout=10) as connection:
        verifier = connection.pgconn.encrypt_password(
            password.encode(), role.encode(), b"scram-sha-256"
        ).decode()
        statement = psycopg.sql.SQL("ALTER ROLE {} PASSWORD {}")
        connection.execute(statement.format(psycopg.sql.Identifier(role), psycopg.sql.Literal(verifier)))


@dataclass(frozen=True, slots=True)
class _Made:
    made: bool


def _become_migrator(connection: "psycopg.Connection[tuple[object, ...]]", lock: Query) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while connection.execute(lock.statement).fetchone() != (True,):
        if time.monotonic() > deadline:
            raise MigrationRefused(
                f"another migrator is at work since {_LOCK_SECONDS} s; wait for it, then run again"
            )
        time.sleep(0.2)


def _apply(
    connection: "psycopg.Connection[tuple[object, ...]]", file: Migration, query: Callable[[str], Query]
) -> str:
    try:
        with connection.transaction():
            connection.execute(query("transaction_settings").statement)
            connection.execute(file.statements)
            connection.execute(
                query("record").statement,
                {
                    "package": file.package,
                    "number": file.number,
                    "phase": file.phase,
                    "name": file.name,
                    "digest": file.digest,
                },
            )
    except psycopg.Error as error:
        raise MigrationRefused(
            f"{file.title} failed ({error.sqlstate}): {error.diag.message_primary}; nothing of it was applied"
        ) from None
    return file.title

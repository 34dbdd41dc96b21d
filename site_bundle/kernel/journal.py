"""One SQLite journal a component: WAL, synchronous=FULL, one writer, a schema number (S7).

1. The writer holds an flock(2) on `<journal>.lock`; a second one is refused at once.
2. `user_version` is the schema number. A newer one than this release knows is refused by number, never
   touched.
3. An integrity check runs before anything is read; damage is refused, not repaired.
4. A failed write is UnavailableError: nothing was recorded.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from site_bundle.kernel.errors import SiteError, UnavailableError

BUSY_SECONDS = 5.0


class JournalRefusedError(SiteError):
    """The journal cannot be used as it is."""


class Journal:
    """An open journal. Rows are sqlite3.Row; `transaction` commits as a whole or not at all."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int) -> None:
        self.path = path
        self.connection = connection
        self._lock = lock

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """BEGIN IMMEDIATE … COMMIT. When the block raises, nothing of it stays."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise _unwritable(self.path, error) from error
        try:
            yield self.connection
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise _unwritable(self.path, error) from error
        except BaseException:
            self._roll_back()
            raise

    def read(self, statement: str, values: Mapping[str, object]) -> list[sqlite3.Row]:
        """All rows of one reading statement. UnavailableError when the journal cannot be read: never "no
        rows".
        """
        try:
            return self.connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise UnavailableError(
                "journal_unreadable", found=f"{self.path}: {str(error)[:200]}", remedy="look at the disk"
            ) from error

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()
        os.close(self._lock)


def open_journal(path: Path, *, migrations: tuple[str, ...]) -> Journal:
    """Opens or makes `path`; `migrations[n]` is the script from schema n to n+1. JournalRefusedError or
    UnavailableError.
    """
    lock = _lock(path)
    try:
        connection = _connect(path)
        try:
            _check(path, connection, newest=len(migrations))
            _migrate(connection, migrations)
        except BaseException:
            connection.close()
            raise
    except sqlite3.OperationalError as error:
        # Not the content: no access, no room, a disk that fails, a reader that does not let go.
        os.close(lock)
        raise UnavailableError(
            "journal_unreachable",
            found=f"{path}: {str(error)[:200]}",
            wanted="a journal this user may read and write",
            remedy="look at owner and mode of the file and its folder, and at free space",
        ) from error
    except sqlite3.DatabaseError as error:
        os.close(lock)
        raise _damaged(path, str(error)) from error
    except BaseException:
        os.close(lock)
        raise
    return Journal(path, connection, lock)


def _lock(path: Path) -> int:
    lock_path = path.with_name(path.name + ".lock")
    try:
        lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UnavailableError(
            "journal_unreachable",
            found=f"{lock_path}: {error.strerror}",
            wanted="a state folder this user may write",
            remedy="run it as root (sudo) or as the component's user"
            if error.errno == errno.EACCES
            else "look at StateDirectory= of the unit and at free space",
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise JournalRefusedError(
            "journal_locked",
            found=f"another process holds {lock_path}",
            wanted="one writer",
            remedy="stop the other one first: systemctl stop, if it is the service",
        ) from error
    return lock


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cache_size=-2000")  # KiB: memory stays bounded (S10)
    except sqlite3.Error:
        connection.close()  # a file that is no database shows itself at the first statement
        raise
    return connection


def _check(path: Path, connection: sqlite3.Connection, *, newest: int) -> None:
    schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if schema > newest:
        raise JournalRefusedError(
            "journal_schema_newer",
            found=f"{path} has schema {schema}",
            wanted=f"schema {newest} or older",
            remedy="run the release that wrote it; this one would lose what it cannot read",
        )
    verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if verdict != "ok":
        raise _damaged(path, str(verdict))


def _migrate(connection: sqlite3.Connection, migrations: tuple[str, ...]) -> None:
    schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
    for script in migrations[schema:]:
        # Each script ends by setting user_version, so schema and number commit together.
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nCOMMIT;")


def _damaged(path: Path, verdict: str) -> JournalRefusedError:
    return JournalRefusedError(
        "journal_damaged",
        found=f"{path}: {verdict[:200]}",
        wanted="an intact SQLite file",
        remedy="move it away and restart: the desired state is read again from central",
    )


def _unwritable(path: Path, error: sqlite3.Error) -> UnavailableError:
    return UnavailableError(
        "journal_unwritable",
        found=f"{path}: {str(error)[:200]}",
        wanted="a durable write",
        remedy="look at free space and at the disk",
    )

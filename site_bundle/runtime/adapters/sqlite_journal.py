"""The Runtime's journal in SQLite: feed state, every command with how far it came, and the words on their
way.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.journal import Journal as SqliteFile
from site_bundle.kernel.journal import open_journal
from site_bundle.kernel.sql import load_statements
from site_bundle.kernel.times import parse_time, render_time
from site_bundle.runtime.adapters.wire_commands import decode_command, encode_command
from site_bundle.runtime.application.ports import Closing, Recorded, Word
from site_bundle.runtime.domain.command import Cancel, CleanUp, Command
from site_bundle.runtime.domain.feed import FeedState, Page
from site_bundle.runtime.domain.jobs import JobRef
from site_bundle.runtime.domain.stage import Stage, State

_SQL = Path(__file__).parents[1] / "sql"
JOURNAL_NAME = "journal.sqlite"


def open_command_journal(path: Path) -> SqliteCommandJournal:
    """Opens or makes the journal at `path`. JournalRefusedError or UnavailableError."""
    _, migrations = statements()
    return SqliteCommandJournal(open_journal(path, migrations=migrations))


@cache
def statements() -> tuple[dict[str, str], tuple[str, ...]]:
    """Queries by name, and the migrations in order; read once, before a process gives up root if it does."""
    script = (_SQL / "001_journal.sql").read_text("utf-8")
    return load_statements(_SQL / "queries.sql"), (script,)


class SqliteCommandJournal:
    """The port Journal. Each method is one transaction."""

    def __init__(self, journal: SqliteFile) -> None:
        self._journal = journal
        self._sql = statements()[0]

    def close_file(self) -> None:
        self._journal.close()

    # The feed.

    def feed_state(self) -> FeedState:
        row = self._one("feed_state")
        return FeedState(
            site=row["site"],
            accepted=_uuid(row["accepted"]),
            current=_uuid(row["current"]),
            cursor=row["cursor"],
            rewound=bool(row["rewound"]),
        )

    def record_page(self, page: Page, *refusals: Word, advance: bool, now: datetime) -> Recorded:
        added = 0
        with self._journal.transaction() as connection:
            for command in page.commands:
                row = _command_row(command, now)
                added += connection.execute(self._sql["add_command"], row).rowcount
                connection.execute(self._sql["renew_command"], row)
            refused = self._keep(connection, refusals, "add_refusal")
            named = {"site": page.site, "feed": str(page.feed)}
            if advance:
                connection.execute(self._sql["advance_feed"], named | {"reach": page.reach})
            else:
                connection.execute(self._sql["identify_feed"], named)
        return Recorded(added, refused)

    def switch_feed(self, feed: UUID | None) -> None:
        if feed is None:
            self._write("rewind_feed")
        else:
            self._write("switch_feed", feed=str(feed))

    def accept_feed(self, feed: UUID) -> bool:
        return self._write("accept_feed", feed=str(feed)) == 1

    def salt(self) -> str:
        return str(self._one("feed_state")["salt"])

    # Commands.

    def stages(self) -> tuple[Stage, ...]:
        return tuple(_stage(row) for row in self._all("stages"))

    def closings(self) -> tuple[Closing, ...]:
        return tuple(Closing(_command(row)) for row in self._all("closings"))

    def stages_of(self, attempt_id: UUID) -> tuple[Stage, ...]:
        return tuple(_stage(row) for row in self._all("stages_of", attempt_id=str(attempt_id)))

    def is_closing(self, attempt_id: UUID) -> bool:
        return bool(self._one("is_closing", attempt_id=str(attempt_id))[0])

    def save(self, stage: Stage, *words: Word) -> None:
        with self._journal.transaction() as connection:
            connection.execute(self._sql["save_command"], _stage_row(stage))
            self._keep(connection, words)

    def close(self, command_id: UUID, *words: Word) -> None:
        with self._journal.transaction() as connection:
            connection.execute(self._sql["close_command"], {"command_id": str(command_id)})
            self._keep(connection, words)

    def _keep(
        self, connection: sqlite3.Connection, words: tuple[Word, ...], statement: str = "add_word"
    ) -> tuple[UUID, ...]:
        """Those it did not have."""
        new = []
        for word in words:
            row = {"command_id": str(word.command_id), "kind": word.kind, "body": word.body}
            if connection.execute(self._sql[statement], row).rowcount:
                new.append(word.command_id)
        return tuple(new)

    # Words.

    def waiting_words(self, limit: int) -> tuple[Word, ...]:
        rows = self._all("waiting_words", limit=limit)
        return tuple(Word(UUID(row["command_id"]), row["kind"], bytes(row["body"])) for row in rows)

    def delivered(self, word: Word, *, refusal: str | None) -> None:
        self._write("deliver_word", command_id=str(word.command_id), kind=word.kind, refusal=refusal)

    def acknowledge_anew(self, command_id: UUID) -> None:
        self._write("acknowledge_anew", command_id=str(command_id))

    # Maintenance.

    def put_statement(self, body: bytes, *, draining: bool) -> None:
        self._write("put_statement", body=body, draining=int(draining))

    def open_statement(self) -> bytes | None:
        found = self._one("feed_state")["statement"]
        return bytes(found) if found is not None else None

    def close_statement(self) -> None:
        self._write("close_statement")

    def is_draining(self) -> bool:
        return bool(self._one("feed_state")["draining"])

    # For the status.

    def counts(self) -> dict[str, int]:
        """Commands by act and state, `submit.ended` for example."""
        return {f"{row['act']}.{row['state']}": row["number"] for row in self._all("counts")}

    def waiting_count(self) -> int:
        return int(self._one("waiting_count")[0])

    def _one(self, name: str, **values: object) -> sqlite3.Row:
        return self._all(name, **values)[0]

    def _all(self, name: str, **values: object) -> list[sqlite3.Row]:
        return self._journal.read(self._sql[name], values)

    def _write(self, name: str, **values: object) -> int:
        with self._journal.transaction() as connection:
            return connection.execute(self._sql[name], values).rowcount


def _command_row(command: Command, now: datetime) -> dict[str, object]:
    act = "cancel" if isinstance(command.action, Cancel) else "submit"
    if isinstance(command.action, CleanUp):
        act = "cleanup"
    return {
        "command_id": str(command.command_id),
        "attempt_id": str(command.attempt_id),
        "sequence": command.sequence,
        "act": act,
        "body": encode_command(command),
        "valid_until": render_time(command.valid_until),
        "now": render_time(now),
    }


def _command(row: sqlite3.Row) -> Command:
    try:
        command = decode_command(bytes(row["body"]))
        return replace(command, valid_until=parse_time(row["valid_until"]))
    except ValueError as error:
        raise _corrupt(row["command_id"]) from error


def _stage(row: sqlite3.Row) -> Stage:
    command = _command(row)
    job = JobRef(row["job_id"], row["cluster"], _time(row["submitted_at"])) if row["job_id"] else None
    return Stage(
        command=command,
        state=State(row["state"]),
        intent_at=_time(row["intent_at"]),
        job=job,
        missing_since=_time(row["missing_since"]),
        code=row["code"],
    )


def _stage_row(stage: Stage) -> dict[str, object]:
    job = stage.job
    return {
        "command_id": str(stage.command.command_id),
        "state": stage.state.value,
        "intent_at": _shown(stage.intent_at),
        "job_id": job.job_id if job else None,
        "cluster": job.cluster if job else None,
        "submitted_at": _shown(job.submitted_at) if job else None,
        "missing_since": _shown(stage.missing_since),
        "code": stage.code,
    }


def _corrupt(command_id: str) -> UnavailableError:
    return UnavailableError(
        "journal_corrupt",
        found=f"command {command_id} cannot be read back",
        wanted="what was journalled",
        remedy="keep the file for an analysis and ask; nothing is concluded from it",
    )


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None


def _time(text: str | None) -> datetime | None:
    return parse_time(text) if text else None


def _shown(instant: datetime | None) -> str | None:
    return render_time(instant) if instant is not None else None

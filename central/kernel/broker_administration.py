"""The PostgreSQL broker seen by its administration: what it must have, what waits, what was buried (X12).

Everything here is the right of the broker's owner (the migrator's role), never of a process: an identity sees
what it is enrolled for and no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.broker import Act, QueueSpec
from central.kernel.database import Database, Transaction
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant


@dataclass(frozen=True, slots=True, order=True)
class Enrolment:
    """A login role may do one thing at the broker."""

    identity: str
    act: Act
    name: str


@dataclass(frozen=True, slots=True)
class Administration:
    """What a context needs of the broker."""

    queues: tuple[QueueSpec, ...]
    enrolments: tuple[Enrolment, ...]

    def __add__(self, other: "Administration") -> "Administration":
        """Both; what is in both counts once."""
        return Administration(
            tuple(dict.fromkeys((*self.queues, *other.queues))),
            tuple(dict.fromkeys((*self.enrolments, *other.enrolments))),
        )


@dataclass(frozen=True, slots=True)
class QueueState:
    """A declared queue: how many messages wait, since when one is due, how many were buried."""

    name: str
    topics: tuple[str, ...]
    max_attempts: int
    waiting: int
    due_since: datetime | None
    dead: int


@dataclass(frozen=True, slots=True)
class Buried:
    """A buried message as its queue names it. Its body stays where it is: it may speak of persons."""

    queue: str
    position: int
    message_id: UUID
    topic: str
    size: int
    attempts: int
    reason: str
    died_at: datetime


class BrokerAdministration:
    """The administration of one broker."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.kernel", "broker_administration.sql")
        self._making = load_queries("central.kernel", "broker.sql")

    def lacking(self, wanted: Administration) -> Administration:
        """What of it the broker does not have yet, or has otherwise."""
        queues = {queue.name: queue for queue in self.queues()}
        enrolled = set(
            self._database.run(lambda tx: tx.all(Enrolment, self._queries["enrolments"]), repeatable=True)
        )
        return Administration(
            tuple(spec for spec in wanted.queues if not _stands(queues.get(spec.name), spec)),
            tuple(one for one in wanted.enrolments if one not in enrolled),
        )

    def apply(self, wanted: Administration) -> None:
        """Declares and enrols, all in one transaction; run again, it changes nothing."""

        def write(tx: Transaction) -> None:
            for queue in wanted.queues:
                params = {"queue": queue.name, "topics": list(queue.topics), "attempts": queue.max_attempts}
                tx.execute(self._making["declare"], params)
            for one in wanted.enrolments:
                params = {"identity": one.identity, "act": one.act, "name": one.name}
                tx.execute(self._making["enrol"], params)

        self._database.run(write, repeatable=True)

    def queues(self) -> Sequence[QueueState]:
        """Every declared queue, by name."""
        rows = self._database.run(lambda tx: tx.all(_QueueRow, self._queries["queues"]), repeatable=True)
        return [
            QueueState(
                row.name,
                tuple(row.topics),
                row.max_attempts,
                row.waiting,
                stored_instant(row.due_since) if row.due_since else None,
                row.dead,
            )
            for row in rows
        ]

    def buried(self, queue: str | None, limit: int) -> Sequence[Buried]:
        """At most `limit` of what was buried, in one queue or (None) all, oldest first."""
        params = {"queue": queue, "limit": limit}
        return self._database.run(lambda tx: tx.all(Buried, self._queries["buried"], params), repeatable=True)

    def buried_positions(self, queue: str, some: Sequence[int] | None) -> Sequence[int]:
        """Where a queue's buried messages are, ascending: those of `some`, or (None) every one."""
        params = {"queue": queue, "some": None if some is None else list(some)}
        rows = self._database.run(lambda tx: tx.all(_Position, self._queries["positions"], params))
        return [row.position for row in rows]

    def replay(self, queue: str, positions: Sequence[int]) -> int:
        """Puts buried messages back at the queue's end with all attempts before them. How many there were."""
        return self._take_out("replay", queue, positions)

    def discard(self, queue: str, positions: Sequence[int]) -> int:
        """Forgets buried messages for good. How many there were."""
        return self._take_out("discard", queue, positions)

    def _take_out(self, query: str, queue: str, positions: Sequence[int]) -> int:
        params = {"queue": queue, "positions": list(positions)}
        return self._database.run(lambda tx: tx.one(_Count, self._queries[query], params)).count


def _stands(found: QueueState | None, wanted: QueueSpec) -> bool:
    return found is not None and (set(found.topics), found.max_attempts) == (
        set(wanted.topics),
        wanted.max_attempts,
    )


@dataclass(frozen=True, slots=True)
class _QueueRow:
    name: str
    topics: list[str]
    max_attempts: int
    waiting: int
    due_since: datetime | None
    dead: int


@dataclass(frozen=True, slots=True)
class _Position:
    position: int


@dataclass(frozen=True, slots=True)
class _Count:
    count: int

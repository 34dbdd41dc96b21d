"""Lease rows of periodic passes (O3).

1. A pass begins when none is at work and its interval has passed since the last one began, whichever replica
   did it: more replicas do not make more passes.
2. Times are the server's. A pass whose process died is taken over when its lease ends.
3. `token` counts passes and fences: what a pass that lost its lease still gives back changes nothing. What
   it writes is fenced by its own rows (the view's scopes by their epoch, which counts in the same way).
4. Intervals in which no pass began are counted in the row, so that a worker that was down shows.
"""

from dataclasses import dataclass
from datetime import timedelta

from central.kernel.database import Database
from central.kernel.queries import load_queries


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do one pass. `missed`: how many intervals were left out since the first one."""

    name: str
    token: int
    missed: int


class Leases:
    """The leases of one database. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = load_queries("central.kernel", "leases.sql")

    def take(self, name: str, *, every: timedelta, hold: timedelta) -> Lease | None:
        """The lease of a pass that is due, for `hold` at most; None while it is not, or another is at work.

        An unknown commit costs one interval at most, so it is not tried again. Raises `Unavailable`.
        """
        params = {"name": name, "every": every.total_seconds(), "hold": hold.total_seconds()}
        row = self._database.run(lambda tx: tx.maybe(_TakenRow, self._queries["take"], params))
        return None if row is None else Lease(name, row.token, row.missed)

    def give_back(self, lease: Lease) -> None:
        """Ends the pass, so that the next one may begin when it is due."""
        params = {"name": lease.name, "token": lease.token}
        self._database.run(lambda tx: tx.execute(self._queries["give_back"], params), repeatable=True)


@dataclass(frozen=True, slots=True)
class _TakenRow:
    token: int
    missed: int

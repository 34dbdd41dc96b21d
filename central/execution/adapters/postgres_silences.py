"""`Silences` in PostgreSQL: a row a silent host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from central.execution.application.worker_ports import Silence
from central.kernel.database import Database
from central.kernel.queries import load_queries


@dataclass(frozen=True, slots=True)
class _Row:
    host: str
    since: datetime
    seen: datetime


class PostgresSilences:
    """The hosts silent to questions of one purpose. Safe to share between threads."""

    def __init__(self, database: Database, purpose: str) -> None:
        self._database = database
        self._purpose = {"purpose": purpose}
        self._queries = load_queries("central.execution", "silences.sql")

    def known(self) -> Mapping[str, Silence]:
        """See `Silences`."""
        rows = self._database.run(
            lambda tx: tx.all(_Row, self._queries["known"], self._purpose), repeatable=True
        )
        return {row.host: Silence(row.since, row.seen) for row in rows}

    def seen(self, host: str, what: str, now: datetime) -> None:
        """See `Silences`."""
        params = self._purpose | {"host": host, "what": what, "now": now}
        self._database.run(lambda tx: tx.execute(self._queries["seen"], params), repeatable=True)

    def over(self, hosts: Sequence[str]) -> None:
        """See `Silences`."""
        params = self._purpose | {"hosts": list(hosts)}
        self._database.run(lambda tx: tx.execute(self._queries["over"], params), repeatable=True)

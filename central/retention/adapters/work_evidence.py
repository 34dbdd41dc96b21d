"""Accepted work as it is stored, for operators: read whether or not a list may be answered (O1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.kernel.database import Database
from central.kernel.queries import load_queries
from central.kernel.times import stored_instant
from central.retention.adapters.rows import WorkRow
from central.retention.domain.accepted_work import AcceptedWork


@dataclass(frozen=True, slots=True)
class ToldWork:
    """An item, and when its owner last told of it."""

    work: AcceptedWork
    told_at: datetime


@dataclass(frozen=True, slots=True)
class _ToldRow(WorkRow):
    told_at: datetime


def work_of_party(database: Database, site: str, party: UUID) -> Sequence[ToldWork]:
    """Every item of a Party at a Site, required ones first."""
    queries = load_queries("central.retention", "retention.sql")
    params = {"site": site, "party_id": party}
    rows = database.run(lambda tx: tx.all(_ToldRow, queries["work_of_party"], params), repeatable=True)
    return [ToldWork(row.work(), stored_instant(row.told_at)) for row in rows]

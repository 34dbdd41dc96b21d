"""New versions of many allocations as one statement, whatever their number (P7, P8, F09).

It leaves exactly what the generic aggregate store leaves one by one: a version, a moved head, a receipt.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from central.kernel.binary_arrays import integer_array, uuid_array, uuid_text_array
from central.kernel.database import Transaction
from central.kernel.driver_errors import ConstraintViolated, TransactionConflict
from central.kernel.queries import Queries, Query
from central.provisioning.adapters.report_receipts import command_digests, commands_of, reused
from central.provisioning.adapters.rows import Written, encode_answer, standing_of
from central.provisioning.adapters.snapshots import KnownVersions, encode_snapshot, version_digest
from central.provisioning.application.report import Answered, Report
from central.provisioning.domain.allocation import Allocation
from central.provisioning.domain.decision import Outcome

_RACES: Final = frozenset({"aggregate_versions_pkey", "aggregate_heads_pkey", "allocation_sightings_pkey"})


class Change(Struct, frozen=True, gc=False):
    """The new version of the resource at one position of a report."""

    position: int
    version: int
    after: Allocation


class Touch(Struct, frozen=True, gc=False):
    """A resource that was seen again by decision, at the version it stands at."""

    position: int
    version: int


class ChangeSets:
    """Writes them; safe to share between threads. What it writes is `known` afterwards."""

    def __init__(self, queries: Queries, known: KnownVersions) -> None:
        self._queries = queries
        self._known = known

    def change(self, tx: Transaction, report: Report, changes: Sequence[Change], now: datetime) -> None:
        """Writes versions, heads, sightings and receipts; `TransactionConflict` if one moved meanwhile."""
        first = [change for change in changes if change.version == 1]
        later = [change for change in changes if change.version > 1]
        for query, same in (("add_changes", first), ("move_changes", later)):
            if same:
                params = _columns(report, same, self._known) | {"now": now}
                try:
                    _write(tx, self._queries[query], params, len(same))
                except TransactionConflict:
                    self._known.forget()  # so that all of it is read before it is decided again
                    raise

    def touch(self, tx: Transaction, report: Report, touches: Sequence[Touch]) -> None:
        """Renews sightings together with what was said this time."""
        if not touches:
            return
        params = {
            "ids": uuid_text_array(report.allocation_ids[touch.position] for touch in touches),
            "versions": integer_array([touch.version for touch in touches]),
            "contents": uuid_text_array(report.contents[touch.position] for touch in touches),
            "site": report.site,
            "observed_at": report.observed_at,
        }
        if tx.execute(self._queries["touch_sightings"], params) != len(touches):
            raise TransactionConflict("an allocation moved while it was decided")


def _write(tx: Transaction, query: Query, params: dict[str, object], wanted: int) -> None:
    try:
        written = tx.one(Written, query, params)
    except ConstraintViolated as error:
        if error.constraint == "receipts_pkey":
            raise reused() from None
        if error.constraint in _RACES:
            raise TransactionConflict("an allocation was first reported by another Site meanwhile") from None
        raise
    if not written.heads == written.sightings == wanted:
        raise TransactionConflict("an allocation moved while it was decided")


def _columns(report: Report, changes: Sequence[Change], known: KnownVersions) -> dict[str, object]:
    positions = [change.position for change in changes]
    afters = [change.after for change in changes]
    versions = [change.version for change in changes]
    snapshots = [encode_snapshot(after) for after in afters]
    digests = [
        version_digest(after.allocation_id, version, snapshot)
        for after, version, snapshot in zip(afters, versions, snapshots, strict=True)
    ]
    for digest, version, after in zip(digests, versions, afters, strict=True):
        known.learn(digest, version, after)
    answers = {
        revision: encode_answer(Answered(Outcome.CHANGED, revision))
        for revision in {after.revision for after in afters}
    }
    return {
        "ids": uuid_text_array(report.allocation_ids[position] for position in positions),
        "versions": integer_array(versions),
        "commands": uuid_text_array(commands_of(report, positions)),
        "snapshots": b"\n".join(snapshots).decode(),
        "digests": b"".join(digests),
        "projects": uuid_array(after.facts.project_id for after in afters),
        "revisions": integer_array([after.revision for after in afters]),
        "standings": "".join([standing_of(after).value for after in afters]).encode(),
        "contents": uuid_text_array(report.contents[position] for position in positions),
        "request_digests": b"".join(command_digests(report, positions)),
        "answers": b"\n".join([answers[after.revision] for after in afters]).decode(),
        "site": report.site,
        "observed_at": report.observed_at,
    }

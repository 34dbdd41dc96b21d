"""A Run as accepted work: what others keep its account for (P27, P29), in docs/wire.md's canonical form."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from msgspec import Raw, Struct

from central.execution.domain.command import COMMANDS
from central.execution.domain.run import Attempt, Run
from central.kernel.strict_json import encode
from central.kernel.times import format_rfc3339

OWNER: Final = "execution"
TOPIC: Final = "execution.AcceptedWorkChanged"


class ItemBody(Struct, frozen=True, rename="camel"):
    """`item`."""

    item_id: UUID
    kind: str
    revision: int
    state: str
    project_id: UUID
    party_id: UUID
    site: str
    binding_id: UUID | None
    generation: int
    management_generation: int
    deadline: str


class DataBody(Struct, frozen=True, rename="camel"):
    """`data`."""

    owner: str
    item: Raw


class EventBody(Struct, frozen=True, rename="camel"):
    """`execution.AcceptedWorkChanged`."""

    schema: int
    message_id: UUID
    type: str
    occurred_at: str
    data: DataBody


@dataclass(frozen=True, slots=True)
class WorkRow:
    """What of a Run is accepted work: one item an attempt. `binding_id` None: from before it was kept."""

    item_id: UUID
    project_id: UUID
    party_id: UUID
    site: str
    binding_id: UUID | None
    generation: int
    management_generation: int
    deadline: datetime
    revision: int
    released: bool


def item_id_of(run: Run, attempt: Attempt) -> UUID:
    """The first attempt's item has the Run's id, a later one's the attempt's: a release is final (P27)."""
    return run.run_id if attempt.number == 1 else attempt.attempt_id


def row_of(run: Run) -> WorkRow:
    """The row of the Run's latest attempt."""
    return WorkRow(
        item_id=item_id_of(run, run.attempt),
        project_id=run.request.project_id,
        party_id=run.created_by,
        site=run.request.site,
        binding_id=run.identity.binding_id,
        generation=run.identity.generation,
        management_generation=run.identity.management_generation,
        deadline=run.request.deadline,
        revision=run.revision,
        released=run.released,
    )


def rows_since(run: Run, published: int) -> list[WorkRow]:
    """What is to be said of a Run whose revision `published` was said: the releases of attempts that ended
    since, then its latest attempt.
    """
    latest = row_of(run)
    ended = [
        replace(latest, item_id=item_id_of(run, each), revision=each.past.revision, released=True)
        for each in run.attempts
        if each.past is not None and each.past.revision > published
    ]
    return [*ended, latest]


def encode_item(row: WorkRow) -> bytes:
    """The item's canonical encoding; the inventory's fingerprint is over these bytes."""
    known = row.binding_id is not None
    return encode(
        ItemBody(
            item_id=row.item_id,
            kind="run",
            revision=row.revision,
            state="released" if row.released else "required",
            project_id=row.project_id,
            party_id=row.party_id,
            site=row.site,
            binding_id=row.binding_id,
            generation=row.generation if known else 0,
            management_generation=row.management_generation if known else 0,
            deadline=format_rfc3339(row.deadline),
        )
    )


def message_id_of(row: WorkRow) -> UUID:
    """One a revision: said again, it is the same message."""
    return uuid5(COMMANDS, f"accepted work {row.item_id} {row.revision}")


def encode_event(row: WorkRow, occurred_at: datetime) -> bytes:
    """The event of an item's revision."""
    item = Raw(encode_item(row))
    return encode(EventBody(1, message_id_of(row), TOPIC, format_rfc3339(occurred_at), DataBody(OWNER, item)))

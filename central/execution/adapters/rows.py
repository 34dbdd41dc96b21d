"""Rows of the store, and Runs as the snapshots the aggregate store keeps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from central.execution.application.ports import Listed
from central.execution.domain.command import Action, CleanUp, Submit
from central.execution.domain.command import Cancel as CancelAction
from central.execution.domain.run import Run
from central.kernel.errors import CorruptState
from central.kernel.times import stored_instant

FORMAT: Final = 1


class Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A saved Run; `format` changes when its shape does."""

    format: int
    run: Run


class ActionRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A saved action. Exactly one of the first three is there."""

    submit: Submit | None = None
    cancel: CancelAction | None = None
    cleanup: bool = False


@dataclass(frozen=True, slots=True)
class RunIdRow:
    """Which Run."""

    run_id: UUID


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A row of the feed; without a command it only says where the feed stands."""

    feed: UUID
    head: int
    sequence: int | None
    command_id: UUID | None
    issued_at: datetime | None
    action: str | None
    attempt_id: UUID | None
    run_id: UUID | None


def encode_run(run: Run) -> bytes:
    """The canonical snapshot of a Run."""
    return msgspec.json.encode(Snapshot(FORMAT, run))


def decode_run(snapshot: bytes, run_id: UUID) -> Run:
    """A Run as it was saved. `CorruptState` for anything that is not one, or is another."""
    try:
        saved = msgspec.json.decode(snapshot, type=Snapshot)
    except msgspec.MsgspecError as error:
        raise CorruptState(f"run {run_id}: its snapshot is unreadable") from error
    if saved.format != FORMAT or saved.run.run_id != run_id:
        raise CorruptState(f"run {run_id}: its snapshot is another's")
    stored_instant(saved.run.created_at)
    stored_instant(saved.run.changed_at)
    stored_instant(saved.run.request.deadline)
    return saved.run


def encode_action(action: Action) -> str:
    """An action as text of JSON."""
    if isinstance(action, Submit):
        row = ActionRow(submit=action)
    elif isinstance(action, CancelAction):
        row = ActionRow(cancel=action)
    else:
        row = ActionRow(cleanup=True)
    return msgspec.json.encode(row).decode()


def listed(row: CommandRow, run: Run) -> Listed:
    """A row that holds a command, with its Run."""
    sequence, command_id, issued_at, action, attempt_id = (
        row.sequence, row.command_id, row.issued_at, row.action, row.attempt_id,
    )  # fmt: skip
    if sequence is None or command_id is None or issued_at is None or action is None or attempt_id is None:
        raise CorruptState(f"run {run.run_id}: a row of its commands is incomplete")
    try:
        saved = msgspec.json.decode(action, type=ActionRow)
    except msgspec.MsgspecError as error:
        raise CorruptState(f"command {command_id}: its action is unreadable") from error
    return Listed(
        sequence=sequence,
        command_id=command_id,
        issued_at=stored_instant(issued_at),
        action=saved.submit or saved.cancel or CleanUp(),
        attempt_id=attempt_id,
        run=run,
    )

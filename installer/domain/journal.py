"""The write-ahead journal: one JSON object a line, each carrying the SHA-256 of its own content.

1. A torn last record (a power cut while appending) is dropped: its step had not begun, as each is written
   before it acts. Torn is what lacks its newline; a first record with NULs is no such thing, for the intent
   was on the disk before anything was changed.
2. Any other damaged record is corruption: refused with exit 9, never skipped.
3. Records are numbered from 0 without a gap; the first is the intent; after a closing record there is none.
4. The operation names its components' own files, unit and links alone: recovery writes nowhere else.
5. A higher schema than ours is refused by its number, the file untouched.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

import msgspec

from installer.domain.activation import Operation, operation_fault
from installer.domain.refusal import UNFINISHED_JOURNAL, Refusal
from installer.domain.strict_json import StrictJsonError, decode_object

SCHEMA = 1
Kind = Literal["intent", "step", "undo", "failed", "done", "restored"]
CLOSING = frozenset({"done", "restored"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One line: what is about to be done (step, undo), what went wrong (failed), or that the operation
    closed.
    """

    sequence: int
    kind: Kind
    at: str
    step: str = ""
    detail: str = ""
    operation: Operation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """Everything a journal file says."""

    records: tuple[JournalRecord, ...]
    torn: bool
    """A torn tail was dropped."""
    length: int
    """Bytes up to the end of the last good record; what follows is the torn tail."""

    @property
    def operation(self) -> Operation | None:
        """The operation, or None in a journal without a record."""
        return self.records[0].operation if self.records else None

    @property
    def closed(self) -> bool:
        """Whether nothing is left to do: no operation, or one that was closed."""
        return not self.records or self.records[-1].kind in CLOSING


def encode_record(record: JournalRecord) -> bytes:
    """The line for ``record``, newline included."""
    body = {"schema": SCHEMA, **msgspec.to_builtins(record)}
    return _canonical({**body, "sha256": hashlib.sha256(_canonical(body)).hexdigest()}) + b"\n"


def decode_journal(data: bytes) -> Journal:
    """The journal in ``data``. Raises Refusal ``journal_corrupt`` or ``journal_schema`` (exit 9)."""
    records: list[JournalRecord] = []
    length = 0
    lines = data.splitlines(keepends=True) if data else []
    for index, line in enumerate(lines):
        if not line.endswith(b"\n") and index == len(lines) - 1 and (records or b"\0" not in line):
            return Journal(records=tuple(records), torn=True, length=length)
        try:
            document = _decode_line(line)
        except _DamagedError as damage:
            raise _corrupt(index, str(damage)) from damage
        record = _convert(document, index)
        _check_order(records, record, index)
        records.append(record)
        length += len(line)
    return Journal(records=tuple(records), torn=False, length=length)


class _DamagedError(ValueError):
    """One line is not a record."""


def _canonical(value: object) -> bytes:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def _decode_line(line: bytes) -> dict[str, object]:
    try:
        document = decode_object(line)
    except StrictJsonError as error:
        raise _DamagedError(str(error)) from error
    digest = document.pop("sha256", None)
    if digest != hashlib.sha256(_canonical(document)).hexdigest():
        raise _DamagedError("its digest does not match its content")
    return document


def _convert(document: dict[str, object], index: int) -> JournalRecord:
    """The record of a line whose digest holds: what is wrong with it now, somebody wrote so (B13)."""
    schema = document.pop("schema", None)
    if schema != SCHEMA:
        raise Refusal(
            "journal_schema",
            found=f"a journal of schema {schema}",
            wanted=f"schema {SCHEMA}",
            remedy="Run the installer version that wrote it; the file was not touched.",
            exit_code=UNFINISHED_JOURNAL,
        )
    try:
        record = msgspec.convert(document, JournalRecord, strict=True)
    except msgspec.ValidationError as error:
        raise _corrupt(index, str(error)) from error
    fault = operation_fault(record.operation) if record.operation is not None else None
    if fault is not None:
        raise _corrupt(index, fault)
    return record


def _check_order(before: list[JournalRecord], record: JournalRecord, index: int) -> None:
    if record.sequence != index:
        raise _corrupt(index, f"numbered {record.sequence}")
    if (index == 0) != (record.kind == "intent") or (record.kind == "intent") != (
        record.operation is not None
    ):
        raise _corrupt(index, f"an unexpected {record.kind} record")
    if before and before[-1].kind in CLOSING:
        raise _corrupt(index, "a record after the closing one")


def _corrupt(index: int, why: str) -> Refusal:
    return Refusal(
        "journal_corrupt",
        found=f"journal record {index}: {why}",
        wanted="records written by this installer, unbroken",
        remedy="Compare the host with `pharos-installer status`, then move the journal aside with"
        " `pharos-installer recover --quarantine-journal`. Other verbs still work.",
        exit_code=UNFINISHED_JOURNAL,
    )

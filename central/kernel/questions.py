"""Answers of owners to questions over the Broker port (docs/wire.md, "Initial load and recovery").

1. An answer that breaks its form, answers another question or contradicts itself is `AnswerMalformed`: no
   answer at all (X1).
2. A query error is not an answer either: `snapshot_gone` raises `SnapshotGone`, the rest `Unavailable`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final, Generic, Literal, TypeVar
from uuid import UUID

from msgspec import Meta, Struct

from central.kernel.errors import Unavailable
from central.kernel.paging import Item, Page
from central.kernel.problems import Problem
from central.kernel.strict_json import MAX_INTEGER, JsonLimits, decode

LIMITS: Final = JsonLimits(items=500_000)
"""Of an answer or an event. Bytes bound it first: 2 MiB (docs/wire.md)."""

UuidText = Annotated[
    str, Meta(pattern=r"\A[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\Z")
]
Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Positive = Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
"""A revision, a generation that is there."""
Fingerprint = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]

S = TypeVar("S", bound=Struct)
T = TypeVar("T", bound=Item)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Encoded(Generic[V]):
    """An item of a page with the canonical encoding its fingerprint is over."""

    value: V
    id: UUID
    canonical: bytes


class SnapshotGone(Exception):
    """The owner replaced the snapshot while it was being read; the pass begins again."""


class ItemMalformed(ValueError):
    """An item fits its schema and still contradicts itself; the message says how, never a value."""


class AnswerMalformed(Exception):
    """The owner's answer breaks docs/wire.md; it is no answer."""


class PageQuestion(Struct, frozen=True, rename="camel"):
    """The next `limit` items of a snapshot, after the item `after` (None: from the first)."""

    schema: int
    query_id: UUID
    query: str
    scope: str
    snapshot_id: UUID
    after: UUID | None
    limit: int


class ErrorAnswer(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Why there is no answer."""

    schema: Literal[1]
    query_id: UuidText
    error: Literal["snapshot_gone", "not_allowed", "unavailable"]
    detail: str


def read_answer(body: bytes, type_: type[S], question: UUID, *, owner: str) -> S:
    """The answer of `owner` to `question`. Raises `AnswerMalformed`, `SnapshotGone` or `Unavailable`."""
    answer = decode_answer(body, type_, owner=owner)
    if UUID(answer.query_id) != question:  # type: ignore[attr-defined]  # every answer has one
        raise AnswerMalformed("the answer is another question's")
    return answer


def decode_answer(body: bytes, type_: type[S], *, owner: str) -> S:
    """As `read_answer`, whichever question it answers."""
    try:
        return decode(body, type_, limits=LIMITS)
    except Problem as problem:
        raise _no_answer(body, owner, problem.detail) from None


def page_of(items: Sequence[T], following: str | None) -> Page[T]:
    """A page of items. Raises `AnswerMalformed` for one that contradicts its own order."""
    ids = [item.id for item in items]
    if any(one >= other for one, other in pairwise(ids)):
        raise AnswerMalformed("the items do not ascend")
    after = uuid_or_none(following)
    if after is not None and (not ids or after != ids[-1]):
        raise AnswerMalformed("next is not the last item")
    return Page(items, after)


def uuid_or_none(text: str | None) -> UUID | None:
    """The id, where there is one."""
    return UUID(text) if text is not None else None


def _no_answer(body: bytes, owner: str, fault: str) -> Exception:
    try:
        error = decode(body, ErrorAnswer, limits=LIMITS)
    except Problem:
        return AnswerMalformed(fault)
    if error.error == "snapshot_gone":
        return SnapshotGone(error.detail)
    return Unavailable("unavailable", f"{owner} answers {error.error}")

"""`OwnerInventories` asked through the Broker port, in docs/wire.md's form (P29)."""

from collections.abc import Callable, Sequence
from typing import Final, Literal
from uuid import UUID, uuid4

from msgspec import Struct
from msgspec.json import encode

from central.kernel.paging import Manifest, Page, PagingLimits, read_whole
from central.kernel.questions import (
    AnswerMalformed,
    Count,
    Encoded,
    Fingerprint,
    ItemMalformed,
    PageQuestion,
    UuidText,
    page_of,
    read_answer,
    uuid_or_none,
)
from central.retention.application.items import ItemBody, OwnerText, encode_item
from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.ids import Owner

SCOPE: Final = "accepted_work"
PAGING: Final = PagingLimits()

Ask = Callable[[Owner, UUID, bytes], bytes]
"""Puts a question with its id to an owner and returns the answer's bytes; `Unavailable` if none came."""


class InventoryQuestion(Struct, frozen=True, rename="camel"):
    """What is all of the owner's accepted work now?"""

    schema: int
    query_id: UUID
    query: str
    scope: str


class InventoryAnswer(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Count and fingerprint of a snapshot."""

    schema: Literal[1]
    query_id: UuidText
    owner: OwnerText
    snapshot_id: UuidText
    count: Count
    fingerprint: Fingerprint


class WorkPageAnswer(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A page of a snapshot."""

    schema: Literal[1]
    query_id: UuidText
    owner: OwnerText
    snapshot_id: UuidText
    after: UuidText | None
    items: list[ItemBody]
    next: UuidText | None


class OwnerQuestions:
    """The adapter. `new_id` makes question ids."""

    def __init__(
        self, ask: Ask, *, limits: PagingLimits = PAGING, new_id: Callable[[], UUID] = uuid4
    ) -> None:
        self._ask = ask
        self._limits = limits
        self._new_id = new_id

    def read(self, owner: Owner) -> Sequence[AcceptedWork]:
        """See `OwnerInventories`."""
        manifest = self.inventory(owner)

        def read_page(after: UUID | None, limit: int) -> Page[Encoded[AcceptedWork]]:
            return self._page(owner, manifest.snapshot, after, limit)

        return [item.value for item in read_whole(manifest, read_page, limits=self._limits)]

    def inventory(self, owner: Owner) -> Manifest:
        """What the owner says its whole accepted work is."""
        question = InventoryQuestion(1, self._new_id(), "inventory", SCOPE)
        body = self._ask(owner, question.query_id, encode(question))
        answer = read_answer(body, InventoryAnswer, question.query_id, owner=owner)
        if answer.owner != owner:
            raise AnswerMalformed("the inventory is another owner's")
        return Manifest(UUID(answer.snapshot_id), 0, answer.count, answer.fingerprint)

    def _page(
        self, owner: Owner, snapshot: UUID, after: UUID | None, limit: int
    ) -> Page[Encoded[AcceptedWork]]:
        question = PageQuestion(1, self._new_id(), "page", SCOPE, snapshot, after, limit)
        body = self._ask(owner, question.query_id, encode(question))
        answer = read_answer(body, WorkPageAnswer, question.query_id, owner=owner)
        if (answer.owner, UUID(answer.snapshot_id), uuid_or_none(answer.after)) != (owner, snapshot, after):
            raise AnswerMalformed("the page is another one than was asked for")
        return items_of(answer)


def items_of(answer: WorkPageAnswer) -> Page[Encoded[AcceptedWork]]:
    """A page's items as values. Raises `AnswerMalformed` for one that contradicts itself or its order."""
    try:
        items = [_encoded(body.value(Owner(answer.owner))) for body in answer.items]
    except ItemMalformed as error:
        raise AnswerMalformed(str(error)) from None
    return page_of(items, answer.next)


def _encoded(value: AcceptedWork) -> Encoded[AcceptedWork]:
    return Encoded(value, value.id, encode_item(value))

"""`execution.questions`: Execution Core answers for its accepted work, in docs/wire.md's form (P29)."""

import logging
import threading
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from msgspec import Meta, Raw, Struct

from central.execution.application.answer_work import AnswerWork
from central.execution.application.work_items import OWNER
from central.kernel.broker import BackOff, Broker, Delivery, Subscription
from central.kernel.errors import Unavailable
from central.kernel.observability import bound, event
from central.kernel.problems import Problem
from central.kernel.questions import UuidText, uuid_or_none
from central.kernel.strict_json import decode, encode
from central.kernel.times import Clock

QUEUE: Final = "execution.questions"
BATCH: Final = 10
_LOG: Final = logging.getLogger("central.execution")


class InventoryQuestion(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", tag_field="query",
                        tag="inventory"):  # fmt: skip
    """What is all of it now?"""

    schema: Literal[1]
    query_id: UuidText
    scope: Literal["accepted_work"]


class PageQuestion(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", tag_field="query",
                   tag="page"):  # fmt: skip
    """The next items of a snapshot."""

    schema: Literal[1]
    query_id: UuidText
    scope: Literal["accepted_work"]
    snapshot_id: UuidText
    after: UuidText | None
    limit: Annotated[int, Meta(ge=1, le=500)]


_QUESTION: Final[Any] = InventoryQuestion | PageQuestion


class InventoryAnswer(Struct, frozen=True, rename="camel"):
    """Count and fingerprint of a snapshot."""

    schema: int
    query_id: UUID
    owner: str
    snapshot_id: UUID
    count: int
    fingerprint: str


class PageAnswer(Struct, frozen=True, rename="camel"):
    """A page of a snapshot."""

    schema: int
    query_id: UUID
    owner: str
    snapshot_id: UUID
    after: UUID | None
    items: list[Raw]
    next: UUID | None


class ErrorAnswer(Struct, frozen=True, rename="camel"):
    """Why there is none."""

    schema: int
    query_id: UUID
    error: str
    detail: str


@dataclass(frozen=True, slots=True)
class WorkQuestions:
    """Answers questions at its queue until it is stopped."""

    answers: AnswerWork
    clock: Clock

    def answer(self, body: bytes) -> bytes:
        """The answer's bytes. Raises `Problem` for what is no question, `Unavailable`."""
        question: InventoryQuestion | PageQuestion = decode(body, _QUESTION)
        asked = UUID(question.query_id)
        if isinstance(question, InventoryQuestion):
            taken = self.answers.take(self.clock())
            return encode(InventoryAnswer(1, asked, OWNER, taken.snapshot_id, taken.count, taken.fingerprint))
        snapshot, after = UUID(question.snapshot_id), uuid_or_none(question.after)
        page = self.answers.page(snapshot, after, question.limit)
        if page is None:
            return encode(ErrorAnswer(1, asked, "snapshot_gone", "ask for the inventory again"))
        items = [Raw(item) for item in page.items]
        return encode(PageAnswer(1, asked, OWNER, snapshot, after, items, page.next))

    def run(self, broker: Broker, stop: threading.Event) -> None:
        """Answers until `stop` is set; an outage of the broker is waited out with a growing pause."""
        pauses, failures = BackOff(first=0.5, longest=30.0), 0
        while not stop.is_set():
            try:
                with broker.subscribe(QUEUE) as subscription:
                    while not stop.is_set():
                        for question in subscription.fetch(BATCH, wait=1.0):
                            self._settle(subscription, question)
                        failures = 0
            except Unavailable as error:
                failures += 1
                event(_LOG, "broker_lost", level=logging.WARNING, queue=QUEUE, code=error.code)
            except Exception as error:  # noqa: BLE001 - a thread that ends would answer nobody for ever
                failures += 1
                event(_LOG, "questions_failed", level=logging.ERROR, queue=QUEUE, error=error)
            stop.wait(pauses.pause(failures))

    def _settle(self, subscription: Subscription, question: Delivery) -> None:
        with bound(messageId=str(question.message.id)):
            try:
                answer = self.answer(question.message.body)
            except Problem as problem:
                event(_LOG, "question_refused", level=logging.ERROR, queue=QUEUE, reason=problem.detail)
                subscription.reject([question], f"query_malformed: {problem.detail}")
            except Unavailable as error:
                event(_LOG, "question_deferred", level=logging.WARNING, queue=QUEUE, code=error.code)
                subscription.nack([question], error.code)
            else:
                subscription.answer(question, answer)

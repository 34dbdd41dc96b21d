"""What every context that speaks over the Broker port has in common: events told with faults, questions read
strictly.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from central.kernel.broker import Broker, Message
from tests.contract.goldens import canonical

Data = dict[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class QuestionMalformed(Exception):
    """`query_malformed`: the question breaks docs/wire.md. The asker is at fault, so a test fails loudly."""


@dataclass(slots=True)
class Faults:
    """Chances of each fault for every event, and what is wrong with answers now."""

    drop: float = 0.0
    double: float = 0.0
    delay: float = 0.0
    silent: bool = False
    forget_snapshots: bool = False
    """Every page question meets a snapshot that is gone."""
    corrupt: Callable[[Data], Data] | None = None
    """Turns a right answer into a wrong one."""


@dataclass(slots=True)
class Clock:
    """The speaker's clock, moved by tests."""

    now: datetime = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        """Time passes."""
        self.now += timedelta(seconds=seconds)


@dataclass(slots=True)
class Mouth:
    """`say` puts an event into the outbox as the faults have it; `flush` sends what is held back."""

    clock: Callable[[], datetime] = field(default_factory=Clock)
    faults: Faults = field(default_factory=Faults)
    dice: random.Random = field(default_factory=lambda: random.Random(0))
    outbox: list[Message] = field(default_factory=list)
    told: int = 0

    def say(self, message: Message) -> None:
        """Says it, or drops it, or says it twice."""
        self.told += 1
        if self.dice.random() < self.faults.drop:
            return
        self.outbox.append(message)
        if self.dice.random() < self.faults.double:
            self.outbox.append(message)

    def flush(self, broker: Broker, *, shuffled: bool = False) -> int:
        """Publishes the outbox; a delayed event waits for the next time. Returns how many were sent."""
        waiting = [m for m in self.outbox if self.dice.random() < self.faults.delay]
        sent = [m for m in self.outbox if all(m is not other for other in waiting)]
        if shuffled:
            self.dice.shuffle(sent)
        self.outbox[:] = waiting
        broker.publish(sent)
        return len(sent)


def read_question(body: bytes) -> Data:
    """A question, which is canonical and has schema and id. Raises `QuestionMalformed`."""
    try:
        question: Any = json.loads(body.decode("utf-8"))
    except ValueError as error:
        raise QuestionMalformed(str(error)) from None
    if not isinstance(question, dict) or canonical(question) != body:
        raise QuestionMalformed("not the canonical encoding of an object")
    if question.get("schema") != 1 or not is_id(question.get("queryId")):
        raise QuestionMalformed("schema 1 and a queryId are wanted")
    return question


def exactly(question: Data, fields: tuple[str, ...]) -> None:
    """Raises `QuestionMalformed` unless it has these fields, in this order."""
    if tuple(question) != fields:
        raise QuestionMalformed(f"wanted exactly {', '.join(fields)}")


ANSWER_BYTES = 1_048_576 - 1024
"""Items of one answer, so that it stays within 1 MiB with its head."""
PAGE = ("schema", "queryId", "query", "scope", "snapshotId", "after", "limit")


def check_page(question: Data) -> None:
    """Raises `QuestionMalformed` for a page question that is none."""
    exactly(question, PAGE)
    limit, after = question["limit"], question["after"]
    if type(limit) is not int or not 1 <= limit <= 500:
        raise QuestionMalformed("limit is not 1 to 500")
    if not is_id(question["snapshotId"]) or not (after is None or is_id(after)):
        raise QuestionMalformed("snapshotId and after are ids")


def page_after(items: list[Data], key: str, after: str | None, limit: int) -> Data:
    """`items` and `next` of a page: as many as `limit` and the 1 MiB of an answer allow, one at least."""
    rest = [item for item in items if after is None or item[key] > after]
    page: list[Data] = []
    room = ANSWER_BYTES
    for item in rest[:limit]:
        room -= len(canonical(item)) + 1
        if page and room < 0:
            break
        page.append(item)
    return {"items": page, "next": page[-1][key] if len(page) < len(rest) else None}


def is_id(text: object) -> bool:
    """Whether it is a UUID as the wire writes one."""
    return isinstance(text, str) and _UUID.fullmatch(text) is not None

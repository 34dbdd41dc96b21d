"""An owner's truth and its mouth: accepts work, revises and releases it, answers for all of it (P27, P29)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from central.kernel.broker import Message
from central.kernel.errors import Unavailable
from central.kernel.times import format_rfc3339
from central.retention.domain.ids import Owner
from tests.contract.goldens import canonical
from tests.simulators.mouth import (
    Data,
    Mouth,
    QuestionMalformed,
    check_page,
    exactly,
    page_after,
    read_question,
)

OWNERS = (Owner("execution"), Owner("pipeline"))
"""Execution Core and Pipeline Coordination."""
_INVENTORY = ("schema", "queryId", "query", "scope")
_SEEDS = {"execution": 0xE0, "pipeline": 0xB0}


@dataclass(slots=True)
class WorkOwner(Mouth):
    """`name` is `execution` or `pipeline`. `before_page` runs before each page is answered: work changes
    while it is read. A `restart` forgets the snapshot being read; the truth survives.
    """

    name: str = "execution"
    items: dict[str, Data] = field(default_factory=dict)
    asked: list[Data] = field(default_factory=list)
    before_page: Callable[[], None] | None = None
    live: bool = False
    """Pages are read from the present truth, not from the snapshot."""
    lie: str | None = None
    """Another fingerprint than the right one."""
    page: int = 500
    """At most so many items a page, whatever was asked for."""
    _made: int = 0
    _snapshot: tuple[str, list[Data]] = ("", [])

    @property
    def queue(self) -> str:
        """Where it answers questions."""
        return f"{self.name}.questions"

    @property
    def topic(self) -> str:
        """What its events come under."""
        return f"{self.name}.AcceptedWorkChanged"

    def accept(
        self, account: Data, *, kind: str = "run", deadline: float = 86_400.0, evidence: bool = True
    ) -> str:
        """Accepts work with an account (`projectId`, `partyId`, `site`, `bindingId`, `generation`,
        `managementGeneration`), says so, and returns the item's id.
        """
        bare = {"bindingId": None, "generation": 0, "managementGeneration": 0}
        item: Data = {"itemId": self._new_id(), "kind": kind, "revision": 0, "state": "required"}
        item |= account if evidence else account | bare
        item["deadline"] = format_rfc3339(self.clock() + timedelta(seconds=deadline))
        self.items[item["itemId"]] = item
        self.revise(item["itemId"])
        return str(item["itemId"])

    def revise(self, item_id: str, **changes: object) -> Data:
        """Another revision, told."""
        known = self.items[item_id]
        self.items[item_id] = known | changes | {"revision": known["revision"] + 1}
        self.say(self.message(self.items[item_id]))
        return self.items[item_id]

    def release(self, item_id: str) -> Data:
        """Releases it for good."""
        return self.revise(item_id, state="released")

    def forget(self, item_id: str) -> Data:
        """Lists it no more: the owner was restored from a copy, or lost it."""
        return self.items.pop(item_id)

    def message(self, item: Data) -> Message:
        """One event, encoded; each has its own id."""
        message_id = UUID(self._new_id())
        body = {
            "schema": 1,
            "messageId": str(message_id),
            "type": self.topic,
            "occurredAt": format_rfc3339(self.clock()),
            "data": {"owner": self.name, "item": item},
        }
        return Message(message_id, self.topic, canonical(body))

    def restart(self) -> None:
        """Forgets the snapshot it is being read from."""
        self._snapshot = ("", [])

    @property
    def snapshot(self) -> list[Data]:
        """What it was last read as."""
        return self._snapshot[1]

    def listed(self) -> list[Data]:
        """All of its work, released too, in ascending order."""
        return [dict(item) for _, item in sorted(self.items.items())]

    def ask(self, question_id: UUID, body: bytes) -> bytes:
        """The answer to a question, for an asker in the same process. Silence is `Unavailable`."""
        if self.faults.silent:
            raise Unavailable("unavailable", f"{self.name} says nothing")
        answer = self.answer(body)
        assert json.loads(answer)["queryId"] == str(question_id)
        return answer

    def answer(self, body: bytes) -> bytes:
        """The answer's bytes. Raises `QuestionMalformed`."""
        question = read_question(body)
        self.asked.append(question)
        answer = {"schema": 1, "queryId": question["queryId"]} | self._found(question)
        return canonical(self.faults.corrupt(answer) if self.faults.corrupt else answer)

    def _found(self, question: Data) -> Data:
        if question.get("scope") != "accepted_work" or question.get("query") not in ("inventory", "page"):
            raise QuestionMalformed(f"no such question: {question.get('query')!r}")
        return self._inventory(question) if question["query"] == "inventory" else self._page(question)

    def _inventory(self, question: Data) -> Data:
        exactly(question, _INVENTORY)
        items = self.listed()
        self._snapshot = (self._new_id(), items)
        whole = b"".join(canonical(item) + b"\n" for item in items)
        return {
            "owner": self.name,
            "snapshotId": self._snapshot[0],
            "count": len(items),
            "fingerprint": self.lie or hashlib.sha256(whole).hexdigest(),
        }

    def _page(self, question: Data) -> Data:
        check_page(question)
        if self.before_page is not None:
            self.before_page()
        kept, items = self._snapshot
        if self.faults.forget_snapshots or kept != question["snapshotId"]:
            return {"error": "snapshot_gone", "detail": "ask for the inventory again"}
        limit = min(question["limit"], self.page)
        items = self.listed() if self.live else items
        found = page_after(items, "itemId", question["after"], limit)
        return {"owner": self.name, "snapshotId": kept, "after": question["after"], **found}

    def _new_id(self) -> str:
        """Another id; their order has nothing to do with their age."""
        self._made += 1
        spread = self._made * 0x9E3779B97F4A7C15 % 2**56
        return str(UUID(int=_SEEDS[self.name] << 120 | spread << 64 | 0x4000 << 64 | 8 << 60 | self._made))

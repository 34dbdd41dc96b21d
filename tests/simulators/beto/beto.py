"""Beto's mouth: publishes what changed, answers questions, and misbehaves on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from central.kernel.broker import Message
from central.kernel.times import format_rfc3339, parse_rfc3339
from tests.contract.goldens import canonical
from tests.simulators.beto.truth import KEYS, PERMISSIONS, TYPES, Change, Data, Truth
from tests.simulators.mouth import (
    Clock,
    Faults,
    Mouth,
    QuestionMalformed,
    check_page,
    exactly,
    is_id,
    page_after,
    read_question,
)

__all__ = ["QUESTIONS", "Beto", "Clock", "Faults", "QuestionMalformed", "occurred", "ready_for"]

QUESTIONS = "beto.questions"
_CHECKPOINT = ("schema", "queryId", "query", "scope")
_DECISION = ("schema", "queryId", "query", "projectId", "partyId", "permission")


@dataclass(slots=True)
class Beto(Mouth):
    """`tell` a change of the truth; `flush` what is held back; `answer` a question."""

    truth: Truth = field(default_factory=Truth)
    denied: set[tuple[str, str]] = field(default_factory=set)
    """Project and Party for which `project_allowed` says no."""
    enrolled: frozenset[str] = frozenset(KEYS)
    asked: list[Data] = field(default_factory=list)
    _messages: int = 0
    _snapshots: dict[str, tuple[str, list[Data]]] = field(default_factory=dict)

    def tell(self, *changes: Change) -> None:
        """Puts the events of changes into the outbox, as the faults have it."""
        for scope, data in changes:
            self.say(self.message(scope, data))

    def message(self, scope: str, data: Data) -> Message:
        """One event, encoded."""
        self._messages += 1
        message_id = UUID(int=0xBE70 << 112 | 0x4000 << 64 | 8 << 60 | self._messages)
        body = {
            "schema": 1,
            "messageId": str(message_id),
            "type": TYPES[scope],
            "occurredAt": format_rfc3339(self.clock() + timedelta(microseconds=self._messages)),
            "data": data,
        }
        return Message(message_id, TYPES[scope], canonical(body))

    def restart(self) -> None:
        """Forgets every snapshot it was being read from."""
        self._snapshots.clear()

    def checkpoint(self, scope: str) -> Data:
        """Count and fingerprint of a scope, computed here and not by the view."""
        items = self.truth.items(scope)
        whole = b"".join(canonical(item) + b"\n" for item in items)
        return {"count": len(items), "fingerprint": hashlib.sha256(whole).hexdigest()}

    def ask(self, question_id: UUID, body: bytes) -> bytes:
        """The answer to a question, for an asker in the same process. Silence is `Unavailable`."""
        from central.kernel.errors import Unavailable

        if self.faults.silent:
            raise Unavailable("unavailable", "Beto says nothing")
        answer = self.answer(body)
        assert json.loads(answer)["queryId"] == str(question_id)
        return answer

    def answer(self, body: bytes) -> bytes:
        """The answer's bytes. Raises `QuestionMalformed`."""
        question = read_question(body)
        self.asked.append(question)
        found = self._found(question)
        answer = {"schema": 1, "queryId": question["queryId"]} | found
        return canonical(self.faults.corrupt(answer) if self.faults.corrupt else answer)

    def _found(self, question: Data) -> Data:
        kind = question.get("query")
        if kind == "project_allowed":
            return self._decision(question)
        if question.get("scope") not in KEYS or kind not in ("checkpoint", "page"):
            raise QuestionMalformed(f"no such question: {kind!r} of {question.get('scope')!r}")
        if question["scope"] not in self.enrolled:
            return {"error": "not_allowed", "detail": "the caller is not enrolled for this scope"}
        return self._checkpoint(question) if kind == "checkpoint" else self._page(question)

    def _checkpoint(self, question: Data) -> Data:
        exactly(question, _CHECKPOINT)
        scope = question["scope"]
        snapshot = self.truth.new_id()
        self._snapshots[scope] = (snapshot, self.truth.items(scope))
        return {
            "scope": scope,
            "snapshotId": snapshot,
            "position": self.truth.position,
            **self.checkpoint(scope),
        }

    def _page(self, question: Data) -> Data:
        check_page(question)
        scope, after = question["scope"], question["after"]
        kept, items = self._snapshots.get(scope, ("", []))
        if self.faults.forget_snapshots or kept != question["snapshotId"]:
            return {"error": "snapshot_gone", "detail": "ask for the checkpoint again"}
        found = page_after(items, KEYS[scope], after, question["limit"])
        return {
            "scope": scope,
            "snapshotId": kept,
            "after": after,
            **found,
        }

    def _decision(self, question: Data) -> Data:
        exactly(question, _DECISION)
        project, party = question["projectId"], question["partyId"]
        if question["permission"] not in PERMISSIONS or not (is_id(project) and is_id(party)):
            raise QuestionMalformed("the permission is not one of docs/wire.md")
        item = self.truth.projects.get(project)
        if item is None:
            return {"error": "not_allowed", "detail": "no such Project"}
        listed = any(one["partyId"] == party and one["binding"] for one in item["members"])
        member = listed and item["lifecycle"] == "active"
        allowed = member and (project, party) not in self.denied
        authority = self.truth.authorities.get(project)
        return {
            "decision": "allowed" if allowed else "denied",
            "projectRevision": item["revision"],
            "managementGeneration": authority["managementGeneration"] if authority else 0,
            "validUntil": format_rfc3339(self.clock() + timedelta(seconds=60)),
        }


def ready_for(clock: Callable[[], datetime], seconds: float = 3600) -> str:
    """An expiry so many seconds from now."""
    return format_rfc3339(clock() + timedelta(seconds=seconds))


def occurred(message: Message) -> datetime:
    """When an event says it happened."""
    return parse_rfc3339(json.loads(message.body)["occurredAt"])

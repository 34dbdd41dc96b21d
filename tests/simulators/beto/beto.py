"""Beto's mouth: publishes what changed, answers questions, and misbehaves on demand."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from central.kernel.broker import Broker, Message
from central.kernel.times import format_rfc3339, parse_rfc3339
from tests.contract.goldens import canonical
from tests.simulators.beto.truth import KEYS, PERMISSIONS, TYPES, Change, Data, Truth

QUESTIONS = "beto.questions"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CHECKPOINT = ("schema", "queryId", "query", "scope")
_PAGE = ("schema", "queryId", "query", "scope", "snapshotId", "after", "limit")
_DECISION = ("schema", "queryId", "query", "projectId", "partyId", "permission")


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
    """Beto's clock, moved by tests."""

    now: datetime = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        """Time passes."""
        self.now += timedelta(seconds=seconds)


@dataclass(slots=True)
class Beto:
    """`tell` a change of the truth; `flush` what is held back; `answer` a question."""

    truth: Truth = field(default_factory=Truth)
    clock: Callable[[], datetime] = field(default_factory=Clock)
    faults: Faults = field(default_factory=Faults)
    dice: random.Random = field(default_factory=lambda: random.Random(0))
    denied: set[tuple[str, str]] = field(default_factory=set)
    """Project and Party for which `project_allowed` says no."""
    enrolled: frozenset[str] = frozenset(KEYS)
    asked: list[Data] = field(default_factory=list)
    outbox: list[Message] = field(default_factory=list)
    told: int = 0
    _messages: int = 0
    _snapshots: dict[str, tuple[str, list[Data]]] = field(default_factory=dict)

    def tell(self, *changes: Change) -> None:
        """Puts the events of changes into the outbox, as the faults have it."""
        for scope, data in changes:
            message = self.message(scope, data)
            self.told += 1
            if self.dice.random() < self.faults.drop:
                continue
            self.outbox.append(message)
            if self.dice.random() < self.faults.double:
                self.outbox.append(message)

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

    def flush(self, broker: Broker, *, shuffled: bool = False) -> int:
        """Publishes the outbox; a delayed event waits for the next time. Returns how many were sent."""
        waiting = [m for m in self.outbox if self.dice.random() < self.faults.delay]
        sent = [m for m in self.outbox if all(m is not other for other in waiting)]
        if shuffled:
            self.dice.shuffle(sent)
        self.outbox[:] = waiting
        broker.publish(sent)
        return len(sent)

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
        question = _read(body)
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
        _exactly(question, _CHECKPOINT)
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
        _exactly(question, _PAGE)
        scope, limit, after = question["scope"], question["limit"], question["after"]
        if type(limit) is not int or not 1 <= limit <= 500:
            raise QuestionMalformed("limit is not 1 to 500")
        if not _is_id(question["snapshotId"]) or not (after is None or _is_id(after)):
            raise QuestionMalformed("snapshotId and after are ids")
        kept, items = self._snapshots.get(scope, ("", []))
        if self.faults.forget_snapshots or kept != question["snapshotId"]:
            return {"error": "snapshot_gone", "detail": "ask for the checkpoint again"}
        key = KEYS[scope]
        rest = [item for item in items if after is None or item[key] > after]
        more = len(rest) > limit
        return {
            "scope": scope,
            "snapshotId": kept,
            "after": after,
            "items": rest[:limit],
            "next": rest[limit - 1][key] if more else None,
        }

    def _decision(self, question: Data) -> Data:
        _exactly(question, _DECISION)
        project, party = question["projectId"], question["partyId"]
        if question["permission"] not in PERMISSIONS or not (_is_id(project) and _is_id(party)):
            raise QuestionMalformed("the permission is not one of docs/wire.md")
        item = self.truth.projects.get(project)
        if item is None:
            return {"error": "not_allowed", "detail": "no such Project"}
        member = party in self.truth.verified(project) and item["lifecycle"] == "active"
        allowed = member and (project, party) not in self.denied
        authority = self.truth.authorities.get(project)
        return {
            "decision": "allowed" if allowed else "denied",
            "projectRevision": item["revision"],
            "managementGeneration": authority["managementGeneration"] if authority else 0,
            "validUntil": format_rfc3339(self.clock() + timedelta(seconds=60)),
        }


def _read(body: bytes) -> Data:
    try:
        question: Any = json.loads(body.decode("utf-8"))
    except ValueError as error:
        raise QuestionMalformed(str(error)) from None
    if not isinstance(question, dict) or canonical(question) != body:
        raise QuestionMalformed("not the canonical encoding of an object")
    if question.get("schema") != 1 or not _is_id(question.get("queryId")):
        raise QuestionMalformed("schema 1 and a queryId are wanted")
    return question


def _exactly(question: Data, fields: tuple[str, ...]) -> None:
    if tuple(question) != fields:
        raise QuestionMalformed(f"wanted exactly {', '.join(fields)}")


def _is_id(text: object) -> bool:
    return isinstance(text, str) and _UUID.fullmatch(text) is not None


def ready_for(clock: Callable[[], datetime], seconds: float = 3600) -> str:
    """An expiry so many seconds from now."""
    return format_rfc3339(clock() + timedelta(seconds=seconds))


def occurred(message: Message) -> datetime:
    """When an event says it happened."""
    return parse_rfc3339(json.loads(message.body)["occurredAt"])

"""`AcceptedWorkChanged`: bytes → wire → use case (P27). What breaks docs/wire.md is `message_malformed`.

1. Three durable queues (X12). Executions' events come to two of them, and each takes its own kinds, so that
   every item is handled by exactly one consumer.
2. A message nobody can read, or that fails for a reason nobody foresaw, may have been work that is required:
   before it is parked or tried again, what stands ends, until a recovery pass has read its owner whole.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from central.kernel.broker import Message, MessageRefused, QueueSpec
from central.kernel.errors import InvalidTime, Unavailable
from central.kernel.observability import event
from central.kernel.problems import Problem
from central.kernel.questions import ItemMalformed, UuidText
from central.kernel.strict_json import decode
from central.kernel.times import Clock, format_rfc3339, parse_rfc3339
from central.retention.application.items import ItemBody, OwnerText, encode_item
from central.retention.application.ports import WorkStore
from central.retention.domain.accepted_work import AcceptedWork, Kind
from central.retention.domain.ids import Owner
from central.retention.domain.judgement import Effect

_EXECUTION: Final = "execution.AcceptedWorkChanged"
_PIPELINE: Final = "pipeline.AcceptedWorkChanged"
OWNER_OF: Final[Mapping[str, Owner]] = {_EXECUTION: Owner("execution"), _PIPELINE: Owner("pipeline")}
"""Who speaks under a topic."""

_LOG: Final = logging.getLogger("central.retention")


@dataclass(frozen=True, slots=True)
class WorkQueue:
    """A consumer's durable queue and the kinds it takes."""

    spec: QueueSpec
    kinds: frozenset[Kind]


WORK_QUEUES: Final = (
    WorkQueue(
        QueueSpec("resource_provisioning.accepted-launch-changed", (_EXECUTION,)), frozenset({Kind.LAUNCH})
    ),
    WorkQueue(
        QueueSpec("resource_provisioning.accepted-run-changed", (_EXECUTION,)),
        frozenset({Kind.RUN, Kind.PIPELINE}),
    ),
    WorkQueue(QueueSpec("resource_provisioning.accepted-pipeline-changed", (_PIPELINE,)), frozenset(Kind)),
)


class WorkData(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`data`."""

    owner: OwnerText
    item: ItemBody


class AcceptedWorkChanged(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The event."""

    schema: Literal[1]
    message_id: UuidText
    type: Literal["execution.AcceptedWorkChanged", "pipeline.AcceptedWorkChanged"]
    occurred_at: str
    data: WorkData


@dataclass(frozen=True, slots=True)
class WorkEvent:
    """An event of accepted work. `occurred_at` is the owner's text in canonical form."""

    message_id: UUID
    topic: str
    occurred_at: str
    item: AcceptedWork


def read_event(topic: str, body: bytes) -> WorkEvent:
    """The event in a message's body. Raises `MessageRefused` for what breaks the wire."""
    try:
        found = decode(body, AcceptedWorkChanged)
        if found.type != topic or found.data.owner != OWNER_OF[found.type]:
            raise ItemMalformed("topic, type and owner do not name one owner")
        return WorkEvent(
            UUID(found.message_id),
            found.type,
            format_rfc3339(parse_rfc3339(found.occurred_at, field="occurredAt")),
            found.data.item.value(Owner(found.data.owner)),
        )
    except Problem as problem:
        raise MessageRefused("message_malformed", problem.detail) from None
    except (ItemMalformed, InvalidTime) as error:
        raise MessageRefused("message_malformed", str(error)) from None


def encode_event(found: WorkEvent) -> bytes:
    """The canonical encoding of an event."""
    return msgspec.json.encode(
        {
            "schema": 1,
            "messageId": str(found.message_id),
            "type": found.topic,
            "occurredAt": found.occurred_at,
            "data": {"owner": found.item.owner, "item": msgspec.Raw(encode_item(found.item))},
        }
    )


@dataclass(frozen=True, slots=True)
class WorkConsumer:
    """What one queue's messages are handed to."""

    queue: WorkQueue
    store: WorkStore
    clock: Clock

    def check(self, message: Message) -> None:
        """Refuses a malformed message, after what stands ended (rule 2)."""
        try:
            _read(message)
        except MessageRefused:
            self.store.doubt("a message of accepted work cannot be read")
            raise

    def __call__(self, messages: Sequence[Message]) -> None:
        """Applies messages for good, all or none."""
        try:
            self._apply([_read(message) for message in messages])
        except (MessageRefused, Unavailable):
            raise
        except Exception:
            self.store.doubt("a message of accepted work cannot be applied")
            raise

    def _apply(self, events: Collection[WorkEvent]) -> None:
        mine = [found for found in events if found.item.kind in self.queue.kinds]
        told = [(found.message_id, found.item) for found in mine]
        effects = self.store.apply(self.queue.spec.name, told, self.clock()) if told else []
        for found, effect in zip(mine, effects, strict=True):
            _tell(found, effect)


def _read(message: Message) -> WorkEvent:
    found = read_event(message.topic, message.body)
    if found.message_id != message.id:
        raise MessageRefused("message_malformed", "the envelope carries another message's id")
    return found


def _tell(found: WorkEvent, effect: Effect | None) -> None:
    event(
        _LOG,
        "accepted_work",
        level=logging.ERROR if effect is Effect.CONFLICT else logging.INFO,
        messageId=str(found.message_id),
        owner=found.item.owner,
        itemId=str(found.item.item_id),
        revision=found.item.revision,
        effect="repeated" if effect is None else effect.value,
    )

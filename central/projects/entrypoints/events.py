"""Beto's events: bytes → wire → use case (P13–P16). What breaks docs/wire.md is `message_malformed` and
parked.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from central.kernel.broker import Message, MessageRefused, QueueSpec
from central.kernel.errors import InvalidTime
from central.kernel.observability import event
from central.kernel.problems import Problem
from central.kernel.questions import LIMITS, ItemMalformed, UuidText
from central.kernel.strict_json import decode
from central.kernel.times import Clock, format_rfc3339, parse_rfc3339
from central.projects.application.apply_events import ApplyEvents
from central.projects.application.items import (
    AuthorityBody,
    PartyBody,
    ProjectBody,
    encode_item,
)
from central.projects.application.ports import Applied
from central.projects.domain.revisions import Effect, Told, Viewed

_LOG: Final = logging.getLogger("central.projects")


class ProjectChanged(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`project.ProjectChanged`."""

    schema: Literal[1]
    message_id: UuidText
    type: Literal["project.ProjectChanged"]
    occurred_at: str
    data: ProjectBody


class PartyChanged(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`party.PartyChanged`."""

    schema: Literal[1]
    message_id: UuidText
    type: Literal["party.PartyChanged"]
    occurred_at: str
    data: PartyBody


class ProjectAuthorityChanged(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`project.ProjectAuthorityChanged`."""

    schema: Literal[1]
    message_id: UuidText
    type: Literal["project.ProjectAuthorityChanged"]
    occurred_at: str
    data: AuthorityBody


AnyEvent = ProjectChanged | PartyChanged | ProjectAuthorityChanged
EVENTS: Final[Mapping[str, type[ProjectChanged] | type[PartyChanged] | type[ProjectAuthorityChanged]]] = {
    "project.ProjectChanged": ProjectChanged,
    "party.PartyChanged": PartyChanged,
    "project.ProjectAuthorityChanged": ProjectAuthorityChanged,
}
QUEUES: Final = (
    QueueSpec("resource_provisioning.project-changed", ("project.ProjectChanged",)),
    QueueSpec("resource_provisioning.party-changed", ("party.PartyChanged",)),
    QueueSpec("resource_provisioning.project-authority-changed", ("project.ProjectAuthorityChanged",)),
)
"""The consumers of this view, each with its durable queue."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of Beto."""

    message_id: UUID
    type: str
    told: Told[Viewed]


def read_event(topic: str, body: bytes) -> Event:
    """The event in a message's body. Raises `MessageRefused` for what breaks the wire."""
    type_ = EVENTS.get(topic)
    if type_ is None:
        raise MessageRefused("message_malformed", f"no event of this view has the topic {topic[:64]!r}")
    try:
        found: AnyEvent = decode(body, type_, limits=LIMITS)
        return Event(
            UUID(found.message_id),
            found.type,
            Told(found.data.value(), parse_rfc3339(found.occurred_at, field="occurredAt"), by_message=True),
        )
    except Problem as problem:
        raise MessageRefused("message_malformed", problem.detail) from None
    except (ItemMalformed, InvalidTime) as error:
        raise MessageRefused("message_malformed", str(error)) from None


def encode_event(event: Event) -> bytes:
    """The canonical encoding of an event."""
    return msgspec.json.encode(
        {
            "schema": 1,
            "messageId": str(event.message_id),
            "type": event.type,
            "occurredAt": format_rfc3339(event.told.at),
            "data": msgspec.Raw(encode_item(event.told.value)),
        }
    )


@dataclass(frozen=True, slots=True)
class ViewConsumer:
    """What one queue's messages are handed to. They are of one topic, so of one scope."""

    consumer: str
    apply_events: ApplyEvents
    clock: Clock

    def check(self, message: Message) -> None:
        """Refuses a malformed message."""
        _read(message)

    def __call__(self, messages: Sequence[Message]) -> None:
        """Applies messages for good, all or none."""
        events = [_read(message) for message in messages]
        outcomes = self.apply_events(
            self.consumer, [(found.message_id, found.told) for found in events], self.clock()
        )
        for found, applied in zip(events, outcomes, strict=True):
            _tell(found, applied)


def _read(message: Message) -> Event:
    found = read_event(message.topic, message.body)
    if found.message_id != message.id:
        raise MessageRefused("message_malformed", "the envelope carries another message's id")
    return found


def _tell(found: Event, applied: Applied) -> None:
    judgement = applied.judgement
    odd = judgement is not None and (judgement.gap or judgement.effect is Effect.CONFLICT)
    event(
        _LOG,
        "beto_event",
        level=logging.WARNING if odd else logging.INFO,
        messageId=str(found.message_id),
        type=found.type,
        id=str(found.told.value.id),
        revision=found.told.value.revision,
        effect="repeated" if judgement is None else judgement.effect.value,
        gap=judgement is not None and judgement.gap,
    )

"""The words central is told, made once and journalled with what they speak of (X7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from site_bundle.runtime.application.ports import Word
from site_bundle.runtime.domain.command import Command, Foreign
from site_bundle.runtime.domain.jobs import JobRef
from site_bundle.runtime.domain.stage import NOT_UNDERSTOOD, Stage
from site_bundle.runtime.domain.verdict import End


class EncodeAck(Protocol):
    def __call__(
        self, ack_id: UUID, attempt_id: UUID, now: datetime, *, job: JobRef | None, code: str | None
    ) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Words:
    """`new_id` draws the id of each."""

    new_id: Callable[[], UUID]
    ack: EncodeAck
    result: Callable[[UUID, UUID, datetime, End], bytes]

    def acknowledged(self, command: Command, now: datetime, job: JobRef | None = None) -> Word:
        return self._ack(command, now, job, None)

    def refused(self, stage: Stage, now: datetime) -> Word:
        return self._ack(stage.command, now, None, stage.code)

    def _ack(self, command: Command, now: datetime, job: JobRef | None, code: str | None) -> Word:
        body = self.ack(self.new_id(), command.attempt_id, now, job=job, code=code)
        return Word(command.command_id, "ack", body)

    def not_understood(self, foreign: Foreign, now: datetime) -> Word:
        body = self.ack(self.new_id(), foreign.attempt_id, now, job=None, code=NOT_UNDERSTOOD)
        return Word(foreign.command_id, "ack", body)

    def ended(self, command: Command, now: datetime, end: End) -> Word:
        body = self.result(self.new_id(), command.attempt_id, now, end)
        return Word(command.command_id, "result", body)

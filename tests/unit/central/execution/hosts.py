"""Git hosts as a test wants them, and what is remembered of their silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from central.execution.application.host_turns import LIMITS, Heard, HostTurns, Question, TurnLimits
from central.execution.application.ports import PeerSilent
from central.execution.application.worker_ports import Silence

SILENT = PeerSilent("unavailable", "nobody answers")


@dataclass
class MemorySilences:
    """The store."""

    hosts: dict[str, Silence] = field(default_factory=dict)

    def known(self) -> Mapping[str, Silence]:
        return dict(self.hosts)

    def seen(self, host: str, what: str, now: datetime) -> None:
        known = self.hosts.get(host)
        self.hosts[host] = Silence(known.since if known else now, now)

    def over(self, hosts: Sequence[str]) -> None:
        for host in hosts:
            self.hosts.pop(host, None)


@dataclass
class Hosts:
    """Hosts that answer unless a question is in `silent`, or `mute`; each question takes `seconds`."""

    silent: set[Question] = field(default_factory=set)
    mute: set[Question] = field(default_factory=set)
    seconds: float = 0.0
    at: float = 0.0
    asked: list[Question] = field(default_factory=list)
    told: list[Question] = field(default_factory=list)
    silences: MemorySilences = field(default_factory=MemorySilences)

    def ask(self, question: Question) -> Heard:
        """`mute`: nothing was asked of the host, or nothing can be told from it."""
        self.asked.append(question)
        self.at += self.seconds
        if question in self.silent:
            raise SILENT
        return Heard(question not in self.mute, question not in self.mute)

    def tell(self, question: Question) -> bool:
        self.told.append(question)
        return True

    def monotonic(self) -> float:
        return self.at

    def turns(self, limits: TurnLimits = LIMITS) -> HostTurns:
        return HostTurns(self.silences, limits, self.monotonic)


def questions(first: int, count: int) -> list[Question]:
    """Each of a Run of its own."""
    return [Question(UUID(int=number), UUID(int=number)) for number in range(first, first + count)]

"""The life around retained accounts: two owners, what is told of their work, the view (P27, P28).

A subclass gives `open_store`; `machine` adds the worker and its passes.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from central.kernel.broker import Message, MessageRefused
from central.kernel.site_names import Site
from central.retention.application.ports import WorkStore
from central.retention.domain.ids import BindingId, PartyId, ProjectId
from central.retention.domain.retained import Fences, Holder, Unknown
from central.retention.entrypoints.events import WORK_QUEUES, WorkConsumer
from tests.contract.goldens import canonical
from tests.simulators.mouth import Clock, Faults
from tests.simulators.owner.owner import WorkOwner
from tests.unit.central.retention.memory import Crash, Queues, ToldFences, crashing
from tests.unit.central.retention.model import Model

SITES = ("slurm", "k8s")
NAMES = ("execution", "pipeline")
WEATHER = [Faults(), Faults(), Faults(drop=0.5), Faults(double=0.5), Faults(drop=0.3, double=0.3)]
pick = st.integers(0, 7)
owners = st.sampled_from(NAMES)


def holder_of(account: dict[str, Any]) -> Holder:
    return Holder(
        ProjectId(UUID(account["projectId"])),
        PartyId(UUID(account["partyId"])),
        Site(account["site"]),
        BindingId(UUID(account["bindingId"])),
    )


class Life(RuleBasedStateMachine):
    """See the module."""

    counts: dict[str, int]

    def open_store(self) -> WorkStore:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.store = self.open_store()
        self.clock = Clock()
        self.born = self.clock()
        self.model = Model()
        self.owners = {name: WorkOwner(clock=self.clock, name=name, page=2) for name in NAMES}
        self.fences, self.queues = ToldFences(), Queues()
        self.accounts = [self.new_account(number) for number in range(4)]
        self.view: dict[tuple[Any, ...], dict[str, Any] | None] = {}
        for account in self.accounts:
            self.tell_view(account, active=True, management=3, generation=2, username=f"u{account['n']}")
        self.old: list[tuple[str, Message]] = []
        self.applied: dict[UUID, datetime] = {}

    def new_account(self, number: int) -> dict[str, Any]:
        ids = {name: str(UUID(int=0x1000 * (number % 3) + n)) for n, name in enumerate("abc", 1)}
        return {
            "n": number,
            "projectId": ids["a"],
            "partyId": ids["b"],
            "site": SITES[number == 3],
            "bindingId": ids["c"],
        }

    def tell_view(self, account: dict[str, Any], **facts: Any) -> None:
        key = tuple(account[name] for name in ("projectId", "partyId", "site", "bindingId"))
        self.view[key] = known = {**(self.view.get(key) or {}), **facts}
        self.fences.known[holder_of(account)] = Fences(
            known["active"], known["management"], known["generation"], known["username"]
        )

    def facts(self, account: dict[str, Any]) -> dict[str, Any] | None:
        return self.view[tuple(account[n] for n in ("projectId", "partyId", "site", "bindingId"))]

    @property
    def seconds(self) -> float:
        return (self.clock() - self.born).total_seconds()

    def count(self, what: str) -> None:
        type(self).counts[what] = type(self).counts.get(what, 0) + 1

    # The owners' lives

    @rule(name=owners, choice=pick, kind=st.sampled_from(["launch", "run", "pipeline"]), old=pick)
    def accept(self, name: str, choice: int, kind: str, old: int) -> None:
        account = dict(self.accounts[choice % 4])
        facts = self.facts(account) or {"generation": 2, "management": 3}
        account.pop("n")
        account |= {
            "generation": facts["generation"] + (old == 6),
            "managementGeneration": facts["management"] + (old == 7),
        }
        self.owners[name].accept(account, kind=kind, evidence=old != 5)

    @rule(name=owners, choice=pick, release=st.booleans())
    def go_on(self, name: str, choice: int, release: bool) -> None:
        owner = self.owners[name]
        if owner.items:
            item = sorted(owner.items)[choice % len(owner.items)]
            ended = owner.items[item]["state"] == "released"
            owner.release(item) if release or ended else owner.revise(item)

    @rule(name=owners, choice=pick)
    def lose_an_item(self, name: str, choice: int) -> None:
        owner = self.owners[name]
        if owner.items:
            owner.forget(sorted(owner.items)[choice % len(owner.items)])

    @rule(faults=st.sampled_from(WEATHER))
    def weather(self, faults: Faults) -> None:
        for owner in self.owners.values():
            owner.faults = faults

    # What is told

    @rule(data=st.data(), crash=st.sampled_from([None, None, None, "before", "after"]))
    def deliver(self, data: st.DataObject, crash: str | None) -> None:
        """Some of what is under way, in any order; a consumer may die and get it again."""
        waiting = [(name, message) for name, owner in self.owners.items() for message in owner.outbox]
        if waiting:
            chosen = data.draw(st.lists(st.sampled_from(waiting), min_size=1, max_size=4))
            self.hand(chosen, crash)
            for name, message in chosen:
                if crash is None and message in self.owners[name].outbox:
                    self.owners[name].outbox.remove(message)

    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        if self.old:
            self.hand([data.draw(st.sampled_from(self.old))])
            self.count("replayed")

    def hand(self, chosen: list[tuple[str, Message]], crash: str | None = None) -> None:
        store: Any = crashing(self.store, ("apply", crash, 1)) if crash else self.store
        for queue in WORK_QUEUES:
            mine = [message for _, message in chosen if message.topic in queue.spec.topics]
            if not mine:
                continue
            handle = WorkConsumer(queue, store, self.clock)
            for message in mine:
                handle.check(message)
            try:
                handle(mine)
            except Crash:
                self.count("consumer died")
                if crash == "after":
                    self.hear(mine, queue.kinds)
                return
            self.hear(mine, queue.kinds)
        self.old += chosen

    def hear(self, messages: list[Message], kinds: Any) -> None:
        for message in messages:
            told = json.loads(message.body)["data"]
            if told["item"]["kind"] in {kind.value for kind in kinds} and message.id not in self.applied:
                self.model.hear(told["owner"], told["item"])
                self.applied[message.id] = self.clock()

    @rule(name=owners, choice=pick)
    def contradict(self, name: str, choice: int) -> None:
        """Another content under a revision that was told."""
        owner = self.owners[name]
        if owner.items:
            item = owner.items[sorted(owner.items)[choice % len(owner.items)]]
            owner.say(owner.message(item | {"deadline": "2030-01-01T00:00:00Z"}))

    @rule(queue=st.sampled_from(WORK_QUEUES), kind=st.sampled_from(["no JSON", "no fields"]))
    def malformed(self, queue: Any, kind: str) -> None:
        body = b"<html>" if kind == "no JSON" else canonical({"schema": 1})
        try:
            WorkConsumer(queue, self.store, self.clock).check(
                Message(UUID(int=1), queue.spec.topics[0], body)
            )
        except MessageRefused:
            self.model.end()
        else:
            raise AssertionError("a message nobody can read was taken")

    # The view

    @rule(choice=pick, change=st.sampled_from(["close", "manage", "unbind", "rejoin", "leave", "forget"]))
    def view_changes(self, choice: int, change: str) -> None:
        account = self.accounts[choice % 4]
        facts = self.facts(account)
        if facts is None:
            self.tell_view(account, active=True, management=3, generation=2, username=f"u{account['n']}")
        elif change == "forget":
            self.view[tuple(account[n] for n in ("projectId", "partyId", "site", "bindingId"))] = None
            self.fences.known[holder_of(account)] = Unknown("not viewed")
        elif change == "close":
            self.tell_view(account, active=not facts["active"])
        elif change == "manage":
            self.tell_view(account, management=facts["management"] + 1)
        elif change == "unbind":
            self.tell_view(account, username=None if facts["username"] else f"u{account['n']}")
        elif change == "rejoin":
            self.tell_view(account, generation=facts["generation"] + 1)

    @rule(readable=st.sampled_from([True, True, False]))
    def view_is_readable(self, readable: bool) -> None:
        self.fences.readable = readable

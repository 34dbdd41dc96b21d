"""A Hypothesis machine: two owners' lives, every fault between, passes that die at named checkpoints; what a
Site is answered is held against the model after each step (P27–P29).

A subclass gives `open_store`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from central.kernel.broker import Message, MessageRefused
from central.kernel.errors import Unavailable
from central.kernel.paging import PagingLimits
from central.retention.adapters.owner_questions import OwnerQuestions
from central.retention.application.ports import WorkStore
from central.retention.application.recover import Pass, Recover
from central.retention.application.retained_accounts import RetainedAccounts
from central.retention.domain.ids import BindingId, Owner, PartyId, ProjectId, Site
from central.retention.domain.recovery import RecoveryLimits
from central.retention.domain.retained import Fences, Holder, Unknown
from central.retention.entrypoints.events import WORK_QUEUES, WorkConsumer
from tests.contract.goldens import canonical
from tests.simulators.mouth import Clock, Faults
from tests.simulators.owner.owner import WorkOwner
from tests.unit.central.retention.memory import Crash, Queues, ToldFences, crashing
from tests.unit.central.retention.model import Model

SITES = ("slurm", "k8s")
LIMITS = RecoveryLimits(put_at_once=2)
NAMES = ("execution", "pipeline")
WEATHER = [Faults(), Faults(), Faults(drop=0.5), Faults(double=0.5), Faults(drop=0.3, double=0.3)]
CHECKPOINTS = [
    ("begin", "before", 1),
    ("begin", "after", 1),
    ("put", "before", 1),
    ("put", "after", 1),
    ("put", "before", 2),
    ("put", "after", 2),
    ("stand", "before", 1),
    ("stand", "after", 1),
]
BAD_OWNERS = ["silent", "gone", "lie", "malformed", "no queue"]
BETWEEN = ["start", "doubt", "deliver", "accept", "release", "elsewhere"]
pick = st.integers(0, 7)
owners = st.sampled_from(NAMES)


def holder_of(account: dict[str, Any]) -> Holder:
    return Holder(
        ProjectId(UUID(account["projectId"])),
        PartyId(UUID(account["partyId"])),
        Site(account["site"]),
        BindingId(UUID(account["bindingId"])),
    )


class RetentionMachine(RuleBasedStateMachine):
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

    # The worker

    @rule()
    def worker_starts(self) -> None:
        self.store.start()
        self.model.end()

    @rule(seconds=st.sampled_from([1, 60, 89, 90, 299, 300, 3600, 24 * 3600]))
    def time_passes(self, seconds: int) -> None:
        self.clock.pass_by(seconds)

    @rule(seconds=st.sampled_from([3600, 12 * 3600, 25 * 3600]))
    def a_worker_goes_on_for(self, seconds: int) -> None:
        for _ in range(0, seconds, 80) if self.model.complete else ():
            self.clock.pass_by(80)
            self.beat()

    @rule()
    def beat(self) -> None:
        self.store.beat(self.clock(), LIMITS)
        self.model.beat(self.seconds)

    @rule()
    def forget_receipts(self) -> None:
        """Messages known by their revision alone from now on."""
        now = self.clock()
        self.store.forget_receipts(now)
        self.applied = {message: at for message, at in self.applied.items() if at >= now}

    # Passes

    def recover(self, store: Any = None) -> Recover:
        def ask(owner: Owner, question: UUID, body: bytes) -> bytes:
            return self.owners[owner].ask(question, body)

        questions = OwnerQuestions(ask, limits=PagingLimits(page=3))
        queues = tuple(queue.spec.name for queue in WORK_QUEUES)
        names = tuple(map(Owner, NAMES))
        return Recover(store or self.store, questions, self.queues, names, queues, LIMITS, self.clock)

    def snapshots(self) -> list[tuple[str, dict[str, Any]]]:
        """What the owners were read as."""
        return [(name, item) for name in NAMES for item in self.owners[name].snapshot]

    @rule()
    def a_pass(self) -> None:
        if self.seconds < self.model.hold:
            assert self.recover()().outcome is Pass.ELSEWHERE
            self.count("held")
            return
        self.clear()
        ended = self.recover()()
        assert ended.outcome is Pass.STOOD, ended
        self.hear_whole(self.snapshots())
        self.model.stood(self.seconds, self.seconds)
        self.count("stood")

    def hear_whole(self, items: list[tuple[str, dict[str, Any]]]) -> None:
        for name, item in items:
            self.model.hear(name, item, whole=True)

    def clear(self) -> None:
        for owner in self.owners.values():
            owner.faults = Faults()

    @rule(name=owners, fault=st.sampled_from(BAD_OWNERS))
    def a_pass_over_a_bad_owner(self, name: str, fault: str) -> None:
        if self.seconds < self.model.hold:
            return
        self.clear()
        owner = self.owners[name]
        if fault == "no queue":
            self.queues.missing = {WORK_QUEUES[0].spec.name}
        owner.faults = Faults(
            silent=fault == "silent",
            forget_snapshots=fault == "gone",
            corrupt=(lambda answer: answer | {"schema": 2}) if fault == "malformed" else None,
        )
        owner.lie = "0" * 64 if fault == "lie" else None
        ended = self.recover()()
        owner.lie, self.queues.missing = None, set()
        self.clear()
        assert ended.outcome is Pass.FAILED, (fault, ended)
        self.model.complete = False
        self.count(fault)

    @rule(name=owners, choice=pick)
    def a_pass_while_pages_change(self, name: str, choice: int) -> None:
        """Pages read from the present truth, which changed since the inventory."""
        if self.seconds < self.model.hold:
            return
        self.clear()
        owner = self.owners[name]
        pages: list[int] = []

        def change() -> None:
            if not pages:
                owner.faults = Faults(drop=1.0)
                self.accept(name, choice, "run", 0)
            pages.append(1)

        owner.live, owner.before_page = True, change
        ended = self.recover()()
        owner.live, owner.before_page = False, None
        assert ended.outcome is Pass.FAILED, ended
        self.model.complete = False
        self.count("changed")

    @rule(checkpoint=st.sampled_from(CHECKPOINTS))
    def a_pass_dies(self, checkpoint: tuple[str, str, int]) -> None:
        if self.seconds < self.model.hold:
            return
        self.clear()
        method, when, nth = checkpoint
        try:
            self.recover(crashing(self.store, checkpoint))()
        except Crash:
            self.count(f"died {when} {method}")
        else:
            self.hear_whole(self.snapshots())
            self.model.stood(self.seconds, self.seconds)
            return
        if checkpoint == ("begin", "before", 1):
            return
        if method == "stand":
            self.hear_whole(self.snapshots())
        if method == "put":
            self.hear_whole(self.snapshots()[: 2 * (nth if when == "after" else nth - 1)])
        if checkpoint == ("stand", "after", 1):
            self.model.stood(self.seconds, self.seconds)
        else:
            self.model.died(self.seconds)

    @rule(between=st.sampled_from(BETWEEN), choice=pick)
    def a_pass_with_something_between(self, between: str, choice: int) -> None:
        if self.seconds < self.model.hold:
            return
        self.clear()
        pages: list[int] = []

        def meanwhile() -> None:
            pages.append(1)
            if len(pages) == 1:
                self.happens(between, choice)

        self.owners["execution"].before_page = meanwhile
        before = self.store.recovery().epoch
        ended = self.recover()()
        self.owners["execution"].before_page = None
        if self.store.recovery().epoch == before + 1:
            assert ended.outcome is Pass.STOOD, ended
            self.hear_whole(self.snapshots())
            self.model.stood(self.seconds, self.seconds)
        else:
            assert ended.outcome is Pass.ELSEWHERE, ended
            assert between in ("start", "doubt", "deliver")
            self.model.end()
        self.count(f"{between} between")

    def happens(self, between: str, choice: int) -> None:
        if between == "start":
            self.worker_starts()
        elif between == "doubt":
            self.malformed(WORK_QUEUES[0], "no JSON")
        elif between == "deliver":
            outbox = self.owners["execution"].outbox
            self.hand([("execution", message) for message in outbox])
            outbox.clear()
        elif between == "accept":
            self.accept("execution", choice, "run", 0)
        elif between == "release":
            self.go_on("execution", choice, True)
        else:
            assert self.recover()().outcome is Pass.ELSEWHERE

    # What always holds

    @invariant()
    def a_site_is_answered_as_the_model_says(self) -> None:
        if not hasattr(self, "store"):
            return
        names = tuple(map(Owner, NAMES))
        retained = RetainedAccounts(self.store, self.fences, names, LIMITS)
        for site in SITES:
            wanted = self.model.answer(site, self.view, self.seconds)
            if isinstance(wanted, list) and not self.fences.readable:
                wanted = "unavailable"
            assert self.ask(retained, site) == wanted
            self.count(wanted if isinstance(wanted, str) else f"listed {min(len(wanted), 2)}")

    def ask(self, retained: RetainedAccounts, site: str) -> Any:
        ask: Callable[..., Any] = retained.list
        try:
            found = ask(Site(site), self.clock())
        except Unavailable as error:
            return error.code
        return [
            (str(a.project_id), str(a.party_id), str(a.binding_id), a.generation, a.username) for a in found
        ]

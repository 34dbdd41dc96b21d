"""A Hypothesis machine: two owners' lives, every fault between, passes that die at named checkpoints; what a
Site is answered is held against the model after each step (P27–P29).

A subclass gives `open_store`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from central.kernel.errors import Unavailable
from central.kernel.paging import PagingLimits
from central.kernel.site_names import Site
from central.retention.adapters.owner_questions import OwnerQuestions
from central.retention.application.recover import Pass, Recover
from central.retention.application.retained_accounts import RetainedAccounts
from central.retention.domain.ids import Owner
from central.retention.domain.recovery import RecoveryLimits
from central.retention.entrypoints.events import WORK_QUEUES
from tests.simulators.mouth import Faults
from tests.unit.central.retention.life import NAMES, SITES, Life, owners, pick
from tests.unit.central.retention.memory import Crash, crashing
from tests.unit.central.retention.model import ALIVE

LIMITS = RecoveryLimits(put_at_once=2, alive=timedelta(seconds=ALIVE))
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


class RetentionMachine(Life):
    """See the module."""

    # The worker

    @rule()
    def worker_starts(self) -> None:
        self.store.start()
        self.model.end()

    @rule(seconds=st.sampled_from([1, 60, 299, 300, ALIVE - 1, ALIVE, 24 * 3600]))
    def time_passes(self, seconds: int) -> None:
        self.clock.pass_by(seconds)

    @rule(seconds=st.sampled_from([3600, 12 * 3600, 25 * 3600]))
    def a_worker_goes_on_for(self, seconds: int) -> None:
        for _ in range(0, seconds, ALIVE - 100) if self.model.complete else ():
            self.clock.pass_by(ALIVE - 100)
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

    def held(self) -> bool:
        """Whether a pass that died still holds recovery."""
        held = self.seconds < self.model.hold
        if held:
            assert self.recover()().outcome is Pass.ELSEWHERE
            self.count("held")
        return held

    @rule()
    def a_pass(self) -> None:
        if self.held():
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
        if self.held():
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
        if self.held():
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
        if self.held():
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
        if self.held():
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

"""Beto's random life beside the view's, with every fault between them (P13–P18).

Rules are Beto's acts, the carrier's faults and the synchroniser's passes. Whatever happens: an unusable
view never says that something is absent; no generation goes back; and after a repair without faults the
view is Beto's truth.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from central.kernel.errors import Unavailable
from central.kernel.queries import Query
from central.kernel.site_names import Site
from central.projects.adapters.rows import MembershipRow
from central.projects.domain.ids import Scope
from central.projects.domain.resolution import Unresolved
from central.projects.domain.site_binding import Conflict, NoBinding, SiteBinding, Standing
from central.projects.domain.view import Phase
from tests.postgres.projects.conftest import View
from tests.simulators.beto.beto import Faults, ready_for
from tests.simulators.beto.truth import WALDUR, Change

REFS = [f"00000000-0000-4000-8000-00000000031{n}" for n in range(3)]
NAMES = ["u1", "u2"]
SITE = "slurm"
FAULTS = [
    Faults(),
    Faults(drop=0.5),
    Faults(double=0.5),
    Faults(delay=0.6),
    Faults(drop=0.3, double=0.3, delay=0.3),
]
_MEMBERSHIPS = Query("all_memberships", b"SELECT * FROM projects.memberships ORDER BY project_id, party_id")
pick = st.integers(0, 5)


class Life(RuleBasedStateMachine):
    """`make_view` gives a view over an empty database and what to close afterwards."""

    make_view: Callable[[], tuple[View, Callable[[], None]]]
    counts: dict[str, int]

    def __init__(self) -> None:
        super().__init__()
        self.view, self._close = type(self).make_view()
        self.seen: dict[tuple[UUID, UUID], int] = {}
        self.faithful = True
        """Whether the view has seen every change, in order, since the beginning."""

    def teardown(self) -> None:
        self._close()

    @property
    def truth(self) -> Any:
        return self.view.beto.truth

    def one(self, of: dict[str, Any], choice: int) -> str | None:
        """One of the ids, by choice."""
        ids = list(of)
        return ids[choice % len(ids)] if ids else None

    def tell(self, change: Change) -> None:
        self.view.clock.pass_by(10)
        self.view.beto.tell(change)

    @initialize(seed=st.integers(0, 10_000))
    def begin(self, seed: int) -> None:
        self.view.beto.dice = random.Random(seed)

    # Beto's life

    @rule(ref=st.sampled_from([*REFS, None]))
    def new_project(self, ref: str | None) -> None:
        self.tell(self.truth.new_project(ref)[1])

    @rule(name=st.sampled_from(NAMES))
    def new_party(self, name: str) -> None:
        self.tell(self.truth.new_party(site=SITE, username=name)[1])

    @rule(choice=pick, ref=st.sampled_from([*REFS, None]))
    def bind_project(self, choice: int, ref: str | None) -> None:
        if project := self.one(self.truth.projects, choice):
            self.tell(self.truth.bind_project(project, ref))

    @rule(choice=pick, who=pick, pending=st.booleans())
    def add_member(self, choice: int, who: int, pending: bool) -> None:
        project, party = self.one(self.truth.projects, choice), self.one(self.truth.parties, who)
        if project and party:
            self.tell(self.truth.add_member(project, party, pending=pending))

    @rule(choice=pick, who=pick)
    def remove_member(self, choice: int, who: int) -> None:
        project, party = self.one(self.truth.projects, choice), self.one(self.truth.parties, who)
        if project and party:
            self.tell(self.truth.remove_member(project, party))

    @rule(choice=pick)
    def close_project(self, choice: int) -> None:
        if project := self.one(self.truth.projects, choice):
            self.tell(self.truth.close_project(project))

    @rule(who=pick, name=st.sampled_from(NAMES), retire=st.booleans())
    def rebind_party(self, who: int, name: str, retire: bool) -> None:
        if party := self.one(self.truth.parties, who):
            if retire:
                self.tell(self.truth.retire_binding(party, 0))
            else:
                self.tell(self.truth.bind_site(party, SITE, name))

    @rule(choice=pick, state=st.sampled_from(["ready", "pending", "closed"]))
    def authority(self, choice: int, state: str) -> None:
        if project := self.one(self.truth.projects, choice):
            self.tell(self.truth.set_authority(project, state, ready_for(self.view.clock)))

    # What lies between

    @rule(faults=st.sampled_from(FAULTS))
    def weather(self, faults: Faults) -> None:
        self.view.beto.faults = faults
        self.faithful = self.faithful and faults is FAULTS[0]

    @rule(shuffled=st.booleans())
    def deliver(self, shuffled: bool) -> None:
        self.faithful = self.faithful and not (shuffled and len(self.view.beto.outbox) > 1)
        self.view.beto.flush(self.view.broker, shuffled=shuffled)
        for handled in self.view.consume():
            assert handled.retried == handled.refused == 0
            type(self).counts["events"] += handled.applied

    @rule()
    def restart_beto(self) -> None:
        self.view.beto.restart()

    # The synchroniser

    @rule(scope=st.sampled_from(list(Scope)))
    def synchronise(self, scope: Scope) -> None:
        self.faithful = self.faithful and not self.view.beto.outbox
        outcome = self.view.synchronise(scope).outcome
        type(self).counts[outcome.value] = type(self).counts.get(outcome.value, 0) + 1
        assert self.view.store.state(scope).phase is Phase.CURRENT

    @rule(scope=st.sampled_from(list(Scope)))
    def synchronise_without_pages(self, scope: Scope) -> None:
        held = self.view.beto.faults
        self.view.beto.faults = Faults(forget_snapshots=True)
        try:
            before, outcome = self.view.store.state(scope).phase, self.view.synchronise(scope)
        finally:
            self.view.beto.faults = held
        if outcome.outcome == "unreadable":
            after = self.view.store.state(scope).phase
            assert after is (Phase.REPAIRING if before not in _NEVER else Phase.LOADING)

    @precondition(lambda self: self.truth.position > 0)
    @rule()
    def repaired_view_is_betos_truth(self) -> None:
        self.view.beto.faults = FAULTS[0]
        if self.faithful:
            self.deliver(shuffled=False)
        self.view.load()
        self._compare_projects()
        self._compare_parties()
        self._compare_memberships()
        type(self).counts["compared"] = type(self).counts.get("compared", 0) + 1

    def _compare_projects(self) -> None:
        found = self.view.resolve(WALDUR, REFS)
        for ref in REFS:
            holders = self.truth.holders(ref)
            if len(holders) == 1:
                assert found[ref] == UUID(*holders)
            else:
                assert found[ref] is (Unresolved.AMBIGUOUS if holders else Unresolved.UNBOUND)

    def _compare_parties(self) -> None:
        for name in NAMES:
            held = [
                (UUID(party), UUID(binding["bindingId"]), binding["state"])
                for party, item in self.truth.parties.items()
                for binding in item["providerBindings"]
                if binding["subject"] == name
            ]
            strong = [one for one in held if one[2] == "established"] or held
            answer = self.view.bindings.by_username(Site(SITE), name, self.view.now())
            if not strong:
                assert answer is NoBinding.ABSENT
            elif len(strong) > 1:
                assert answer is Conflict.CONFLICT
            else:
                assert isinstance(answer, SiteBinding)
                state = "established" if answer.standing is Standing.ACTIVE else "retired"
                assert (answer.party_id, answer.binding_id, state) == strong[0]

    def _compare_memberships(self) -> None:
        rows = self.rows()
        present = {(row.project_id, row.party_id): row.binding_id for row in rows if row.present}
        assert present == {
            (UUID(project), UUID(party)): UUID(binding)
            for project in self.truth.projects
            for party, binding in self.truth.verified(project).items()
        }
        if self.faithful:
            counted = {(row.project_id, row.party_id): row.generation for row in rows}
            wanted = self.truth.generations.items()
            assert counted == {(UUID(p), UUID(m)): generation for (p, m), generation in wanted}
            type(self).counts["faithful"] = type(self).counts.get("faithful", 0) + 1

    def rows(self) -> list[MembershipRow]:
        return self.view.database.run(lambda tx: tx.all(MembershipRow, _MEMBERSHIPS))

    # What always holds

    @invariant()
    def generations_never_go_back(self) -> None:
        now = {(row.project_id, row.party_id): row.generation for row in self.rows()}
        for key, generation in self.seen.items():
            assert now[key] >= generation
        self.seen = now

    @invariant()
    def an_unusable_view_says_nothing(self) -> None:
        phases = {scope: self.view.store.state(scope) for scope in Scope}
        loaded = all(view.position is not None for view in phases.values())
        self._answers(loaded and phases[Scope.PROJECTS].phase is Phase.CURRENT, self._ask_project)
        self._answers(loaded and phases[Scope.PARTIES].phase is Phase.CURRENT, self._ask_party)

    def _ask_project(self) -> None:
        self.view.resolve.resolve(WALDUR, REFS)

    def _ask_party(self) -> None:
        self.view.bindings.by_username(Site(SITE), NAMES[0], self.view.now())

    def _answers(self, wanted: bool, ask: Callable[[], None]) -> None:
        fresh = all(
            view.checked_at and self.view.now() - view.checked_at < self.view.limits.stale_after
            for view in (self.view.store.state(scope) for scope in Scope)
        )
        try:
            ask()
        except Unavailable:
            assert not (wanted and fresh)
        else:
            assert wanted


_NEVER = (Phase.UNINITIALISED, Phase.LOADING)

"""Loads, comparisons and repairs (P14): what is verified, what is refused, and what answers meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from central.kernel.database import Database
from central.kernel.errors import CorruptState, Unavailable
from central.kernel.queries import Query
from central.projects.application.synchronise import Pass
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.domain.view import Phase
from tests.postgres.projects.conftest import LIMITS, View
from tests.simulators.beto.beto import Faults
from tests.simulators.beto.truth import WALDUR

REF = "00000000-0000-4000-8000-000000000310"


def test_a_whole_of_several_pages_is_loaded(view: View) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    refs = [str(UUID(int=n)) for n in range(1, 1102)]
    for ref in refs:
        truth.add_member(truth.new_project(ref)[0], party)
    outcome = view.synchronise(Scope.PROJECTS)
    assert outcome.outcome is Pass.LOADED
    assert outcome.swapped is not None
    assert (outcome.swapped.put, outcome.swapped.dropped) == (1101, 0)
    assert [q["after"] is None for q in view.beto.asked if q["query"] == "page"] == [True, False, False]
    view.load()
    assert all(view.resolve.resolve(WALDUR, refs).values())
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.MATCHED


def test_events_before_the_first_load_count_for_it(view: View) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, made = truth.new_project(REF)
    view.beto.tell(made, truth.add_member(project, party), truth.remove_member(project, party))
    view.beto.tell(truth.add_member(project, party))
    view.beto.flush(view.broker)
    view.consume()
    view.load()
    (membership,) = view.reads.members(ProjectId(UUID(project)), view.now())
    assert (membership.generation, membership.present) == (2, True)


def test_a_lost_event_is_found_and_repaired_with_its_generation(view: View) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, _ = truth.new_project(REF)
    truth.add_member(project, party)
    view.load()
    truth.remove_member(project, party)
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.REPAIRED
    (left,) = view.reads.members(ProjectId(UUID(project)), view.now())
    assert (left.generation, left.present) == (1, False)
    truth.add_member(project, party)
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.REPAIRED
    (back,) = view.reads.members(ProjectId(UUID(project)), view.now())
    assert (back.generation, back.present) == (2, True)


def test_what_beto_never_had_is_dropped_and_its_generations_stay(view: View) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, made = truth.new_project(REF)
    view.beto.tell(made, truth.add_member(project, party))
    view.beto.flush(view.broker)
    view.consume()
    del truth.projects[project]
    view.load()
    assert view.resolve.resolve(WALDUR, [REF]) == {REF: None}
    assert view.reads.project_membership(ProjectId(UUID(project)), PartyId(UUID(party)), view.now()) is None
    (left,) = view.reads.members(ProjectId(UUID(project)), view.now())
    assert (left.generation, left.present) == (1, False)


def test_messages_under_way_are_no_divergence(view: View) -> None:
    """The view differs at the first look and matches at the second: nothing is read, everything answers."""
    view.load()
    view.beto.tell(view.beto.truth.new_project(REF)[1])
    view.beto.asked.clear()
    looks: list[str] = []

    def corrupt(answer: dict[str, Any]) -> dict[str, Any]:
        looks.append("look")
        if len(looks) == 1:
            view.resolve.resolve(WALDUR, [REF])
            view.beto.flush(view.broker)
            return answer | {"fingerprint": "0" * 64}
        view.consume()
        return answer

    view.beto.faults = Faults(corrupt=corrupt)
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.MATCHED
    assert [q["query"] for q in view.beto.asked] == ["checkpoint", "checkpoint"]


def test_a_diverged_view_answers_nothing_until_it_is_repaired(view: View) -> None:
    view.load()
    view.beto.truth.new_project(REF)
    phases: list[Phase] = []

    def watch(answer: dict[str, Any]) -> dict[str, Any]:
        phases.append(view.store.state(Scope.PROJECTS).phase)
        if phases[-1] is not Phase.CURRENT:
            with pytest.raises(Unavailable):
                view.resolve.resolve(WALDUR, [REF])
        return answer

    view.beto.faults = Faults(corrupt=watch)
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.REPAIRED
    assert phases == [Phase.CURRENT, Phase.CURRENT, Phase.REPAIRING, Phase.REPAIRING]
    assert view.resolve.resolve(WALDUR, [REF])[REF] is not None


def busy(view: View, act: Callable[[], None]) -> list[Phase]:
    """Beto goes on while it is compared: `act` runs before each of its answers. The phases it saw."""
    phases: list[Phase] = []

    def work(answer: dict[str, Any]) -> dict[str, Any]:
        phases.append(view.store.state(Scope.PROJECTS).phase)
        act()
        return answer

    view.beto.faults = Faults(corrupt=work)
    return phases


@pytest.mark.parametrize("ahead", [True, False], ids=["ahead", "behind"])
def test_a_view_beside_a_busy_beto_goes_on_answering(view: View, ahead: bool) -> None:
    """Every comparison differs, for messages come all the time; item by item everything is explained."""
    truth = view.beto.truth
    view.load()

    def deliver(newest: int) -> None:
        held = view.beto.outbox[len(view.beto.outbox) - newest :]
        del view.beto.outbox[len(view.beto.outbox) - newest :]
        view.beto.flush(view.broker)
        view.beto.outbox += held
        view.consume()

    def act() -> None:
        view.beto.tell(truth.new_project()[1])
        if ahead:
            deliver(0)

    act()
    phases = busy(view, act)
    pause = (lambda seconds: None) if ahead else (lambda seconds: deliver(1))
    assert view.synchronise(Scope.PROJECTS, pause=pause).outcome is Pass.MATCHED
    assert set(phases) == {Phase.CURRENT}
    assert [q["query"] for q in view.beto.asked[-2:]] == ["checkpoint", "page"]


def test_an_event_lost_by_a_busy_beto_is_found_item_by_item(view: View) -> None:
    truth = view.beto.truth
    lost, _ = truth.new_project()
    view.load()
    truth.bind_project(lost, REF)

    def act() -> None:
        view.beto.tell(truth.new_project()[1])
        view.beto.flush(view.broker)
        view.consume()

    busy(view, act)
    outcome = view.synchronise(Scope.PROJECTS)
    assert outcome.outcome is Pass.REPAIRED
    assert outcome.swapped is not None
    assert (outcome.swapped.put, outcome.swapped.dropped) == (1, 0)
    assert view.resolve.resolve(WALDUR, [REF]) == {REF: UUID(lost)}


def _extra(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"extra": 1}


def _another_scope(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"scope": "parties"}


def _on_pages(change: Any) -> Any:
    return lambda answer: change(answer) if "items" in answer else answer


CORRUPT = {
    "unknown field": _extra,
    "another scope": _another_scope,
    "count too high": lambda answer: answer | ({"count": answer["count"] + 1} if "count" in answer else {}),
    "another fingerprint": lambda a: a | ({"fingerprint": "0" * 64} if "count" in a else {}),
    "item missing": _on_pages(lambda a: a | {"items": a["items"][:-1]}),
    "item doubled": _on_pages(lambda a: a | {"items": a["items"] + a["items"][-1:]}),
    "order reversed": _on_pages(lambda a: a | {"items": a["items"][::-1]}),
    "item changed": _on_pages(lambda a: a | {"items": [i | {"revision": 99} for i in a["items"]]}),
    "another snapshot": _on_pages(lambda a: a | {"snapshotId": str(UUID(int=9))}),
    "another page": _on_pages(lambda a: a | {"after": str(UUID(int=9))}),
    "endless": _on_pages(lambda a: a | {"next": a["items"][-1]["projectId"] if a["items"] else a["after"]}),
    "error unknown": lambda a: {"schema": 1, "queryId": a["queryId"], "error": "oops", "detail": ""},
}


@pytest.mark.parametrize("fault", CORRUPT, ids=str)
def test_nothing_of_an_unverified_whole_is_used(view: View, fault: str) -> None:
    """At the first load nothing answers; at a comparison the view goes on or diverges, but never takes it."""
    truth = view.beto.truth
    for _ in range(3):
        truth.new_project()
    truth.new_project(REF)
    view.beto.faults = Faults(corrupt=CORRUPT[fault])
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.UNREADABLE
    state = view.store.state(Scope.PROJECTS)
    assert (state.phase, state.position, state.held(view.now())) == (Phase.LOADING, None, False)
    assert state.reason
    with pytest.raises(Unavailable):
        view.resolve.resolve(WALDUR, [REF])
    view.beto.faults = Faults()
    view.load()
    project = view.resolve.resolve(WALDUR, [REF])[REF]
    truth.bind_project(str(project), None)
    view.beto.faults = Faults(corrupt=CORRUPT[fault])
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.UNREADABLE
    if view.store.state(Scope.PROJECTS).phase is Phase.CURRENT:
        assert view.resolve.resolve(WALDUR, [REF]) == {REF: project}
    else:
        with pytest.raises(Unavailable):
            view.resolve.resolve(WALDUR, [REF])


def test_a_beto_that_went_back_is_refused_until_an_operator_says_it_was_restored(view: View) -> None:
    truth = view.beto.truth
    for _ in range(3):
        truth.new_project()
    truth.new_project(REF)
    view.load()
    truth.projects = {key: item for key, item in truth.projects.items() if not item["providerBindings"]}
    truth.position = 3
    ended = view.synchronise(Scope.PROJECTS)
    assert (ended.outcome, ended.reason) == (
        Pass.WENT_BACK,
        "Beto's position is 3; 4 has matched before",
    )
    assert view.resolve.resolve(WALDUR, [REF])[REF] is not None
    assert view.store.state(Scope.PROJECTS).refused_position == 3
    assert view.store.accept_restored(Scope.PROJECTS)
    assert not view.store.accept_restored(Scope.PROJECTS), "once"
    assert not view.store.accept_restored(Scope.PARTIES), "nothing went back there"
    with pytest.raises(Unavailable, match="restored from a copy"):
        view.resolve.resolve(WALDUR, [REF])
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.REPAIRED
    assert view.resolve.resolve(WALDUR, [REF]) == {REF: None}


def test_a_repair_is_not_made_from_a_replica_that_lags(view: View) -> None:
    """Beto answers the comparisons, then an older copy of it answers the repair."""
    truth = view.beto.truth
    truth.new_project(REF)
    view.load()
    truth.new_project()
    answers: list[int] = []

    def lag(answer: dict[str, Any]) -> dict[str, Any]:
        answers.append(answer["position"])
        return answer if len(answers) <= LIMITS.settle_attempts else answer | {"position": 0}

    view.beto.faults = Faults(corrupt=lag)
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.WENT_BACK
    state = view.store.state(Scope.PROJECTS)
    assert (state.phase, state.held(view.now())) == (Phase.REPAIRING, False)
    with pytest.raises(Unavailable, match="Beto's position is 0; 1 has matched before"):
        view.resolve.resolve(WALDUR, [REF])
    view.beto.faults = Faults()
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.REPAIRED


def test_two_contents_of_one_revision_are_a_divergence(view: View) -> None:
    truth = view.beto.truth
    project, _ = truth.new_project(REF)
    view.load()
    other = truth.projects[project] | {"providerBindings": []}
    view.beto.outbox.append(view.beto.message("projects", other))
    view.beto.flush(view.broker)
    assert view.consume()[0].applied == 1
    with pytest.raises(Unavailable, match=f"revision 1 of {project} was told with two contents"):
        view.resolve.resolve(WALDUR, [REF])
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.MATCHED
    assert view.resolve.resolve(WALDUR, [REF])[REF] == UUID(project)


def test_a_gap_is_noticed_and_what_fills_it_changes_nothing(
    view: View, caplog: pytest.LogCaptureFixture
) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, _ = truth.new_project(REF)
    view.load()
    late = truth.add_member(project, party)
    view.beto.tell(truth.remove_member(project, party))
    view.beto.flush(view.broker)
    view.consume()
    assert [r.pharos_fields["gap"] for r in caplog.records if r.message == "beto_event"] == [True]  # type: ignore[attr-defined]
    view.beto.tell(late)
    view.beto.flush(view.broker)
    view.consume()
    assert view.reads.members(ProjectId(UUID(project)), view.now()) == []
    assert view.synchronise(Scope.PROJECTS).outcome is Pass.MATCHED


def test_a_malformed_event_is_parked_and_the_rest_goes_on(view: View) -> None:
    view.load()
    view.beto.tell(view.beto.truth.new_project(REF)[1])
    good = view.beto.outbox[0]
    bad = view.beto.message("projects", {"projectId": "x"})
    view.beto.outbox[:] = [bad, good]
    view.beto.flush(view.broker)
    turn = view.consume()[0]
    assert (turn.applied, turn.refused) == (1, 1)
    (dead,) = view.broker.dead_letters("resource_provisioning.project-changed")
    assert dead.message == bad
    assert dead.reason.startswith("message_malformed: ")


@pytest.mark.parametrize(
    "damage",
    [
        b"UPDATE projects.items SET item = replace(item, 'sion\":1', 'sion\":0') WHERE scope = 'projects'",
        b"UPDATE projects.items SET item = '{}' WHERE scope = 'projects'",
        b"UPDATE projects.items SET id = '00000000-0000-4000-8000-000000000999' WHERE scope = 'projects'",
    ],
    ids=["revision", "emptied", "moved"],
)
def test_a_damaged_item_is_corrupt_and_never_an_answer(view: View, admin: Database, damage: bytes) -> None:
    project, _ = view.beto.truth.new_project(REF)
    view.load()
    admin.run(lambda tx: tx.execute(Query("damage", damage)))
    for key in (project, "00000000-0000-4000-8000-000000000999"):
        try:
            found = view.reads.project_membership(ProjectId(UUID(key)), PartyId(UUID(int=1)), view.now())
        except CorruptState:
            break
        assert found is None
    else:
        raise AssertionError("the damage went unnoticed")

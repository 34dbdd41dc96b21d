"""Once per event, whoever dies in between and however many work at once (P13, P17, X7, O3)."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from central.kernel.broker import Message
from central.kernel.broker_postgres import BrokerOptions, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.driver_errors import ConstraintViolated
from central.kernel.errors import Unavailable
from central.kernel.notifications import Waiters
from central.kernel.queries import Query, load_queries
from central.projects.application.ports import Applied, PassLost
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.domain.revisions import Effect
from central.projects.domain.view import Phase
from central.projects.entrypoints.events import QUEUES, read_event
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import NEVER, until
from tests.postgres.projects.conftest import LIMITS, ROLE, View
from tests.simulators.beto.beto import Faults
from tests.simulators.beto.truth import WALDUR, Change

PROJECTS = QUEUES[0].name
_RECEIPTS = Query("receipts", b"SELECT count(*) AS receipts FROM projects.consumer_receipts")


def generation(view: View, project: str, party: str) -> int:
    """The generation as it stands, whatever the state of the view."""
    query = Query(
        "generation",
        b"SELECT generation AS receipts FROM projects.memberships "
        b"WHERE project_id = %(project)s AND party_id = %(party)s",
    )
    params = {"project": project, "party": party}
    return view.database.run(lambda tx: tx.one(_Count, query, params)).receipts


class _Count:
    def __init__(self, receipts: int) -> None:
        self.receipts = receipts


def receipts(view: View) -> int:
    return view.database.run(lambda tx: tx.one(_Count, _RECEIPTS)).receipts


def apply(view: View, message: Message) -> Applied:
    event = read_event(message.topic, message.body)
    return view.store.apply(PROJECTS, [(event.message_id, event.told)], view.now())[0]


def test_one_message_to_many_at_once_has_one_effect(view: View) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, _ = truth.new_project()
    for _ in range(10):
        joined = view.beto.message(*truth.add_member(project, party))
        with ThreadPoolExecutor(6) as pool:
            done = [pool.submit(apply, view, joined) for _ in range(6)]
            found = [one.result(timeout=NEVER) for one in done]
        assert sorted(one.repeated for one in found) == [False] + [True] * 5
        left = view.beto.message(*truth.remove_member(project, party))
        assert not apply(view, left).repeated
    assert generation(view, project, party) == 10
    assert receipts(view) == 20


def test_revisions_of_one_project_at_once_end_with_the_newest(view: View) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    for _ in range(5):
        project, first = truth.new_project()
        acts: list[Change] = [first]
        for _ in range(3):
            acts += [truth.add_member(project, party), truth.remove_member(project, party)]
        messages = [view.beto.message(*act) for act in acts]
        view.beto.dice.shuffle(messages)
        with ThreadPoolExecutor(len(messages)) as pool:
            for one in [pool.submit(apply, view, message) for message in messages]:
                one.result(timeout=NEVER)
        again = apply(view, view.beto.message(*acts[-1])).judgement
        assert again is not None
        assert again.effect is Effect.SAME


def test_another_consumer_has_its_own_receipt(view: View) -> None:
    message = view.beto.message(*view.beto.truth.new_project()[1])
    assert not apply(view, message).repeated
    event = read_event(message.topic, message.body)
    (applied,) = view.store.apply("another.consumer", [(event.message_id, event.told)], view.now())
    assert not applied.repeated
    assert applied.judgement is not None
    assert applied.judgement.effect is Effect.SAME


def test_dying_between_effect_and_acknowledgement_does_nothing_twice(
    view: View, admin: Database, waiters: Waiters
) -> None:
    view.broker = PostgresBroker(admin, waiters, options=BrokerOptions(lease=0.3, look=0.05))
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, made = truth.new_project()
    view.beto.tell(made, truth.add_member(project, party), truth.remove_member(project, party))
    view.beto.tell(truth.add_member(project, party))
    view.beto.flush(view.broker)
    with view.broker.subscribe(PROJECTS) as dying:
        for delivery in dying.fetch(10):
            assert not apply(view, delivery.message).repeated
    assert generation(view, project, party) == 2
    time.sleep(0.4)
    view.broker = PostgresBroker(admin, waiters, options=BrokerOptions(look=0.05))
    with view.broker.subscribe(PROJECTS) as living:
        turn = view.consumer(PROJECTS).turn(living)
    assert turn.applied == 4
    assert generation(view, project, party) == 2
    assert view.broker.depth(PROJECTS) == (0, 0)


def test_a_rolled_back_effect_leaves_no_receipt(view: View, admin: Database) -> None:
    party, _ = view.beto.truth.new_party()
    project, _ = view.beto.truth.new_project()
    joined = view.beto.message(*view.beto.truth.add_member(project, party))
    refuse = Query(
        "refuse", b"ALTER TABLE projects.memberships ADD CONSTRAINT never CHECK (generation > 1) NOT VALID"
    )
    allow = Query("allow", b"ALTER TABLE projects.memberships DROP CONSTRAINT never")
    admin.run(lambda tx: tx.execute(refuse))
    with pytest.raises(ConstraintViolated):
        apply(view, joined)
    assert receipts(view) == 0
    admin.run(lambda tx: tx.execute(allow))
    assert not apply(view, joined).repeated
    assert generation(view, project, party) == 1


def test_consumers_killed_again_and_again_lose_nothing(
    view: View, admin: Database, pg_server: PgServer, name: str
) -> None:
    """SIGKILL at any moment: every event has one receipt and one effect (F04)."""
    made = [view.beto.truth.new_project() for _ in range(300)]
    view.beto.tell(*(change for _, change in made))
    view.beto.flush(view.broker)
    command = [sys.executable, "-m", "tests.postgres.projects.consumer_process"]
    env = os.environ | {
        "TRIAL_URL": pg_server.role_url(ROLE, name),
        "TRIAL_BROKER_URL": pg_server.admin_url(name),
    }
    kills, deadline = 0, time.monotonic() + 300
    for turn in itertools.count():
        assert time.monotonic() < deadline
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 + 0.03 * turn if turn < 6 else 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        kills += 1
        waiting, dead = view.broker.depth(PROJECTS)  # type: ignore[attr-defined]
        if waiting == 0:
            break
    assert (waiting, dead) == (0, 0)
    assert kills >= 2
    assert receipts(view) == 300
    query = Query("items", b"SELECT count(*) AS receipts FROM projects.items WHERE scope = 'projects'")
    assert view.database.run(lambda tx: tx.one(_Count, query)).receipts == 300


def test_events_and_repairs_at_once_end_in_betos_truth(view: View) -> None:
    """A repair never undoes what an event told meanwhile, and never keeps what was dropped."""
    truth = view.beto.truth
    view.load()
    refs = [str(UUID(int=0x4000 << 64 | 8 << 60 | n)) for n in range(20)]
    messages = []
    for ref in refs:
        project, change = truth.new_project()
        messages.append(view.beto.message(*change))
        messages.append(view.beto.message(*truth.bind_project(project, ref)))
    lost = set(view.beto.dice.sample(range(len(messages)), 10))

    def consume() -> None:
        for n, message in enumerate(messages):
            if n not in lost:
                apply(view, message)

    with ThreadPoolExecutor(2) as pool:
        consuming = pool.submit(consume)
        for _ in range(6):
            view.synchronise(Scope.PROJECTS, limits=replace(LIMITS, settle_attempts=1))
        consuming.result(timeout=NEVER)
    view.load()
    assert view.resolve.resolve(WALDUR, refs) == {ref: UUID(truth.holders(ref).pop()) for ref in refs}


def test_only_one_pass_holds_a_scope_and_a_late_one_changes_nothing(view: View) -> None:
    view.beto.truth.new_project()
    begun = view.store.begin(Scope.PROJECTS, view.now(), LIMITS)
    assert begun is not None
    assert view.synchronise(Scope.PROJECTS).outcome == "elsewhere"
    view.clock.pass_by(LIMITS.pass_seconds)
    assert view.synchronise(Scope.PROJECTS).outcome == "loaded"
    with pytest.raises(PassLost):
        view.store.swap(begun, view.questions.checkpoint(Scope.PROJECTS), [], view.now())
    assert view.store.state(Scope.PROJECTS).phase is Phase.CURRENT
    view.store.release(begun, "late")
    assert view.store.state(Scope.PROJECTS).reason is None


def test_the_database_itself_refuses_a_generation_that_goes_back(view: View, admin: Database) -> None:
    party, _ = view.beto.truth.new_party()
    project, _ = view.beto.truth.new_project()
    apply(view, view.beto.message(*view.beto.truth.add_member(project, party)))
    apply(view, view.beto.message(*view.beto.truth.add_member(project, party)))
    assert generation(view, project, party) == 2
    for statement in (b"UPDATE projects.memberships SET generation = 1", b"DELETE FROM projects.memberships"):
        query = Query("break", statement)
        with pytest.raises(ConstraintViolated, match="memberships_generation"):
            admin.run(lambda tx, query=query: tx.execute(query))  # type: ignore[misc]


def test_a_view_that_cannot_be_read_is_unavailable(
    view: View, pg_server: PgServer, name: str, open_database: Callable[[DatabaseOptions], Database]
) -> None:
    view.load()
    lost = open_database(
        DatabaseOptions(
            pg_server.role_url(ROLE, name).replace(name, "no_such_database"), pool_timeout_seconds=0.5
        )
    )
    away = View(lost, view.broker, view.beto, view.clock)
    with pytest.raises(Unavailable):
        away.resolve.resolve(WALDUR, [str(uuid4())])
    with pytest.raises(Unavailable):
        away.reads.members(ProjectId(uuid4()), view.now())
    with pytest.raises(Unavailable):
        away.reads.project_membership(ProjectId(uuid4()), PartyId(uuid4()), view.now())


@pytest.mark.parametrize(
    "faults", [Faults(silent=True), Faults(forget_snapshots=True)], ids=["silent", "gone"]
)
def test_a_beto_that_cannot_be_read_leaves_the_view_without_answers(view: View, faults: Faults) -> None:
    view.beto.truth.new_project()
    view.beto.faults = faults
    assert view.synchronise(Scope.PROJECTS).outcome == "unreadable"
    assert view.store.state(Scope.PROJECTS).phase is Phase.LOADING
    with pytest.raises(Unavailable, match=r"loading|uninitialised"):
        view.resolve.resolve(WALDUR, ["x"])
    view.beto.faults = Faults()
    view.load()
    assert view.resolve.resolve(WALDUR, ["x"]) == {"x": None}


def test_messages_in_one_transaction_count_as_if_each_came_alone(view: View) -> None:
    """Leaving and returning inside one batch advances the generation; a message twice in it counts once."""
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, made = truth.new_project()
    acts = [made]
    for _ in range(3):
        acts += [truth.add_member(project, party), truth.remove_member(project, party)]
    messages = [read_event(m.topic, m.body) for m in (view.beto.message(*act) for act in acts)]
    batch = [(found.message_id, found.told) for found in [*messages, messages[3]]]
    outcomes = view.store.apply(PROJECTS, batch, view.now())
    assert [one.repeated for one in outcomes] == [False] * 7 + [True]
    assert generation(view, project, party) == 3
    assert receipts(view) == 7
    assert all(one.repeated for one in view.store.apply(PROJECTS, batch, view.now()))


def test_batches_that_overlap_at_once_have_each_effect_once(view: View) -> None:
    truth = view.beto.truth
    made = [truth.new_project() for _ in range(40)]
    messages = [read_event(m.topic, m.body) for m in (view.beto.message(*change) for _, change in made)]
    batches = []
    for _ in range(8):
        view.beto.dice.shuffle(messages)
        batches.append([(found.message_id, found.told) for found in messages[:25]])
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(view.store.apply, PROJECTS, batch, view.now()) for batch in batches]
        applied = [one for answer in done for one in answer.result(timeout=NEVER) if not one.repeated]
    assert len(applied) == receipts(view) == len({message for batch in batches for message, _ in batch})


def test_a_forgotten_receipt_changes_nothing(view: View) -> None:
    truth = view.beto.truth
    party, _ = truth.new_party()
    project, _ = truth.new_project()
    joined = view.beto.message(*truth.add_member(project, party))
    apply(view, joined)
    assert view.store.forget_receipts(view.now()) == 0
    view.clock.pass_by(1)
    assert view.store.forget_receipts(view.now()) == 1
    again = apply(view, joined)
    assert again.judgement is not None
    assert again.judgement.effect is Effect.SAME
    assert generation(view, project, party) == 1


def test_a_repair_begins_only_after_messages_at_hand_are_done(view: View, admin: Database) -> None:
    """What was told before a pass began must be in its snapshot, so it must not count as told since (P14)."""
    _, change = view.beto.truth.new_project()
    message = view.beto.message(*change)
    event = read_event(message.topic, message.body)
    lock = load_queries("central.projects", "view.sql")["lock_items"]
    waiting = Query(
        "waiting",
        b"SELECT count(*) AS receipts FROM pg_stat_activity"
        b" WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )

    def held_up() -> int:
        return admin.run(lambda tx: tx.one(_Count, waiting)).receipts

    with ThreadPoolExecutor(2) as pool:
        with admin.transaction() as holding:
            holding.execute(lock, {"scope": "projects", "ids": [event.told.value.id]})
            applying = pool.submit(apply, view, message)
            until(lambda: held_up() == 1)
            beginning = pool.submit(view.store.begin, Scope.PROJECTS, view.now(), LIMITS)
            until(lambda: held_up() == 2)
            assert not applying.done()
            assert not beginning.done()
        applying.result(timeout=NEVER)
        begun = beginning.result(timeout=NEVER)
    assert begun is not None
    query = Query("epoch", b"SELECT epoch AS receipts FROM projects.items")
    assert (begun.epoch, view.database.run(lambda tx: tx.one(_Count, query)).receipts) == (1, 0)

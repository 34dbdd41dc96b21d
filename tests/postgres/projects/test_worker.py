"""The worker's parts together: a real queue, a real Beto behind it, and its start-up rule (P14, P20, O3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from prometheus_client import CollectorRegistry

from central.kernel.broker_postgres import PostgresBroker
from central.kernel.database import Database
from central.kernel.times import utc_now
from central.processes.provisioning_worker import (
    ADMINISTRATION,
    BetoView,
    ViewMetrics,
    ViewWorker,
    require_beto,
    require_questions,
)
from central.processes.refusals import StartRefused
from central.projects.application.synchronise import Pass
from central.projects.domain.ids import ProjectId, Scope
from central.projects.domain.view import ViewLimits
from central.projects.entrypoints.events import QUEUES
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import eventually
from tests.postgres.projects.logins import login
from tests.simulators.beto.beto import Beto, Faults
from tests.simulators.beto.memory_broker import MemoryBroker
from tests.simulators.beto.speaker import speaking
from tests.simulators.beto.truth import WALDUR

REF = "00000000-0000-4000-8000-000000000310"
LIMITS = ViewLimits(compare_every=timedelta(seconds=0.3), settle_attempts=2, settle_seconds=0.1)


@contextmanager
def working(view: BetoView) -> Iterator[CollectorRegistry]:
    registry = CollectorRegistry()
    worker = ViewWorker(view, ViewMetrics(registry))
    worker.start()
    try:
        yield registry
    finally:
        worker.stop()


def test_two_workers_keep_the_view_through_events_losses_and_outages(
    owner: Database, broker: PostgresBroker
) -> None:
    beto = Beto(clock=utc_now)
    truth = beto.truth
    party, _ = truth.new_party(site="slurm", username="u1")
    project, _ = truth.new_project(REF)
    view = BetoView(owner, broker, LIMITS)

    def tell(*changes: object) -> None:
        beto.tell(*changes)  # type: ignore[arg-type]
        beto.flush(broker)

    def generation() -> tuple[int, bool] | None:
        found = view.provisioning_roster.roster.reads.members(ProjectId(UUID(project)), utc_now())
        return (found[0].generation, found[0].present) if found else None

    with speaking(beto, broker) as malformed, working(view) as registry, working(view) as other:
        eventually(lambda: view.resolve_projects.resolve(WALDUR, [REF]) == {REF: UUID(project)})
        tell(truth.add_member(project, party))
        eventually(lambda: generation() == (1, True))
        truth.remove_member(project, party)
        eventually(lambda: generation() == (1, False))
        beto.faults = Faults(silent=True)
        tell(truth.add_member(project, party))
        eventually(lambda: generation() == (2, True))
        beto.faults = Faults()
        beto.restart()
        tell(truth.new_project("other")[1])
        eventually(lambda: view.resolve_projects.resolve(WALDUR, ["other"])["other"] is not None)
        labels = {"scope": "projects", "outcome": "matched"}
        eventually(
            lambda: any(r.get_sample_value("pharos_view_passes_total", labels) for r in (registry, other))
        )
    assert malformed == []
    for scope in Scope:
        assert registry.get_sample_value("pharos_view_current", {"scope": scope.value}) is not None


def test_p14_pages_that_would_not_fit_into_a_message_are_shorter(
    owner: Database, broker: PostgresBroker
) -> None:
    """600 Projects of 20 members: 500 of them are more than a page holds."""
    beto = Beto(clock=utc_now)
    parties = [beto.truth.new_party(site="slurm", username=f"u{number}")[0] for number in range(20)]
    for number in range(600):
        project, _ = beto.truth.new_project(f"project {number}")
        for party in parties:
            beto.truth.add_member(project, party)
    view = BetoView(owner, broker, LIMITS)
    with speaking(beto, broker) as malformed:
        loaded = [view.synchronise(lambda seconds: None)(scope).outcome for scope in Scope]
    assert (loaded, malformed) == ([Pass.LOADED] * 3, [])
    refs = ["project 0", "project 499", "project 599"]
    assert None not in view.resolve_projects.resolve(WALDUR, refs).values()


def test_p13_p14_a_project_of_ten_thousand_members_is_one_message(
    owner: Database, broker: PostgresBroker
) -> None:
    """As many as one set of accounts may name (P21), as a page and as an event."""
    beto = Beto(clock=utc_now)
    parties = [beto.truth.new_party(site="slurm", username=f"u{number}")[0] for number in range(10_000)]
    project, _ = beto.truth.new_project(REF)
    beto.truth.add_members(project, parties[1:])
    view = BetoView(owner, broker, LIMITS)
    with speaking(beto, broker) as malformed:
        loaded = [view.synchronise(lambda seconds: None)(scope).outcome for scope in Scope]
        assert (loaded, malformed) == ([Pass.LOADED] * 3, [])
        with working(view):
            beto.tell(beto.truth.add_member(project, parties[0]))
            beto.flush(broker)
            reads = view.provisioning_roster.roster.reads
            eventually(lambda: len(reads.members(ProjectId(UUID(project)), utc_now())) == 10_000)


def test_a_start_without_betos_queues_or_scope_is_refused() -> None:
    with pytest.raises(StartRefused) as refused:
        require_beto(MemoryBroker())
    assert str(refused.value).count("the broker has no queue") == len(QUEUES) + 1
    bare = MemoryBroker(enrolments=set())
    for queue in QUEUES:
        bare.declare(queue)
    with pytest.raises(StartRefused, match=f"not enrolled to consume at {QUEUES[0].name}"):
        require_beto(bare)


def test_an_enrolled_identity_starts_and_another_does_not(
    pg_server: PgServer, name: str, broker: PostgresBroker, owner: Database
) -> None:
    with speaking(Beto(clock=utc_now), broker):
        consume = [("consume", queue.name) for queue in QUEUES]
        with login(pg_server, name) as views:
            with pytest.raises(StartRefused):
                require_beto(views)
            with pytest.raises(StartRefused):
                require_questions(views)
            for enrolment in ADMINISTRATION.enrolments:
                broker.enrol(views.identity, enrolment.act, enrolment.name)
            require_beto(views)
            require_questions(views)
            with working(BetoView(owner, views, LIMITS)):
                view = BetoView(owner, views, LIMITS)
                eventually(lambda: view.resolve_projects.resolve(WALDUR, [REF]) == {REF: None})
        with (
            login(pg_server, name, *consume) as silent,
            pytest.raises(StartRefused, match=r"not enrolled to ask at beto\.questions"),
        ):
            require_beto(silent)
        with login(pg_server, name) as nobody, pytest.raises(StartRefused):
            ViewWorker(BetoView(owner, nobody, LIMITS), ViewMetrics(CollectorRegistry())).start()

"""The provisioning worker's part that keeps Beto's view: consumers and the synchroniser (P13–P17, P20, O3).

Roles: the view's database is this context's own (`pharos_resource_provisioning`); the broker is reached as
`pharos_resource_provisioning_views`, which Beto enrols for the view's queues and for its questions (X12).
Several replicas may run: queues are shared, and each periodic pass is one replica's at a time (O3).
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry, Counter, Gauge

from central.kernel.broker import Act, Broker, Consumer, ManyQuestions, QueueSpec, ask_in_turns
from central.kernel.broker_administration import Administration, Enrolment
from central.kernel.database import Database
from central.kernel.errors import Unavailable
from central.kernel.leases import Leases
from central.kernel.observability import event
from central.kernel.times import Clock, utc_now
from central.processes.background import Background
from central.processes.broker_rights import require_rights
from central.processes.leased_passes import LeasedPasses
from central.projects.adapters.beto_questions import QUEUE, BetoQuestions
from central.projects.adapters.postgres_reads import PostgresReads
from central.projects.adapters.postgres_view import PostgresView
from central.projects.adapters.project_listing import ProjectListing
from central.projects.application.apply_events import ApplyEvents
from central.projects.application.find_member import FindMember
from central.projects.application.list_members import ListMembers
from central.projects.application.ports import PartyProjects, ProjectDecisions, ProjectSites
from central.projects.application.resolve_projects import ResolveProjects
from central.projects.application.roster import MemberRoster, ProvisioningRoster
from central.projects.application.site_bindings import SiteBindings
from central.projects.application.synchronise import Pass, Synchronise
from central.projects.domain.ids import Scope
from central.projects.domain.view import ScopeView, ViewLimits
from central.projects.entrypoints.events import QUEUES, ViewConsumer

VIEWS_IDENTITY: Final = "pharos_resource_provisioning_views"
READER_IDENTITY: Final = "pharos_resource_provisioning_reader"
QUESTION_SECONDS: Final = 10.0
MANY: Final = ManyQuestions(at_once=100, seconds=QUESTION_SECONDS)
"""Of a list with thousands of members: nobody else's question waits behind more than these."""
_LOG: Final = logging.getLogger("central.projects")


ADMINISTRATION: Final = Administration(
    queues=(*QUEUES, QueueSpec(QUEUE, ())),
    enrolments=(
        *(Enrolment(VIEWS_IDENTITY, "consume", queue.name) for queue in QUEUES),
        Enrolment(VIEWS_IDENTITY, "ask", QUEUE),
        Enrolment(READER_IDENTITY, "ask", QUEUE),
    ),
)
"""What Beto's view needs of the broker."""


def require_beto(broker: Broker) -> None:
    """Refuses a start without Beto's source scope (P20): its queues, and the right to consume and to ask.

    Called by the worker and by every Site intake. `Unavailable` if the broker cannot be reached.
    """
    wanted: list[tuple[Act, str]] = [("consume", queue.name) for queue in QUEUES]
    require_rights(broker, [*wanted, ("ask", QUEUE)], VIEWS_IDENTITY)


def require_questions(broker: Broker) -> None:
    """Refuses a start of who only asks Beto, and may not (P30). `Unavailable` as in `require_beto`."""
    require_rights(broker, [("ask", QUEUE)], READER_IDENTITY)


@dataclass(frozen=True, slots=True)
class BetoView:
    """The view's use cases over one database and one broker, for the processes that need them."""

    database: Database
    broker: Broker
    limits: ViewLimits = field(default_factory=ViewLimits)
    clock: Clock = utc_now

    @property
    def resolve_projects(self) -> ResolveProjects:
        """The `ProjectBindings` of allocations (P3)."""
        return ResolveProjects(PostgresReads(self.database, self.limits), self.clock)

    @property
    def site_bindings(self) -> SiteBindings:
        """Usernames and Parties at Sites (P16)."""
        return SiteBindings(PostgresReads(self.database, self.limits))

    @property
    def party_projects(self) -> PartyProjects:
        """Where somebody is or was a member (P30)."""
        return ProjectListing(self.database, self.limits)

    @property
    def provisioning_roster(self) -> ProvisioningRoster:
        """Members under authority (P15)."""
        return ProvisioningRoster(MemberRoster(PostgresReads(self.database, self.limits), self._questions()))

    @property
    def project_decisions(self) -> ProjectDecisions:
        """Beto's decisions, for contexts that act in a Project (E4, E7, P38)."""
        return self._questions()

    def find_member(self, sites: ProjectSites) -> FindMember:
        """What the members route answers from (P19)."""
        return FindMember(self.resolve_projects, sites, self.site_bindings, self.provisioning_roster)

    def list_members(self, sites: ProjectSites) -> ListMembers:
        """What the list of a Project's members is read from (P15–P19)."""
        reads = PostgresReads(self.database, self.limits)
        return ListMembers(self.resolve_projects, sites, reads, self._questions())

    def consumers(self) -> list[Consumer]:
        """One consumer a queue."""
        apply_events = ApplyEvents(PostgresView(self.database))
        handles = [ViewConsumer(queue.name, apply_events, self.clock) for queue in QUEUES]
        return [Consumer(handle.consumer, handle, check=handle.check) for handle in handles]

    def synchronise(self, pause: Callable[[float], None]) -> Synchronise:
        """One pass over a scope."""
        return Synchronise(PostgresView(self.database), self._questions(), self.limits, self.clock, pause)

    def accept_restored(self, scope: Scope) -> bool:
        """See `ViewStore`."""
        return PostgresView(self.database).accept_restored(scope)

    def state(self, scope: Scope) -> ScopeView:
        """The scope as it stands."""
        return PostgresView(self.database).state(scope)

    def forget_receipts(self) -> int:
        """Forgets receipts no message can still need."""
        return PostgresView(self.database).forget_receipts(self.clock() - self.limits.receipts_kept)

    def _questions(self) -> BetoQuestions:
        def ask(question_id: UUID, body: bytes) -> bytes:
            return self.broker.ask(QUEUE, question_id, body, timeout=QUESTION_SECONDS)

        def ask_all(questions: Mapping[UUID, bytes]) -> Mapping[UUID, bytes]:
            return ask_in_turns(self.broker, QUEUE, questions, MANY)

        return BetoQuestions(ask, ask_all=ask_all)


class ViewMetrics:
    """What the worker counts of the view; labels are scopes and outcomes, never names (X9)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.passes = Counter(
            "pharos_view_passes_total",
            "Passes over a scope of Beto's view by outcome; `unreadable` and `elsewhere` are missed ones.",
            ["scope", "outcome"],
            registry=registry,
        )
        self.current = Gauge(
            "pharos_view_current", "1 while the scope answers.", ["scope"], registry=registry
        )


class ViewWorker:
    """Keeps the view until it is stopped: a thread a queue and one for the periodic passes.

    A pass over a scope, and the forgetting of receipts, each hold a lease: replicas share them (O3).
    """

    def __init__(self, view: BetoView, metrics: ViewMetrics) -> None:
        self._view = view
        self._metrics = metrics
        self._leased = LeasedPasses(Leases(view.database), metrics.registry, _LOG)
        self._background = Background()
        for consumer in view.consumers():
            self._background.add(consumer.queue, partial(consumer.run, view.broker))
        self._background.add("synchroniser", self._synchronise)
        self.signal, self.stop = self._background.signal, self._background.stop

    def start(self) -> None:
        """Refuses a start without Beto's scope (P20), then begins."""
        require_beto(self._view.broker)
        self._background.start()

    def _synchronise(self, ending: threading.Event) -> None:
        def pause(seconds: float) -> None:
            ending.wait(seconds)

        synchronise = self._view.synchronise(pause)
        passes: list[tuple[str, Callable[[], object]]] = [
            (f"view.{scope.value}", partial(self._pass, synchronise, scope)) for scope in Scope
        ]
        passes.append(("view.receipts", self._view.forget_receipts))
        while not ending.is_set():
            for name, work in passes:
                if not ending.is_set():
                    limits = self._view.limits
                    hold = timedelta(seconds=limits.pass_seconds)
                    self._leased.turn(name, work, every=limits.compare_every, hold=hold)
            self._show()
            ending.wait(self._view.limits.compare_every.total_seconds())

    def _show(self) -> None:
        """What every replica tells of the view, whoever keeps it."""
        for scope in Scope:
            try:
                usable = self._view.state(scope).unusable(self._view.clock(), self._view.limits) is None
            except Unavailable:
                usable = False
            self._metrics.current.labels(scope.value).set(usable)

    def _pass(self, synchronise: Synchronise, scope: Scope) -> None:
        ended = synchronise(scope)
        self._metrics.passes.labels(scope.value, ended.outcome.value).inc()
        fine = ended.outcome in (Pass.MATCHED, Pass.LOADED)
        event(
            _LOG,
            "view_pass",
            level=logging.INFO if fine else logging.WARNING,
            scope=scope.value,
            outcome=ended.outcome.value,
            reason=ended.reason,
        )

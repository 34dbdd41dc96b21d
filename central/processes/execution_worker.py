"""The worker of Runs: what is due by itself, and Execution Core's word about accepted work (P27, P29, O3).

Roles: `pharos_execution` in the database and at the broker; allocations and accounts are read as
`pharos_resource_provisioning_reader`. Several replicas may run: each pass is one replica's at a time, and
what two of them decide at once is one command.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import uuid4

from prometheus_client import CollectorRegistry, Counter, Gauge

from central.execution.adapters.git_refs import SmartHttpRefs
from central.execution.adapters.postgres_consents import PostgresConsented
from central.execution.adapters.postgres_maintenance import PostgresMaintenance
from central.execution.adapters.postgres_passes import PostgresPasses
from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.adapters.postgres_silences import PostgresSilences
from central.execution.application.answer_work import AnswerWork
from central.execution.application.git_passes import CONFIRM, REVOKE, ConfirmOutputs, RevokeCredentials
from central.execution.application.host_turns import HostTurns
from central.execution.application.passes import ExpireRuns, Passed, ReconsiderRuns
from central.execution.application.publish_work import PublishWork
from central.execution.application.work_items import TOPIC
from central.execution.entrypoints.work_questions import QUEUE, WorkQuestions
from central.kernel.broker import Act, Broker, QueueSpec
from central.kernel.broker_administration import Administration, Enrolment
from central.kernel.database import Database
from central.kernel.leases import Leases
from central.kernel.times import Clock, utc_now
from central.processes.background import Background
from central.processes.broker_rights import require_rights
from central.processes.execution import repository_credentials
from central.processes.execution_ports import AllocatedResources, BetoAuthorities, run_accounts
from central.processes.leased_passes import LeasedPasses, Turn
from central.processes.provisioning_worker import BetoView
from central.processes.refusals import StartRefused
from central.projects.adapters.beto_questions import QUEUE as BETO
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.settings import Settings

IDENTITY: Final = "pharos_execution"
HOLD: Final = timedelta(minutes=5)
_RIGHTS: Final[tuple[tuple[Act, str], ...]] = (("answer", QUEUE), ("ask", BETO))
_LOG: Final = logging.getLogger("central.execution")

ADMINISTRATION: Final = Administration(
    queues=(QueueSpec(QUEUE, ()), QueueSpec(BETO, ())),
    enrolments=(
        Enrolment(IDENTITY, "publish", TOPIC),
        *(Enrolment(IDENTITY, act, queue) for act, queue in _RIGHTS),
    ),
)
"""What Runs need of the broker."""


def require_execution(broker: Broker) -> None:
    """Refuses a start of who may not publish accepted work, answer for it and ask Beto. `Unavailable`."""
    require_rights(broker, _RIGHTS, IDENTITY)
    if not broker.allowed("publish", TOPIC):
        remedy = f"run `pharos-central broker administer` and connect as {IDENTITY}"
        raise StartRefused(f"this identity is not enrolled to publish {TOPIC}; {remedy}")


@dataclass(frozen=True, slots=True)
class DuePass:
    """A pass, and how often it is made whatever number of replicas runs."""

    name: str
    every: timedelta
    work: Callable[..., Passed]

    @property
    def lease(self) -> str:
        """Its lease row."""
        return f"execution.{self.name}"


class PassMetrics:
    """What the worker counts; labels are passes and outcomes, never names (X9)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.passes = Counter(
            "pharos_execution_passes_total",
            "Passes over Runs by outcome.",
            ["name", "outcome"],
            registry=registry,
        )
        self.changed = Counter(
            "pharos_execution_changes_total",
            "Runs that passes moved, published, confirmed or cleaned.",
            ["name"],
            registry=registry,
        )
        self.unavailable = Gauge(
            "pharos_execution_runs_unavailable",
            "Runs the last pass could know nothing of.",
            ["name"],
            registry=registry,
        )


class ExecutionWorker:
    """A thread a pass and one for questions."""

    def __init__(
        self,
        passes: tuple[DuePass, ...],
        questions: WorkQuestions,
        broker: Broker,
        leases: Leases,
        *,
        metrics: PassMetrics,
        clock: Clock,
    ) -> None:
        self._leased = LeasedPasses(leases, metrics.registry, _LOG)
        self._metrics = metrics
        self._clock = clock
        self._broker = broker
        self._background = Background()
        for each in passes:
            self._background.add(each.name, partial(self._repeat, each))
        self._background.add("questions", partial(questions.run, broker))
        self.signal, self.stop = self._background.signal, self._background.stop

    def start(self) -> None:
        """Refuses a start without its rights, then begins."""
        require_execution(self._broker)
        self._background.start()

    def _repeat(self, due: DuePass, ending: threading.Event) -> None:
        while not ending.is_set():
            self._turn(due)
            ending.wait(due.every.total_seconds())

    def _turn(self, due: DuePass) -> None:
        turn = self._leased.turn(due.lease, partial(self._pass, due), every=due.every, hold=HOLD)
        if turn is not Turn.NOT_DUE:
            self._metrics.passes.labels(due.name, turn.value).inc()

    def _pass(self, due: DuePass) -> None:
        done = due.work(self._clock())
        self._metrics.changed.labels(due.name).inc(done.changed)
        self._metrics.unavailable.labels(due.name).set(done.unavailable)


def execution_worker(
    settings: Settings,
    databases: tuple[Database, Database],
    broker: Broker,
    registry: CollectorRegistry,
    clock: Clock = utc_now,
) -> ExecutionWorker:
    """The worker over its own database, provisioning's, and the broker."""
    database, evidence = databases
    passes, runs = PostgresPasses(database), PostgresRuns(database)
    credentials = repository_credentials(settings, database)
    ca_file = settings.repositories.ca_file if settings.repositories else None
    reconsider = ReconsiderRuns(
        passes=passes,
        runs=runs,
        maintenance=PostgresMaintenance(database),
        suspensions=AllocatedResources(PostgresSavedAllocations(evidence)),
        authorities=BetoAuthorities(BetoView(evidence, broker).project_decisions),
        accounts=run_accounts(evidence, None, settings.account_max_age),
        consents=PostgresConsented(database),
        patience=settings.confirmation_patience,
    )
    git = SmartHttpRefs(str(ca_file) if ca_file else None)
    patience, turns = settings.confirmation_patience, HostTurns(PostgresSilences(database, CONFIRM))
    confirm = ConfirmOutputs(passes, runs, git, credentials, patience, turns)
    revoke = RevokeCredentials(runs, credentials, HostTurns(PostgresSilences(database, REVOKE)))
    due = (
        DuePass("publish", timedelta(seconds=2), PublishWork(passes, runs, broker.publish)),
        DuePass("confirm", timedelta(seconds=2), confirm),
        DuePass("reconsider", timedelta(seconds=5), reconsider),
        DuePass("expire", timedelta(seconds=5), ExpireRuns(passes, runs)),
        DuePass("revoke", timedelta(seconds=10), revoke),
    )
    questions = WorkQuestions(AnswerWork(passes, uuid4), clock)
    return ExecutionWorker(
        due, questions, broker, Leases(database), metrics=PassMetrics(registry), clock=clock
    )

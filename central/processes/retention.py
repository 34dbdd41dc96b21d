"""Retained accounts, wired: the intake's route, the worker's consumers and its recovery passes (P27–P29, O3).

Roles: the database is this context's own (`pharos_resource_provisioning`). The broker is reached as
`pharos_resource_provisioning_queries` (`RESOURCE_PROVISIONING_QUERIES_BROKER_URL`), enrolled for the three
consumers of accepted work and for its owners' questions (X12). Several replicas may run; the standing of
recovery is one row for all of them and for the intake (`central/retention/domain/recovery.py`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from prometheus_client import CollectorRegistry

from central.kernel.broker import Act, Broker, QueueSpec
from central.kernel.broker_administration import Administration, Enrolment
from central.kernel.database import Database
from central.kernel.times import utc_now
from central.processes.background import Background
from central.processes.broker_rights import require_rights
from central.processes.provisioning_worker import BetoView
from central.processes.refusals import StartRefused
from central.projects.adapters.postgres_fences import PostgresFences
from central.projects.application.retention_fences import (
    AccountFences,
    AccountHolder,
    NotViewed,
    RetentionFences,
)
from central.projects.domain import ids as viewed
from central.retention.adapters.owner_questions import OwnerQuestions
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.application.recover import Recover
from central.retention.application.retained_accounts import RetainedAccounts
from central.retention.domain.ids import Owner
from central.retention.domain.recovery import RecoveryLimits
from central.retention.domain.retained import Fences, Holder, Unknown
from central.retention.entrypoints.events import OWNER_OF, WORK_QUEUES, WorkConsumer
from central.retention.entrypoints.recovery_passes import RecoveryPasses, RetentionMetrics, WatchedConsumer
from central.settings import Settings

QUERIES_IDENTITY: Final = "pharos_resource_provisioning_queries"
LIMITS: Final = RecoveryLimits()
QUESTION_SECONDS: Final = 10.0
_QUEUES: Final = tuple(queue.spec.name for queue in WORK_QUEUES)


def owners_of(settings: Settings) -> tuple[Owner, ...]:
    """Who accepts work, the same for the worker, the intake and the broker's administration."""
    return tuple(map(Owner, settings.work_owners))


def questions_of(owner: Owner) -> str:
    """The queue an owner answers questions at."""
    return f"{owner}.questions"


def administration(owners: Sequence[Owner]) -> Administration:
    """What retained accounts need of the broker: the queues of accepted work and its owners' (X12)."""
    return Administration(
        queues=(
            *(queue.spec for queue in WORK_QUEUES),
            *(QueueSpec(questions_of(owner), ()) for owner in owners),
        ),
        enrolments=(
            *(Enrolment(QUERIES_IDENTITY, "consume", queue) for queue in _QUEUES),
            *(Enrolment(QUERIES_IDENTITY, "ask", questions_of(owner)) for owner in owners),
        ),
    )


def require_owners(broker: Broker, owners: Sequence[Owner]) -> None:
    """Refuses a start for an owner no event comes from, and one without the durable queues or the right to
    consume them and to ask the owners (P29).

    An owner that does not answer is no reason: recovery is tried until it does. `Unavailable` if the broker
    cannot be reached.
    """
    unheard = sorted(set(owners).difference(OWNER_OF.values()))
    if unheard:
        raise StartRefused(
            f"PHAROS_ACCEPTED_WORK_OWNERS names {', '.join(unheard)}, whose events no consumer takes: work "
            f"told between two passes would go unseen; name {', '.join(sorted(OWNER_OF.values()))} alone"
        )
    wanted: list[tuple[Act, str]] = [("consume", queue) for queue in _QUEUES]
    wanted += [("ask", questions_of(owner)) for owner in owners]
    require_rights(broker, wanted, QUERIES_IDENTITY)


@dataclass(frozen=True, slots=True)
class ViewedFences:
    """`ProjectFences` of accepted work, answered from Beto's view."""

    fences: RetentionFences

    def of(self, holders: Collection[Holder], now: datetime) -> Mapping[Holder, Fences | Unknown]:
        """See `ProjectFences`."""
        asked = {holder: _viewed(holder) for holder in holders}
        told = self.fences.of(set(asked.values()), now)
        return {holder: _fences(told[one]) for holder, one in asked.items()}


def _viewed(holder: Holder) -> AccountHolder:
    return AccountHolder(
        viewed.ProjectId(holder.project_id),
        viewed.PartyId(holder.party_id),
        holder.site,
        viewed.BindingId(holder.binding_id),
    )


def _fences(told: AccountFences | NotViewed) -> Fences | Unknown:
    if isinstance(told, NotViewed):
        return Unknown(told.reason)
    return Fences(told.project_active, told.management_generation, told.generation, told.username)


def retained_accounts(
    database: Database,
    view: BetoView,
    owners: Sequence[Owner],
) -> RetainedAccounts:
    """The use case behind the route; a process that only reads needs no broker for it."""
    fences = ViewedFences(RetentionFences(PostgresFences(view.database, view.limits)))
    return RetainedAccounts(PostgresWork(database), fences, tuple(owners), LIMITS)


class RetentionWorker:
    """The worker's part: a thread a queue and one for the passes. `require` refuses a start."""

    def __init__(
        self,
        broker: Broker,
        consumers: Sequence[WatchedConsumer],
        passes: RecoveryPasses,
        require: Callable[[], None],
    ) -> None:
        self._require = require
        self._background = Background()
        for consumer in consumers:
            self._background.add(consumer.queue, partial(consumer.run, broker))
        self._background.add("recovery", passes.run)
        self.signal, self.stop = self._background.signal, self._background.stop

    def start(self) -> None:
        """Refuses a start without the queues and rights, then begins."""
        self._require()
        self._background.start()


def retention_worker(
    database: Database,
    broker: Broker,
    registry: CollectorRegistry,
    owners: Sequence[Owner],
    *,
    limits: RecoveryLimits = LIMITS,
) -> RetentionWorker:
    """Consumers and passes of one worker process, to be started beside the view's."""

    def ask(owner: Owner, question_id: UUID, body: bytes) -> bytes:
        return broker.ask(questions_of(owner), question_id, body, timeout=QUESTION_SECONDS)

    store = PostgresWork(database)
    consumers = [WatchedConsumer(WorkConsumer(queue, store, utc_now), utc_now) for queue in WORK_QUEUES]
    recover = Recover(store, OwnerQuestions(ask), broker, tuple(owners), _QUEUES, limits, utc_now)
    passes = RecoveryPasses(store, recover, consumers, RetentionMetrics(registry))
    return RetentionWorker(broker, consumers, passes, lambda: require_owners(broker, owners))

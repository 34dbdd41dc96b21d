"""The Site intake: the one process that writes what Sites report (P11, P37)."""

import gc
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import BoundedSemaphore
from typing import Final

from flask import Blueprint, Flask

from central.kernel.database import Database
from central.kernel.errors import Unavailable
from central.kernel.http import HttpLimits, create_app
from central.kernel.observability import Metrics, event
from central.kernel.serving import Service, serve
from central.kernel.site_names import Site
from central.kernel.times import Clock, utc_now
from central.processes.broker_link import BrokerLink, open_broker, require_broker
from central.processes.options import database_options, prepare, serving_options, tell_lent
from central.processes.provisioning_worker import BetoView, require_beto
from central.processes.retention import owners_of, retained_accounts
from central.projects.adapters.postgres_reads import PostgresReads
from central.projects.application.find_member import FindMember
from central.projects.application.list_members import ListMembers
from central.projects.application.resolve_projects import ResolveProjects
from central.projects.domain.view import ViewLimits
from central.projects.entrypoints.member_routes import MemberRoutes
from central.provisioning.adapters.postgres_accounts import PostgresAccounts
from central.provisioning.adapters.postgres_allocations import PostgresAllocations
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.application.ports import ProjectBindings
from central.provisioning.application.read_allocation import ReadAllocation
from central.provisioning.application.report_accounts import ReportAccounts
from central.provisioning.application.report_resources import ReportResources
from central.provisioning.domain.account import Naming
from central.provisioning.domain.ids import WaldurInstance
from central.provisioning.entrypoints.account_reports import AccountReportReader
from central.provisioning.entrypoints.account_routes import AccountRoutes
from central.provisioning.entrypoints.intake_keys import IntakeKeys
from central.provisioning.entrypoints.intake_metrics import IntakeMetrics
from central.provisioning.entrypoints.intake_routes import IntakeRoutes
from central.provisioning.entrypoints.reports import ReportReader
from central.provisioning.entrypoints.wire import REPORT_BYTES_MAX
from central.retention.application.retained_accounts import RetainedAccounts
from central.retention.entrypoints.retained_routes import RetainedRoutes
from central.settings import Settings

NAME: Final = "provisioning-intake"
ASKING: Final = 4
"""Questions about members that may wait for Beto at once, so that as many threads are left for reports."""
THREADS: Final = 4 + ASKING
WORKERS: Final = 2
CONNECTIONS: Final = THREADS
"""A report holds a connection nearly all its time, so more threads than these would only wait."""

_LOG = logging.getLogger("central.provisioning")


@dataclass(frozen=True, slots=True)
class SiteQueries:
    """What Sites ask: members (P19), and the accounts they keep (P28)."""

    find_member: FindMember
    list_members: ListMembers
    retained: RetainedAccounts


@dataclass(frozen=True, slots=True)
class Intake:
    """Who may report, what their reports are held against, and what Sites may ask. `kubernetes` Sites name
    accounts so (P22).
    """

    keys: Mapping[Site, Sequence[str]]
    instance: WaldurInstance
    bindings: ProjectBindings
    queries: SiteQueries | None = None
    trusted_proxies: tuple[str, ...] = ()
    kubernetes: tuple[Site, ...] = ()
    clock: Clock = utc_now


def collect_seldom() -> None:
    """Garbage is looked for after 100,000 new objects, and never among what a worker began with.

    A report makes tens of thousands of values that all live until it is answered and form no cycles: looking
    at them each 700 costs an eighth of its time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def build_app(database: Database, intake: Intake) -> Flask:
    """The application over an opened database."""
    metrics = Metrics(NAME)
    tell_lent(database, metrics)
    app = create_app(
        NAME,
        metrics=metrics,
        ready=database.check_ready,
        limits=HttpLimits(body_bytes=REPORT_BYTES_MAX),
        trusted_proxies=intake.trusted_proxies,
    )
    keys = IntakeKeys.of(intake.keys)
    routes = IntakeRoutes(
        keys=keys,
        reader=ReportReader(intake.instance),
        report_resources=ReportResources(
            PostgresAllocations(database), intake.bindings, intake.instance, _unresolved
        ),
        read_allocation=ReadAllocation(PostgresSavedAllocations(database)),
        metrics=IntakeMetrics(metrics.registry),
        clock=intake.clock,
    )
    account_routes = AccountRoutes(
        keys=keys,
        reader=AccountReportReader(dict.fromkeys(intake.kubernetes, Naming.KUBERNETES)),
        report_accounts=ReportAccounts(PostgresAccounts(database)),
        clock=intake.clock,
    )
    for blueprint in (*routes.blueprints(), *account_routes.blueprints()):
        app.register_blueprint(blueprint)
    if intake.queries is not None:
        for blueprint in _query_routes(intake.queries, intake, keys):
            app.register_blueprint(blueprint)
    return app


def _query_routes(queries: SiteQueries, intake: Intake, keys: IntakeKeys) -> Iterator[Blueprint]:
    find, members = queries.find_member, queries.list_members
    routes = MemberRoutes(find, members, intake.instance, keys.admit, intake.clock, BoundedSemaphore(ASKING))
    yield from routes.blueprints(keys.sites)
    yield RetainedRoutes(queries.retained, keys.admit, intake.clock).blueprint(keys.sites)


@dataclass(frozen=True, slots=True)
class ProvisioningIntake:
    """Builds the service of one worker."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens the pool of this worker and, where a Site has a key, the broker."""
        database = Database(database_options(self.settings, NAME, CONNECTIONS))
        database.open()
        settings = self.settings
        link = open_broker(settings, settings.views_broker, NAME, ASKING) if settings.intake_keys else None
        intake = Intake(
            keys={Site(site): keys for site, keys in self.settings.intake_keys.items()},
            instance=WaldurInstance(self.settings.waldur_instance or ""),
            bindings=ResolveProjects(PostgresReads(database, ViewLimits()), utc_now),
            queries=_queries(settings, database, link) if link else None,
            trusted_proxies=self.settings.trusted_proxies,
            kubernetes=tuple(map(Site, self.settings.kubernetes_sites)),
        )
        app = build_app(database, intake)
        collect_seldom()

        def close() -> None:
            if link is not None:
                link.close()
            database.close()

        return Service(app=app, stopping=link.stop if link else _nothing_parked, close=close)


def _queries(settings: Settings, database: Database, link: BrokerLink) -> SiteQueries:
    view, sites = BetoView(database, link.broker), PostgresSavedAllocations(database)
    retained = retained_accounts(database, view, owners_of(settings))
    return SiteQueries(view.find_member(sites), view.list_members(sites), retained)


def run(settings: Settings) -> int:
    """Checks schema and broker, then serves until stopped; the exit code. Raises `StartRefused` (P20)."""
    prepare(settings, NAME)
    if not settings.intake_keys:
        event(_LOG, "no_intake_keys", level=logging.WARNING, sites=list(settings.sites))
    if settings.intake_keys:
        require_broker(settings, settings.views_broker, NAME, require_beto)
    options = replace(serving_options(settings, THREADS), workers=WORKERS)
    return serve(ProvisioningIntake(settings), options)


def _nothing_parked() -> None:
    """No call of a process without a Site waits."""


def _unresolved(error: Unavailable) -> None:
    event(_LOG, "projects_unresolved", level=logging.WARNING, code=error.code, reason=error.detail)

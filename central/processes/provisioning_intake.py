"""The Site intake: the one process that writes what Sites report (P11, P37)."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flask import Flask

from central.kernel.database import Database
from central.kernel.errors import Unavailable
from central.kernel.http import HttpLimits, create_app
from central.kernel.observability import Metrics, event
from central.kernel.times import Clock, utc_now
from central.provisioning.adapters.postgres_allocations import PostgresAllocations
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.application.ports import ProjectBindings
from central.provisioning.application.read_allocation import ReadAllocation
from central.provisioning.application.report_resources import ReportResources
from central.provisioning.domain.ids import WaldurInstance
from central.provisioning.domain.observation import Site
from central.provisioning.entrypoints.intake_keys import IntakeKeys
from central.provisioning.entrypoints.intake_metrics import IntakeMetrics
from central.provisioning.entrypoints.intake_routes import IntakeRoutes
from central.provisioning.entrypoints.reports import ReportReader
from central.provisioning.entrypoints.wire import REPORT_BYTES_MAX

NAME: Final = "provisioning-intake"
THREADS: Final = 4
WORKERS: Final = 2
CONNECTIONS: Final = THREADS
"""A report holds a connection nearly all its time, so more threads than these would only wait."""

_LOG = logging.getLogger("central.provisioning")


@dataclass(frozen=True, slots=True)
class Intake:
    """Who may report and what their reports are held against."""

    keys: Mapping[Site, Sequence[str]]
    instance: WaldurInstance
    bindings: ProjectBindings
    trusted_proxies: tuple[str, ...] = ()
    clock: Clock = utc_now


def build_app(database: Database, intake: Intake) -> Flask:
    """The application over an opened database."""
    metrics = Metrics(NAME)
    app = create_app(
        NAME,
        metrics=metrics,
        ready=database.check_ready,
        limits=HttpLimits(body_bytes=REPORT_BYTES_MAX),
        trusted_proxies=intake.trusted_proxies,
    )
    routes = IntakeRoutes(
        keys=IntakeKeys.of(intake.keys),
        reader=ReportReader(intake.instance),
        report_resources=ReportResources(
            PostgresAllocations(database), intake.bindings, intake.instance, _unresolved
        ),
        read_allocation=ReadAllocation(PostgresSavedAllocations(database)),
        metrics=IntakeMetrics(metrics.registry),
        clock=intake.clock,
    )
    for blueprint in routes.blueprints():
        app.register_blueprint(blueprint)
    return app


def _unresolved(error: Unavailable) -> None:
    event(_LOG, "projects_unresolved", level=logging.WARNING, code=error.code, reason=error.detail)

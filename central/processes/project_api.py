"""The Project API: a Project's Runs and allocations, for members, bearers of the OIDC issuer (E4, P38).

Roles: `pharos_project_api` writes what members ask of Runs; allocations and accounts are read, and Beto is
asked, as `pharos_resource_provisioning_reader` (P37).
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from central.execution.adapters.postgres_audit import PostgresAudit
from central.execution.adapters.postgres_maintenance import PostgresMaintenance
from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.application.cancel_run import CancelRun
from central.execution.application.create_run import CreateRun
from central.execution.application.read_runs import ReadRuns
from central.execution.application.retry_run import RetryRun
from central.execution.application.settle_cleanup import CleanUpRun
from central.execution.entrypoints.project_routes import ProjectRoutes
from central.execution.entrypoints.run_wire import RUN_BYTES_MAX
from central.kernel.database import Database
from central.kernel.http import HttpLimits, create_app
from central.kernel.observability import Metrics
from central.kernel.serving import Service, serve
from central.kernel.times import utc_now
from central.processes.broker_link import require_broker
from central.processes.evidence_reader import EvidenceReader, open_reader
from central.processes.execution import member_caller, party_caller
from central.processes.execution_ports import (
    AllocatedResources,
    BetoAuthorities,
    ConfiguredSites,
    run_accounts,
)
from central.processes.options import open_database, prepare, serving_options
from central.processes.provisioning_worker import require_questions
from central.projects.application.ports import ProjectDecisions
from central.projects.domain.ids import PartyId, ProjectId
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.application.project_allocations import ProjectAllocations
from central.provisioning.entrypoints.project_allocations import ProjectAllocationRoutes
from central.settings import Settings

NAME: Final = "project-api"
THREADS: Final = 16
CONNECTIONS: Final = 8
EVIDENCE_CONNECTIONS: Final = 8
PERMISSION: Final = "project.view"


@dataclass(frozen=True, slots=True)
class BetoViewers:
    """`ProjectViewers`: Beto, asked at each use."""

    decisions: ProjectDecisions

    def may_view(self, project: UUID, party: UUID) -> bool:
        """See `ProjectViewers`."""
        return self.decisions.project_allowed(ProjectId(project), PartyId(party), PERMISSION).allowed


@dataclass(frozen=True, slots=True)
class ProjectApi:
    """Builds the service of one worker."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens the pools of this worker. The issuer is asked when the first token comes."""
        metrics = Metrics(NAME)
        database = open_database(self.settings, NAME, CONNECTIONS, metrics)
        reader = open_reader(self.settings, NAME, EVIDENCE_CONNECTIONS)
        app = create_app(
            NAME,
            metrics=metrics,
            ready=database.check_ready,
            limits=HttpLimits(body_bytes=RUN_BYTES_MAX),
            trusted_proxies=self.settings.trusted_proxies,
        )
        member = party_caller(member_caller(self.settings))
        saved = PostgresSavedAllocations(reader.database)
        viewers = BetoViewers(reader.view.project_decisions)
        allocations = ProjectAllocationRoutes(member, ProjectAllocations(viewers, saved))
        app.register_blueprint(allocations.blueprint())
        routes = run_routes(self.settings, database, reader)
        app.register_blueprint(ProjectRoutes(member, *routes, clock=utc_now).blueprint())

        def close() -> None:
            reader.close()
            database.close()

        return Service(app=app, stopping=reader.stop, close=close)


def run_routes(
    settings: Settings, database: Database, reader: EvidenceReader
) -> tuple[CreateRun, ReadRuns, CancelRun, RetryRun, CleanUpRun]:
    """The use cases of members."""
    runs, audit = PostgresRuns(database), PostgresAudit(database)
    authorities = BetoAuthorities(reader.view.project_decisions)
    new_work = (
        authorities,
        audit,
        ConfiguredSites(settings.sites, settings.execution_sites),
        AllocatedResources(PostgresSavedAllocations(reader.database)),
        run_accounts(reader.database, reader.view, settings.account_max_age),
        PostgresMaintenance(database),
        runs,
    )
    mine = (authorities, audit, runs)
    return CreateRun(*new_work), ReadRuns(*mine), CancelRun(*mine), RetryRun(*new_work), CleanUpRun(*mine)


def run(settings: Settings) -> int:
    """Checks schema and broker, then serves until stopped; the exit code. Raises `StartRefused`."""
    prepare(settings, NAME)
    require_broker(settings, settings.views_broker, NAME, require_questions)
    return serve(ProjectApi(settings), serving_options(settings, THREADS))

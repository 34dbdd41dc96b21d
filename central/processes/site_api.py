"""The Site API: its own HTTPS origin for Sites' agents, bearers of grants only (I18, E3, X13).

Each poller may park one poll for keys and one for commands.
"""

from dataclasses import dataclass
from typing import Final

from central.grants.adapters.postgres_grants import PostgresGrants
from central.grants.application.authenticate import Authenticate
from central.grants.entrypoints.grant_route import commands_grant
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.http import HttpLimits, create_app
from central.kernel.notifications import Waiters
from central.kernel.observability import Metrics
from central.kernel.serving import Service, ServingOptions, serve, site_api_threads
from central.kernel.site_polls import SitePolls
from central.kernel.times import utc_now
from central.processes.broker_link import require_broker
from central.processes.options import open_database, prepare, serving_options
from central.processes.provisioning_worker import require_questions
from central.processes.site_commands import COMMANDS_CHANNEL, site_commands
from central.settings import Settings
from central.ssh_access.adapters.postgres_keys import CHANNEL, PostgresMemberKeys
from central.ssh_access.application.list_changes import ListChanges
from central.ssh_access.application.record_results import RecordResults
from central.ssh_access.entrypoints.site_routes import SiteRoutes
from central.ssh_access.entrypoints.wire import REPORT_BYTES_MAX

NAME: Final = "site-api"
CONNECTIONS: Final = 8
"""Enough for the 16 threads that do not wait; a parked poll holds none."""


@dataclass(frozen=True, slots=True)
class SiteApi:
    """Builds the service of one worker."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens the pool and the LISTEN connection of this worker."""
        metrics = Metrics(NAME)
        database = open_database(self.settings, NAME, CONNECTIONS, metrics)
        waiters = Waiters(self.settings.database_direct_url, [CHANNEL, COMMANDS_CHANNEL])
        waiters.start()
        metrics.gauge("pharos_long_polls_parked", "Polls that wait for news.", lambda: waiters.parked)
        metrics.gauge("pharos_listening", "1 while news arrives from PostgreSQL.", lambda: waiters.listening)
        app = create_app(
            NAME,
            metrics=metrics,
            ready=database.check_ready,
            limits=HttpLimits(body_bytes=REPORT_BYTES_MAX),
            trusted_proxies=self.settings.trusted_proxies,
        )
        keys, caller = (
            PostgresMemberKeys(database),
            SiteCaller(Authenticate(PostgresGrants(database)), utc_now),
        )
        routes = SiteRoutes(
            caller=caller,
            list_changes=ListChanges(keys),
            record_results=RecordResults(keys),
            polls=SitePolls(waiters, CHANNEL, self.settings.pollers),
            clock=utc_now,
        )
        app.register_blueprint(routes.blueprint())
        commands = site_commands(self.settings, NAME, database, caller, waiters)
        if commands is not None:
            app.register_blueprint(commands.blueprint)
            app.register_blueprint(commands_grant(caller))

        def stopping() -> None:
            waiters.stop()
            if commands is not None:
                commands.reader.stop()

        def close() -> None:
            waiters.close()
            if commands is not None:
                commands.reader.close()
            database.close()

        return Service(app=app, stopping=stopping, close=close)


def run(settings: Settings) -> int:
    """Checks the schema, then serves until stopped; the exit code."""
    prepare(settings, NAME)
    if settings.tokens is not None:
        require_broker(settings, settings.views_broker, NAME, require_questions)
    polls = settings.pollers if settings.tokens is None else 2 * settings.pollers
    threads = site_api_threads(len(settings.sites), polls)
    options: ServingOptions = serving_options(settings, threads)
    return serve(SiteApi(settings), options)

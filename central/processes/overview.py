"""The operators' page: what is known and how fresh. On loopback, as `pharos_overview` (docs/adr/0013)."""

from dataclasses import dataclass
from typing import Final

from flask import Flask

from central.kernel.database import Database
from central.kernel.http import create_app
from central.kernel.observability import Metrics
from central.kernel.serving import Service, serve
from central.kernel.times import Clock, utc_now
from central.processes.known import CentralKnown
from central.processes.options import open_database, prepare, serving_options
from central.settings import Settings
from central.web.render import MEDIA_TYPE, Renderer
from central.web.routes import OverviewRoutes, require_loopback_host

NAME: Final = "overview"
THREADS: Final = 4
CONNECTIONS: Final = 2


def build_app(settings: Settings, database: Database, metrics: Metrics, clock: Clock = utc_now) -> Flask:
    """The application over an opened database."""
    renderer = Renderer.load()
    app = create_app(
        NAME,
        metrics=metrics,
        ready=database.check_ready,
        media_type=MEDIA_TYPE,
        respond=renderer.problem,
    )
    app.before_request(require_loopback_host)
    known = CentralKnown(settings, database)
    app.register_blueprint(OverviewRoutes(known, renderer, clock).blueprint())
    return app


@dataclass(frozen=True, slots=True)
class Overview:
    """Builds the service of one worker."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens the pool of this worker."""
        metrics = Metrics(NAME)
        database = open_database(self.settings, NAME, CONNECTIONS, metrics)
        app = build_app(self.settings, database, metrics)
        return Service(app=app, stopping=lambda: None, close=database.close)


def run(settings: Settings) -> int:
    """Checks the schema, then serves until stopped; the exit code."""
    prepare(settings, NAME)
    return serve(Overview(settings), serving_options(settings, THREADS))

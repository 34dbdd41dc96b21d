"""The provisioning worker as a process: keeps Beto's view and accepted work (X9, P14, P29, O3).

It runs under the same server as the APIs, so that signals, logs and a lost worker are dealt with in one way.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from central.kernel.http import create_app
from central.kernel.observability import Metrics
from central.kernel.serving import Service, serve
from central.processes.broker_link import open_broker, require_broker
from central.processes.options import open_database, prepare, serving_options
from central.processes.provisioning_worker import BetoView, ViewMetrics, ViewWorker, require_beto
from central.processes.retention import owners_of, require_owners, retention_worker
from central.settings import Settings

NAME: Final = "provisioning-worker"
THREADS: Final = 2
"""For probes and scrapes."""
CONNECTIONS: Final = 8
"""One a consumer and a pass at work; probes find one soon enough."""
STOP_SECONDS: Final = 8.0
"""For each of two workers, within what the server grants a process that ends."""


@dataclass(frozen=True, slots=True)
class ProvisioningWork:
    """Builds the service of the one worker process."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens database and broker and starts the threads. Raises `StartRefused`, `Unavailable`."""
        metrics = Metrics(NAME)
        database = open_database(self.settings, NAME, CONNECTIONS, metrics)
        views = open_broker(self.settings, self.settings.views_broker, NAME, CONNECTIONS)
        queries = open_broker(self.settings, self.settings.queries_broker, NAME, CONNECTIONS)
        workers = (
            ViewWorker(BetoView(database, views.broker), ViewMetrics(metrics.registry)),
            retention_worker(database, queries.broker, metrics.registry, owners_of(self.settings)),
        )

        def ready() -> None:
            database.check_ready()
            views.database.check_ready()
            queries.database.check_ready()

        for worker in workers:
            worker.start()

        def stopping() -> None:
            for worker in workers:
                worker.signal()
            views.stop()
            queries.stop()

        def close() -> None:
            for worker in workers:
                worker.stop(STOP_SECONDS)
            views.close()
            queries.close()
            database.close()

        return Service(app=create_app(NAME, metrics=metrics, ready=ready), stopping=stopping, close=close)


def run(settings: Settings) -> int:
    """Checks schema and broker, then works until stopped; the exit code. Raises `StartRefused` (P20)."""
    prepare(settings, NAME)
    require_broker(settings, settings.views_broker, NAME, require_beto)
    owners = partial(require_owners, owners=owners_of(settings))
    require_broker(settings, settings.queries_broker, NAME, owners)
    return serve(ProvisioningWork(settings), serving_options(settings, THREADS))

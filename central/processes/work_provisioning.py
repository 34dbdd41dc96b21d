"""The provisioning worker as a process: keeps Beto's view and serves what it says of itself (X9, O3).

It runs under the same server as the APIs, so that signals, logs and a lost worker are dealt with in one way.
"""

from dataclasses import dataclass
from typing import Final

from central.kernel.database import Database, DatabaseOptions
from central.kernel.http import create_app
from central.kernel.migrations import require_schema
from central.kernel.observability import Metrics, configure_logging
from central.kernel.serving import Service, serve
from central.processes.broker_link import open_broker, require_broker
from central.processes.options import database_options, name_ignored, serving_options
from central.processes.provisioning_worker import BetoView, ViewWorker, WorkerMetrics, require_beto
from central.processes.schema import CONTEXTS
from central.settings import Settings

NAME: Final = "provisioning-worker"
THREADS: Final = 2
"""For probes and scrapes."""
CONNECTIONS: Final = 6
"""One a consumer, one for the passes, two for probes."""


@dataclass(frozen=True, slots=True)
class ProvisioningWork:
    """Builds the service of the one worker process."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens database and broker and starts the threads. Raises `StartRefused`, `Unavailable`."""
        database = Database(database_options(self.settings, NAME, CONNECTIONS))
        database.open()
        link = open_broker(self.settings, NAME, CONNECTIONS)
        metrics = Metrics(NAME)
        metrics.gauge("pharos_database_connections_in_use", "Lent by the pool.", lambda: database.lent)
        worker = ViewWorker(BetoView(database, link.broker), WorkerMetrics(metrics.registry))

        def ready() -> None:
            database.check_ready()
            link.database.check_ready()

        worker.start()

        def stopping() -> None:
            worker.signal()
            link.stop()

        def close() -> None:
            worker.stop()
            link.close()
            database.close()

        return Service(app=create_app(NAME, metrics=metrics, ready=ready), stopping=stopping, close=close)


def run(settings: Settings) -> int:
    """Checks schema and broker, then works until stopped; the exit code. Raises `StartRefused` (P20)."""
    configure_logging(NAME, level=settings.log_level)
    name_ignored(settings)
    with Database(DatabaseOptions(url=settings.database_url, application=NAME, pool_size=1)) as database:
        require_schema(database, CONTEXTS)
    require_broker(settings, NAME, require_beto)
    return serve(ProvisioningWork(settings), serving_options(settings, THREADS))

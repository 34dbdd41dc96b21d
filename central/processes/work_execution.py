"""The worker of Runs as a process, under the same server as the APIs, as the other worker is (X9, O3)."""

from dataclasses import dataclass
from typing import Final

from central.kernel.http import create_app
from central.kernel.observability import Metrics
from central.kernel.serving import Service, serve
from central.processes.broker_link import open_broker, require_broker
from central.processes.evidence_reader import open_evidence
from central.processes.execution_worker import execution_worker, require_execution
from central.processes.options import open_database, prepare, serving_options
from central.settings import Settings

NAME: Final = "execution-worker"
THREADS: Final = 2
"""For probes and scrapes."""
CONNECTIONS: Final = 12
"""One a pass at work, one for questions, some for turns at Git hosts; probes find one soon enough."""
BROKER_CONNECTIONS: Final = 8
EVIDENCE_CONNECTIONS: Final = 2
STOP_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class ExecutionWork:
    """Builds the service of the one worker process."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens databases and broker and starts the threads. Raises `StartRefused`, `Unavailable`."""
        settings = self.settings
        metrics = Metrics(NAME)
        database = open_database(settings, NAME, CONNECTIONS, metrics)
        evidence = open_evidence(settings, NAME, EVIDENCE_CONNECTIONS)
        link = open_broker(settings, settings.execution_broker, NAME, BROKER_CONNECTIONS)
        worker = execution_worker(settings, (database, evidence), link.broker, metrics.registry)

        def ready() -> None:
            database.check_ready()
            link.database.check_ready()

        worker.start()

        def stopping() -> None:
            worker.signal()
            link.stop()

        def close() -> None:
            worker.stop(STOP_SECONDS)
            link.close()
            evidence.close()
            database.close()

        return Service(app=create_app(NAME, metrics=metrics, ready=ready), stopping=stopping, close=close)


def run(settings: Settings) -> int:
    """Checks schema and broker, then works until stopped; the exit code. Raises `StartRefused`."""
    prepare(settings, NAME)
    require_broker(settings, settings.execution_broker, NAME, require_execution)
    return serve(ExecutionWork(settings), serving_options(settings, THREADS))

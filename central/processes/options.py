"""What every process that serves takes from its settings, and does before it serves."""

import logging

from central.kernel.database import Database, DatabaseOptions
from central.kernel.migrations import require_schema
from central.kernel.observability import Metrics, configure_logging, event
from central.kernel.serving import ServingOptions
from central.processes.schema import CONTEXTS
from central.settings import Settings


def prepare(settings: Settings, application: str) -> None:
    """Before anything else: logs as the settings say, names what was ignored, and asks for the schema this
    code knows. Raises `MigrationRefused`, `Unavailable`.
    """
    configure_logging(application, level=settings.log_level)
    name_ignored(settings)
    options = DatabaseOptions(url=settings.database_url, application=application, pool_size=1)
    with Database(options) as database:
        require_schema(database, CONTEXTS)


def open_database(settings: Settings, application: str, connections: int, metrics: Metrics) -> Database:
    """The process's own database for one worker; how many connections are lent is told in `metrics`."""
    database = Database(database_options(settings, application, connections))
    database.open()
    tell_lent(database, metrics)
    return database


def tell_lent(database: Database, metrics: Metrics) -> None:
    """How many connections of the pool are lent."""
    metrics.gauge("pharos_database_connections_in_use", "Lent by the pool.", lambda: database.lent)


def database_options(settings: Settings, application: str, connections: int) -> DatabaseOptions:
    """The pool of one worker."""
    return DatabaseOptions(
        url=settings.database_url,
        application=application,
        pool_size=connections,
        prepare_threshold=1 if settings.prepared_statements else None,
    )


def serving_options(settings: Settings, threads: int) -> ServingOptions:
    """Where to listen. `ValueError` without an address, which the settings table requires."""
    if settings.listen is None:
        raise ValueError("this process has no address to listen on")
    return ServingOptions(
        host=settings.listen.host,
        port=settings.listen.port,
        threads=threads,
        certificate=settings.tls.certificate if settings.tls else None,
        key=settings.tls.key if settings.tls else None,
    )


def name_ignored(settings: Settings) -> None:
    """One line naming the variables an orchestrator injected that were ignored (X6); none, no line."""
    if settings.ignored:
        event(logging.getLogger("central.settings"), "settings_ignored", names=list(settings.ignored))

"""What every HTTP process takes from its settings."""

import logging

from central.kernel.database import DatabaseOptions
from central.kernel.observability import event
from central.kernel.serving import ServingOptions
from central.settings import Settings


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

"""A process's connection to the broker: a pool for its statements, one LISTEN connection for what wakes it
(O4, X12).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from central.kernel.broker import Broker
from central.kernel.broker_administration import BrokerAdministration
from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.settings import Settings

ADMINISTRATOR: Final = "broker-administration"


@dataclass(frozen=True, slots=True)
class BrokerLink:
    """An opened broker. `stop` ends every wait at once; `close` ends the connections, too."""

    broker: PostgresBroker
    database: Database
    waiters: Waiters

    def stop(self) -> None:
        """Whoever waits for a message or an answer stops waiting."""
        self.waiters.stop()

    def close(self) -> None:
        """Ends every connection."""
        self.waiters.close()
        self.database.close()


def open_broker(settings: Settings, application: str, connections: int) -> BrokerLink:
    """Opens the broker of the settings. `ValueError` without its URL, which the settings' rules require."""
    if settings.broker_url is None or settings.broker_direct_url is None:
        raise ValueError("this process has no broker")
    database = Database(
        DatabaseOptions(
            url=settings.broker_url,
            application=application,
            pool_size=connections,
            prepare_threshold=1 if settings.prepared_statements else None,
        )
    )
    database.open()
    waiters = Waiters(settings.broker_direct_url, CHANNELS)
    waiters.start()
    return BrokerLink(PostgresBroker(database, waiters), database, waiters)


def require_broker(settings: Settings, application: str, require: Callable[[Broker], None]) -> None:
    """Asks, before a process serves, whether the broker would serve it. Raises what `require` raises."""
    link = open_broker(settings, application, 1)
    try:
        require(link.broker)
    finally:
        link.close()


@contextmanager
def administration(direct_url: str) -> Iterator[BrokerAdministration]:
    """The broker as its administration uses it."""
    with Database(DatabaseOptions(url=direct_url, application=ADMINISTRATOR, pool_size=1)) as database:
        yield BrokerAdministration(database)

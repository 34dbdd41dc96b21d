"""A process's connection to the broker: a pool for its statements, one LISTEN connection for what wakes it
(O4, X12).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from central.kernel.broker import Broker
from central.kernel.broker_administration import BrokerAdministration
from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.driver_errors import RightMissing
from central.kernel.notifications import Waiters
from central.processes.options import database_options
from central.processes.refusals import StartRefused
from central.settings import BrokerUrls, Settings

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


def open_broker(
    settings: Settings, urls: BrokerUrls | None, application: str, connections: int
) -> BrokerLink:
    """Opens a broker of the settings. `ValueError` without its URLs, which the settings' rules require."""
    if urls is None:
        raise ValueError("this process has no such broker")
    options = replace(database_options(settings, application, connections), url=urls.url)
    database = Database(options)
    database.open()
    waiters = Waiters(urls.direct_url, CHANNELS)
    waiters.start()
    return BrokerLink(PostgresBroker(database, waiters), database, waiters)


def require_broker(
    settings: Settings, urls: BrokerUrls | None, application: str, require: Callable[[Broker], None]
) -> None:
    """Asks, before a process serves, whether the broker would serve it. Raises what `require` raises."""
    link = open_broker(settings, urls, application, 1)
    try:
        require(link.broker)
    finally:
        link.close()


@contextmanager
def administration(direct_url: str) -> Iterator[BrokerAdministration]:
    """The broker as its administration uses it."""
    options = DatabaseOptions(url=direct_url, application=ADMINISTRATOR, pool_size=1)
    with Database(options) as database, as_owner("the broker", "PHAROS_DATABASE_URL", "the migrator's role"):
        yield BrokerAdministration(database)


@contextmanager
def as_owner(what: str, variable: str, role: str) -> Iterator[None]:
    """Turns a missing right into a refusal that names the variable. Raises `StartRefused`."""
    try:
        yield
    except RightMissing:
        raise StartRefused(f"{variable} names a role without rights in {what}; name {role}") from None

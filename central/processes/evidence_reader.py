"""Provisioning's tables, read as `pharos_resource_provisioning_reader`, and Beto asked as the same
(P30, P37): for the processes that own neither.
"""

from dataclasses import dataclass, replace

from central.kernel.database import Database
from central.processes.broker_link import BrokerLink, open_broker
from central.processes.options import database_options
from central.processes.provisioning_worker import BetoView
from central.settings import Settings


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """What was opened. `stop` ends every wait for Beto at once."""

    database: Database
    link: BrokerLink

    @property
    def view(self) -> BetoView:
        """Beto's view and decisions."""
        return BetoView(self.database, self.link.broker)

    def stop(self) -> None:
        """Whoever waits for Beto stops waiting."""
        self.link.stop()

    def check_ready(self) -> None:
        """`Unavailable` while either does not answer."""
        self.link.database.check_ready()

    def close(self) -> None:
        """Ends every connection."""
        self.link.close()
        self.database.close()


def open_reader(settings: Settings, application: str, connections: int) -> EvidenceReader:
    """Opens both. `ValueError` without their URLs, which the settings' rules require."""
    database = open_evidence(settings, application, connections)
    return EvidenceReader(database, open_broker(settings, settings.views_broker, application, connections))


def open_evidence(settings: Settings, application: str, connections: int) -> Database:
    """Provisioning's tables alone. `ValueError` without their URL."""
    if settings.provisioning_url is None:
        raise ValueError("this process has no such database")
    options = replace(database_options(settings, application, connections), url=settings.provisioning_url)
    database = Database(options)
    database.open()
    return database

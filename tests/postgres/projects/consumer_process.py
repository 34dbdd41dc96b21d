"""A consumer as a process of its own, to be killed: prints a line when it is about to consume."""

import os
import threading
from datetime import UTC, datetime

from central.kernel.broker import Consumer
from central.kernel.broker_postgres import CHANNELS, BrokerOptions, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.projects.adapters.postgres_view import PostgresView
from central.projects.application.apply_events import ApplyEvents
from central.projects.entrypoints.events import QUEUES, ViewConsumer


def main() -> None:
    """Consumes for ever."""
    url = os.environ["TRIAL_BROKER_URL"]
    waiters = Waiters(url, CHANNELS)
    waiters.start()
    with (
        Database(DatabaseOptions(url)) as broker_database,
        Database(DatabaseOptions(os.environ["TRIAL_URL"])) as database,
    ):
        broker = PostgresBroker(broker_database, waiters, options=BrokerOptions(lease=0.5, look=0.1))
        name = QUEUES[0].name
        handle = ViewConsumer(name, ApplyEvents(PostgresView(database)), lambda: datetime.now(UTC))
        print("consuming", flush=True)
        Consumer(name, handle, check=handle.check, batch=20).run(broker, threading.Event())


if __name__ == "__main__":
    main()

"""A worker as a process of its own, to be killed: prints a line when it began."""

import os
import threading
from datetime import timedelta

from prometheus_client import CollectorRegistry

from central.kernel.broker_postgres import CHANNELS, BrokerOptions, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.processes.retention import retention_worker
from central.retention.domain.recovery import RecoveryLimits
from tests.simulators.owner.owner import OWNERS


def main() -> None:
    """Works for ever."""
    url = os.environ["TRIAL_BROKER_URL"]
    waiters = Waiters(url, CHANNELS)
    waiters.start()
    with (
        Database(DatabaseOptions(url)) as broker_database,
        Database(DatabaseOptions(os.environ["TRIAL_URL"])) as database,
    ):
        broker = PostgresBroker(broker_database, waiters, options=BrokerOptions(lease=0.5, look=0.1))
        limits = RecoveryLimits(beat=0.2, alive=timedelta(seconds=5), put_at_once=3)
        retention_worker(database, broker, CollectorRegistry(), OWNERS, limits=limits).start()
        print("working", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

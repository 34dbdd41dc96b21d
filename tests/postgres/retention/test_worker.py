"""The worker whole: a real queue, real owners behind it, replicas, outages, kills (P28, P29, O3)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from prometheus_client import CollectorRegistry

from central.kernel.broker import Broker, Message
from central.kernel.broker_postgres import PostgresBroker
from central.kernel.database import Database
from central.kernel.errors import Unavailable
from central.kernel.queries import Query
from central.kernel.site_names import Site
from central.kernel.times import utc_now
from central.processes.refusals import StartRefused
from central.processes.retention import (
    QUERIES_IDENTITY,
    administration,
    require_owners,
    retention_worker,
)
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.application.retained_accounts import RetainedAccounts
from central.retention.domain.ids import Owner
from central.retention.domain.recovery import RecoveryLimits
from central.retention.domain.retained import Fences
from central.retention.entrypoints.events import WORK_QUEUES
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import NEVER, eventually
from tests.postgres.projects.logins import login
from tests.postgres.retention.conftest import ROLE
from tests.simulators.beto.memory_broker import MemoryBroker
from tests.simulators.beto.speaker import speaking
from tests.simulators.mouth import Faults, QuestionMalformed
from tests.simulators.owner.owner import OWNERS, WorkOwner
from tests.unit.central.retention.life import holder_of
from tests.unit.central.retention.memory import ToldFences

LIMITS = RecoveryLimits(beat=0.2, alive=timedelta(seconds=5))
SITE = Site("slurm")


@dataclass(slots=True)
class Platform:
    """Both owners, speaking; and what a Site would be answered."""

    database: Database
    broker: PostgresBroker
    owners: dict[str, WorkOwner]
    malformed: list[list[QuestionMalformed]]
    fences: ToldFences

    def accept(self, number: int, *, owner: str = "execution", kind: str = "run") -> str:
        """Work accepted with the account of `u<number>`, told at once."""
        account = {
            "projectId": str(UUID(int=1)),
            "partyId": str(UUID(int=0x100 + number)),
            "site": SITE,
            "bindingId": str(UUID(int=0x200 + number)),
        }
        self.fences.known[holder_of(account)] = Fences(True, 1, 1, f"u{number}")
        made = self.owners[owner].accept(account | {"generation": 1, "managementGeneration": 1}, kind=kind)
        self.owners[owner].flush(self.broker)
        return made

    def release(self, item: str, *, owner: str = "execution") -> None:
        self.owners[owner].release(item)
        self.owners[owner].flush(self.broker)

    def listed(self) -> Any:
        """Usernames, or the code of why there is no list."""
        retained = RetainedAccounts(PostgresWork(self.database), self.fences, OWNERS, LIMITS)
        try:
            return [account.username for account in retained.list(SITE, utc_now())]
        except Unavailable as error:
            return error.code

    def wait_for(self, *wanted: str) -> None:
        eventually(lambda: bool(self.listed() == list(wanted)))

    def wait_until_pending(self) -> None:
        eventually(lambda: bool(self.listed() == "recovery_pending"))


@pytest.fixture
def platform(owner: Database, broker: PostgresBroker) -> Iterator[Platform]:
    owners = {str(name): WorkOwner(clock=utc_now, name=name, page=3) for name in OWNERS}
    with ExitStack() as stack:
        heard = [stack.enter_context(speaking(one, broker, one.queue)) for one in owners.values()]
        made = Platform(owner, broker, owners, heard, ToldFences())
        yield made
        assert made.malformed == [[], []]


@contextmanager
def working(platform: Platform, *, broker: Broker | None = None) -> Iterator[CollectorRegistry]:
    registry = CollectorRegistry()
    worker = retention_worker(platform.database, broker or platform.broker, registry, OWNERS, limits=LIMITS)
    worker.start()
    try:
        yield registry
    finally:
        worker.stop()


def passes(registry: CollectorRegistry, outcome: str) -> float:
    return registry.get_sample_value("pharos_recovery_passes_total", {"outcome": outcome}) or 0.0


def test_p29_a_worker_reads_what_was_accepted_before_it_and_follows_events(platform: Platform) -> None:
    items = [platform.accept(number) for number in range(1, 8)]
    platform.owners["execution"].faults = Faults(drop=1.0)
    platform.accept(8)
    platform.owners["execution"].faults = Faults()
    assert platform.listed() == "recovery_pending"
    with working(platform) as registry:
        platform.wait_for(*(f"u{number}" for number in range(1, 9)))
        platform.release(items[0])
        platform.accept(9, kind="launch")
        platform.accept(10, owner="pipeline", kind="pipeline")
        platform.wait_for(*(f"u{number}" for number in range(2, 11)))
        eventually(lambda: passes(registry, "stood") >= 1)
        eventually(lambda: registry.get_sample_value("pharos_recovery_standing") == 1)


def test_o3_each_start_of_a_replica_makes_a_pass_and_the_list_comes_back(platform: Platform) -> None:
    platform.accept(1)
    with working(platform):
        platform.wait_for("u1")
        epoch = PostgresWork(platform.database).recovery().epoch
        with working(platform) as second:
            eventually(lambda: PostgresWork(platform.database).recovery().epoch > epoch)
            platform.wait_for("u1")
            eventually(lambda: second.get_sample_value("pharos_recovery_standing") == 1)


def test_p29_an_owner_that_is_away_leaves_no_list_until_it_is_back(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("central.processes.retention.QUESTION_SECONDS", 0.5)
    platform.accept(1)
    platform.owners["pipeline"].faults = Faults(silent=True)
    with working(platform) as registry:
        eventually(lambda: passes(registry, "failed") >= 1)
        assert platform.listed() == "recovery_pending"
        platform.owners["pipeline"].faults = Faults()
        platform.wait_for("u1")


def test_p28_a_message_nobody_can_read_ends_the_list_until_the_owner_was_read(platform: Platform) -> None:
    platform.accept(1)
    with working(platform):
        platform.wait_for("u1")
        epoch = PostgresWork(platform.database).recovery().epoch
        platform.owners["execution"].faults = Faults(drop=1.0)
        platform.accept(2)
        bad = Message(UUID(int=77), "execution.AcceptedWorkChanged", b'{"schema":2}')
        platform.broker.publish([bad])
        platform.wait_for("u1", "u2")
        assert PostgresWork(platform.database).recovery().epoch > epoch
        queues = [queue.spec.name for queue in WORK_QUEUES[:2]]
        eventually(lambda: all(platform.broker.dead_letters(queue) for queue in queues))
    for queue in queues:
        (dead,) = platform.broker.dead_letters(queue)
        assert dead.message == bad
        assert dead.reason.startswith("message_malformed: ")


def test_p28_the_list_lapses_when_no_worker_consumes_any_more(platform: Platform) -> None:
    platform.accept(1)
    with working(platform):
        platform.wait_for("u1")
    platform.wait_until_pending()
    with working(platform):
        platform.wait_for("u1")


def test_p29_workers_killed_again_and_again_lose_nothing(
    pg_server: PgServer, name: str, platform: Platform
) -> None:
    """Killed while reading, applying or consuming: whoever starts next has it whole."""
    environment = os.environ | {
        "TRIAL_URL": pg_server.role_url(ROLE, name),
        "TRIAL_BROKER_URL": pg_server.admin_url(name),
    }
    kept: list[str] = []
    for turn in range(4):
        command = [sys.executable, "-m", "tests.postgres.retention.worker_process"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "working\n"
            for _ in range(10):
                kept.append(platform.accept(len(kept) + 1))
            platform.release(kept[turn])
            if turn % 2:
                eventually(lambda: isinstance(platform.listed(), list))
            process.send_signal(signal.SIGKILL)
            process.wait(NEVER)
    with working(platform):
        wanted = sorted(f"u{number}" for number in range(5, 41))
        eventually(lambda: bool(sorted(platform.listed()) == wanted))
    rows = platform.database.run(
        lambda tx: tx.all(_Row, Query("rows", b"SELECT count(*) AS n FROM retention.accepted_work"))
    )
    assert rows == [_Row(40)]


@dataclass(frozen=True, slots=True)
class _Row:
    n: int


def test_p29_a_start_without_the_durable_queues_or_rights_is_refused() -> None:
    with pytest.raises(StartRefused) as refused:
        require_owners(MemoryBroker(), OWNERS)
    assert all(queue.spec.name in str(refused.value) for queue in WORK_QUEUES)
    assert QUERIES_IDENTITY in str(refused.value)


def test_p29_an_owner_whose_events_nobody_takes_is_refused() -> None:
    with pytest.raises(StartRefused, match=r"names trial, whose events no consumer takes"):
        require_owners(MemoryBroker(), [*OWNERS, Owner("trial")])


def test_x12_an_enrolled_identity_starts_and_another_does_not(
    pg_server: PgServer, name: str, platform: Platform
) -> None:
    platform.accept(1)
    rights = [(one.act, one.name) for one in administration(OWNERS).enrolments]
    with login(pg_server, name, *rights) as queries:
        require_owners(queries, OWNERS)
        with working(platform, broker=queries):
            platform.wait_for("u1")
    with login(pg_server, name, *rights[:-1]) as less, pytest.raises(StartRefused):
        require_owners(less, OWNERS)


def test_x12_names_are_the_ledgers() -> None:
    assert [queue.spec.name for queue in WORK_QUEUES] == [
        f"resource_provisioning.accepted-{kind}-changed" for kind in ("launch", "run", "pipeline")
    ]
    assert QUERIES_IDENTITY == "pharos_resource_provisioning_queries"

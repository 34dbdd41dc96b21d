"""A served Site intake and the loads it is measured with.

`running()` starts PostgreSQL and the intake as production does (2 workers of 4 threads). Load comes from
processes of its own, one Site each.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.synchronize import Event
from pathlib import Path
from queue import Queue
from uuid import UUID, uuid4, uuid5

import psycopg

from central.kernel.database import Database, DatabaseOptions
from central.kernel.embedded_postgres import EmbeddedPostgres
from central.kernel.migrations import migrate, set_role_password
from central.kernel.observability import configure_logging
from central.kernel.serving import Service, ServingOptions, serve
from central.processes.provisioning_intake import (
    CONNECTIONS,
    THREADS,
    WORKERS,
    Intake,
    build_app,
    collect_seldom,
)
from central.processes.schema import CONTEXTS
from central.provisioning.domain.ids import WaldurInstance
from central.provisioning.domain.observation import Site

ROLE = "pharos_resource_provisioning"
SITES = ("slurm", "k8s")
KEYS = {Site(site): (f"{site}-{'k' * 40}",) for site in SITES}
INSTANCE = WaldurInstance("https://waldur.example.org/")
ROWS = 10_000
BATCH = 1_000
SECONDS = 2.0
LIMITS = {"cpu": 144000, "gpu.gh200": 2, "memory": 515396075520}
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Running:
    """A served intake: its port, its database as superuser."""

    port: int
    admin: str


@dataclass(frozen=True, slots=True)
class KnownProjects:
    """Every provider Project is a Project, so that nothing waits."""

    def resolve(self, instance: str, refs: object) -> dict[str, UUID]:
        return {ref: uuid5(UUID(int=0), ref) for ref in refs}  # type: ignore[attr-defined]


@contextmanager
def running() -> Iterator[Running]:
    """PostgreSQL and the intake, both ended afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="pharos-bench-", dir="/tmp"))
    folder.chmod(0o711)
    options = {"shared_buffers": "512MB", "max_wal_size": "4GB"}
    try:
        with EmbeddedPostgres(folder / "pg", options=options) as urls:
            migrate(urls.admin, CONTEXTS)
            password = secrets.token_urlsafe(16)
            set_role_password(urls.admin, ROLE, password)
            port = _free_port()
            server = _SPAWN.Process(target=_serve, args=(urls.url(ROLE, password, "postgres"), port))
            server.start()
            try:
                _wait(port)
                yield Running(port, urls.admin)
            finally:
                server.terminate()
                server.join(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(url: str, port: int) -> None:
    with Path("/dev/null").open("w") as sink:
        configure_logging("bench", stream=sink)

        def build() -> Service:
            database = Database(DatabaseOptions(url, pool_size=CONNECTIONS))
            database.open()
            app = build_app(database, Intake(KEYS, INSTANCE, KnownProjects()))  # type: ignore[arg-type]
            collect_seldom()
            return Service(app=app, stopping=lambda: None, close=database.close)

        serve(build, ServingOptions("127.0.0.1", port, threads=THREADS, workers=WORKERS))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the intake did not answer within 30 s")


def headers_of(site: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {KEYS[Site(site)][0]}",
        "Pharos-Schema": "1-1",
        "Content-Type": "application/json",
    }


class Bodies:
    """Reports of one Site, `size` resources each, going round its rows; `dirty` of them change each time."""

    def __init__(self, site: str, size: int, dirty: int = 0) -> None:
        self._site, self._size, self._dirty = site, size, dirty
        self._round = 0
        self._clean: dict[int, list[str]] = {}

    def next(self) -> bytes:
        """The next body, observed now."""
        rows = ROWS // len(SITES)
        start = self._round * self._size % rows
        if start not in self._clean:
            self._clean[start] = [self._resource(start + n) for n in range(self._size)]
        resources = self._clean[start]
        if self._dirty:
            step = self._size // self._dirty
            now = f'"storage":{self._round + 1}'
            changed = {n: resources[n].replace('"storage":0', now) for n in range(0, self._size, step)}
            resources = [changed.get(n, text) for n, text in enumerate(resources)]
        self._round += 1
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        head = f'{{"schema":1,"reportId":"{uuid4()}","observedAt":"{now}","resources":['
        return f"{head}{','.join(resources)}]}}".encode()

    def _resource(self, row: int) -> str:
        limits = LIMITS | {"storage": 0}
        body = {
            "resourceId": str(uuid5(UUID(int=1), f"{self._site}/{row}")),
            "offeringId": "00000000-0000-4000-8000-000000000306",
            "providerProjectRef": str(uuid5(UUID(int=2), str(row // 10))),
            "nativeName": f"p{row // 10}-alloc{row}",
            "state": "ok",
            "paused": False,
            "configured": limits,
            "applied": limits,
            "used": {"cpu": 72000, "gpu.gh200": 0},
        }
        return json.dumps(body, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ReportLoad:
    """Reports of `size` resources, of which `dirty` change; counts the resources taken."""

    port: int
    size: int
    dirty: int

    def __call__(self, index: int, start: Event, ready: Queue[int], seconds: float) -> int:
        site = SITES[index]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = headers_of(site)
        bodies = Bodies(site, self.size, self.dirty)

        def post() -> None:
            connection.request("POST", f"/resource-provisioning/{site}/reports", bodies.next(), headers)
            answer = connection.getresponse()
            told = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {told[:300]!r}")

        for _ in range(max(1, ROWS // len(SITES) // self.size) if self.size > 1 else 20):
            post()
        return _count(post, self.size, start, ready, seconds)


@dataclass(frozen=True, slots=True)
class Sightings:
    """L1: the bare statement, prepared, 2 connections, 1,000 rows each."""

    admin: str

    def __call__(self, index: int, start: Event, ready: Queue[int], seconds: float) -> int:
        rows = range(index, ROWS, len(SITES))
        ids = [str(uuid5(UUID(int=3), str(row))) for row in rows]
        batches = [sorted(ids[n : n + BATCH]) for n in range(0, len(ids), BATCH)]
        versions = [1] * BATCH
        turn = 0
        with psycopg.connect(self.admin, autocommit=True, prepare_threshold=0) as connection:

            def renew() -> None:
                nonlocal turn
                turn += 1
                done = connection.execute(
                    "UPDATE bench.sightings s SET seen_at = clock_timestamp() "
                    "FROM unnest(%s::uuid[], %s::int[]) u(id, v) WHERE s.id = u.id AND s.version = u.v",
                    (batches[turn % len(batches)], versions),
                )
                assert done.rowcount == BATCH

            renew()
            return _count(renew, BATCH, start, ready, seconds)


@dataclass(frozen=True, slots=True)
class Plain:
    """A changed resource as a transaction of three statements, 2 connections."""

    admin: str

    def __call__(self, index: int, start: Event, ready: Queue[int], seconds: float) -> int:
        ids = [uuid5(UUID(int=4), f"{index}/{row}") for row in range(BATCH)]
        snapshot = json.dumps({"configured": LIMITS, "applied": LIMITS, "padding": "x" * 560})
        version = 1
        turn = 0
        with psycopg.connect(self.admin, autocommit=True, prepare_threshold=1) as connection:
            connection.execute("DELETE FROM bench.heads WHERE owner = %s", (index,))
            for row in ids:
                connection.execute("INSERT INTO bench.heads VALUES (%s, %s, 1, now())", (row, index))

            def change() -> None:
                nonlocal turn, version
                row = ids[turn % BATCH]
                turn += 1
                version += turn % BATCH == 0
                with connection.transaction():
                    connection.execute(
                        "INSERT INTO bench.versions VALUES (%s, %s, now(), %s)", (uuid4(), version, snapshot)
                    )
                    connection.execute(
                        "UPDATE bench.heads SET version = version + 1, seen_at = now() WHERE id = %s", (row,)
                    )
                    connection.execute("INSERT INTO bench.receipts VALUES (%s, %s, now())", (uuid4(), row))

            change()
            return _count(change, 1, start, ready, seconds)


def _count(action: Callable[[], None], size: int, start: Event, ready: Queue[int], seconds: float) -> int:
    ready.put(1)
    start.wait(120)
    end = time.perf_counter() + seconds
    done = 0
    while time.perf_counter() < end:
        action()
        done += size
    return done


def rate(load: Callable[[int, Event, Queue[int], float], int], seconds: float = SECONDS) -> float:
    """Rows a second of one load process a Site, begun together."""
    start, ready, done = _SPAWN.Event(), _SPAWN.Queue(), _SPAWN.Queue()
    processes = [
        _SPAWN.Process(target=_loaded, args=(load, index, start, ready, done), kwargs={"seconds": seconds})
        for index in range(len(SITES))
    ]
    for process in processes:
        process.start()
    for _ in processes:
        ready.get(timeout=120)
    start.set()
    total = sum(done.get(timeout=seconds + 120) for _ in processes)
    for process in processes:
        process.join(30)
    if total < 0:
        raise RuntimeError("a load process failed; its error stands above")
    return float(total / seconds)


def _loaded(
    load: Callable[[int, Event, Queue[int], float], int],
    index: int,
    start: Event,
    ready: Queue[int],
    done: Queue[float],
    *,
    seconds: float,
) -> None:
    try:
        done.put(load(index, start, ready, seconds))
    except BaseException:
        ready.put(1)
        done.put(float("-inf"))
        raise


def bare_tables(admin: str) -> None:
    """What the bare statements run on, made anew."""
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS bench CASCADE")
        connection.execute("CREATE SCHEMA bench")
        connection.execute(
            "CREATE TABLE bench.sightings "
            "(id uuid PRIMARY KEY, version int, digest uuid, seen_at timestamptz) WITH (fillfactor = 50)"
        )
        connection.execute(
            "CREATE TABLE bench.heads (id uuid PRIMARY KEY, owner int, version int, seen_at timestamptz)"
        )
        connection.execute(
            "CREATE TABLE bench.versions (id uuid, version int, at timestamptz, snapshot jsonb, "
            "PRIMARY KEY (id, version))"
        )
        connection.execute("CREATE TABLE bench.receipts (id uuid PRIMARY KEY, head uuid, at timestamptz)")
        ids = sorted((str(uuid5(UUID(int=3), str(row))) for row in range(ROWS)), key=lambda t: t[::-1])
        connection.execute(
            "INSERT INTO bench.sightings "
            "SELECT id, 1, gen_random_uuid(), now() FROM unnest(%s::uuid[]) u(id)",
            (ids,),
        )
        connection.execute("VACUUM ANALYZE bench.sightings")

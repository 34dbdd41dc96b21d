"""A served Site intake and what its agents send.

`running()` starts PostgreSQL and the intake as production does (2 workers of 4 threads).
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4, uuid5

from central.kernel.database import Database, DatabaseOptions
from central.kernel.embedded_postgres import EmbeddedPostgres
from central.kernel.migrations import migrate, set_role_password
from central.kernel.observability import configure_logging
from central.kernel.serving import Service, ServingOptions, serve
from central.kernel.site_names import Site
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
from tests.ports import free_port

ROLE = "pharos_resource_provisioning"
SITES = ("slurm", "k8s")
MANY = (*SITES, *(f"slurm{number}" for number in range(2, 10)))
"""Ten Sites of 1,000 resources, each with an agent of its own: so many that the kernel's choice of a worker
for each connection (SO_REUSEPORT) leaves none of them idle.
"""
KEYS = {Site(site): (f"{site}-{'k' * 40}",) for site in MANY}
INSTANCE = WaldurInstance("https://waldur.example.org/")
ROWS = 10_000
BATCH = 1_000
LIMITS = {"cpu": 144000, "gpu.gh200": 2, "memory": 515396075520}
SPAWN = multiprocessing.get_context("spawn")


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
            port = free_port()
            server = SPAWN.Process(target=serve_intake, args=(urls.url(ROLE, password, "postgres"), port))
            server.start()
            try:
                wait_for(port, "/readyz")
                yield Running(port, urls.admin)
            finally:
                server.terminate()
                server.join(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve_intake(url: str, port: int, log: Path = Path("/dev/null")) -> None:
    """The intake as production serves it; ends when told."""
    with log.open("a") as sink:
        configure_logging("bench", stream=sink)

        def build() -> Service:
            database = Database(DatabaseOptions(url, pool_size=CONNECTIONS))
            database.open()
            app = build_app(database, Intake(KEYS, INSTANCE, KnownProjects()))  # type: ignore[arg-type]
            collect_seldom()
            return Service(app=app, stopping=lambda: None, close=database.close)

        serve(build, ServingOptions("127.0.0.1", port, threads=THREADS, workers=WORKERS))


def wait_for(port: int, path: str) -> None:
    """Until the server there answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", path)
                with connection.getresponse() as answer:
                    if answer.status < 500:
                        return
            except OSError:
                pass
        time.sleep(0.1)
    raise RuntimeError(f"no server answered on {port} within 60 s")


def headers_of(site: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {KEYS[Site(site)][0]}",
        "Pharos-Schema": "1-1",
        "Content-Type": "application/json",
    }


class Bodies:
    """Reports of one Site, `size` resources each, going round its rows from `first` on; `dirty` of them
    change each time.
    """

    def __init__(self, site: str, size: int, dirty: int = 0, first: int = 0) -> None:
        self._site, self._size, self._dirty, self._first = site, size, dirty, first
        self._round = 0
        self._clean: dict[int, list[str]] = {}

    def next(self) -> bytes:
        """The next body, observed now."""
        rows = ROWS // len(MANY)
        start = self._round * self._size % rows
        if start not in self._clean:
            self._clean[start] = [self._resource(self._first + start + n) for n in range(self._size)]
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

"""Central's programs as an operator starts them: variables, private files, a role of its own each."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.kernel.times import utc_now
from tests.ports import free_port
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.waiting import NEVER, until
from tests.simulators.beto.beto import Beto
from tests.simulators.beto.speaker import speaking
from tests.simulators.beto.truth import Change
from tests.simulators.oidc.issuer import Issuer, SigningKey
from tests.simulators.oidc.server import IssuerServer

COMMAND = [sys.executable, "-c", "from central.cli import main; main()"]
OWNER = "pharos_resource_provisioning"


@dataclass(frozen=True, slots=True)
class Programs:
    """Starts programs against one database. ``folder`` holds their private files."""

    server: PgServer
    database: str
    folder: Path
    pids: dict[int, int] = field(default_factory=dict)
    """Port → process id of what is being served."""

    def url(self, role: str) -> str:
        """The path of a private file with a role's URL."""
        path = self.folder / f"{role}.url"
        path.write_text(self.server.role_url(role, self.database) + "\n")
        path.chmod(0o600)
        return str(path)

    def owner(self) -> dict[str, str]:
        """Settings of an owner process."""
        return {
            "RESOURCE_PROVISIONING_DATABASE_URL_FILE": self.url(OWNER),
            "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": self.url(f"{OWNER}_views"),
        }

    def worker(self, port: int) -> dict[str, str]:
        """Settings of the worker."""
        return self.owner() | {
            "PHAROS_PROVISIONING_WORKER_LISTEN": f"127.0.0.1:{port}",
            "RESOURCE_PROVISIONING_QUERIES_BROKER_URL_FILE": self.url(f"{OWNER}_queries"),
        }

    def administrator(self) -> dict[str, str]:
        """Settings of the migrator."""
        return {"PHAROS_DATABASE_URL": self.server.admin_url(self.database)}

    def run(self, environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, which must be a good one."""
        done = self.tried(environment, *words)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done

    def tried(self, environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to whatever end it comes to, told or refused."""
        done = subprocess.run(
            [*COMMAND, *words], env=_with(environment), capture_output=True, text=True, timeout=2 * NEVER
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def administer(self) -> None:
        """Makes what the broker lacks."""
        self.run(self.administrator(), "broker", "administer")

    @contextmanager
    def serving(self, environment: Mapping[str, str], port: int, *words: str) -> Iterator[Path]:
        """Runs a program until the block ends, once it is ready; yields its log. It must end well."""
        log = self.folder / f"{port}.log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [*COMMAND, *words], env=_with(environment), stderr=sink, start_new_session=True
            )
        self.pids[port] = process.pid
        try:
            until(lambda: _ready(process, port, log))
            yield log
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, log.read_text()


@pytest.fixture
def programs(pg_server: PgServer, database_name: str, tmp_path: Path) -> Programs:
    """Programs of this test alone."""
    return Programs(pg_server, database_name, tmp_path)


@contextmanager
def beto_at(programs: Programs) -> Iterator[tuple[Beto, Callable[..., None]]]:
    """Beto at the programs' broker, and how it tells changes. Every question must be well-formed."""
    url = programs.server.admin_url(programs.database)
    waiters = Waiters(url, CHANNELS)
    waiters.start()
    beto = Beto(clock=utc_now)
    with Database(DatabaseOptions(url)) as database:
        broker = PostgresBroker(database, waiters)

        def tell(*changes: Change) -> None:
            beto.tell(*changes)
            beto.flush(broker)

        with speaking(beto, broker) as bad:
            yield beto, tell
    waiters.close()
    assert bad == []


@contextmanager
def issuer() -> Iterator[tuple[Callable[[str], str], str]]:
    """An OIDC issuer in this process: mints a member's token; its URL."""
    made = Issuer(url="", audience="pharos", keys=[SigningKey.make("ES256"), SigningKey.make("RS256")])
    with IssuerServer(("127.0.0.1", 0), made) as server:
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield made.mint, made.url
        server.shutdown()


def get(port: int, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Status and text."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers=dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def ports(count: int) -> list[int]:
    """Free ports."""
    return [free_port() for _ in range(count)]


def _ready(process: subprocess.Popen[Any], port: int, log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    try:
        return get(port, "/readyz")[0] == 200
    except OSError:
        return False


def _with(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    return kept | dict(environment)

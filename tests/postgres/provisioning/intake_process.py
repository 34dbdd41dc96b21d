"""`pharos-central serve provisioning-intake` as a process, as an operator starts it."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from central.processes.provisioning_worker import VIEWS_IDENTITY
from tests.ports import free_port
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.environment import without_ours
from tests.postgres.kernel.waiting import NEVER, until
from tests.postgres.provisioning.conftest import (
    INSTANCE,
    ROLE,
)

KEY = "process-intake-key-of-thirty-two-"
COMMAND = [sys.executable, "-c", "from central.cli import main; main()"]


def environment(pg_server: PgServer, name: str, port: int, folder: Path) -> dict[str, str]:
    views = pg_server.role_url(VIEWS_IDENTITY, name)
    files = {"url": pg_server.role_url(ROLE, name), "broker": views, "key": KEY}
    for file, content in files.items():
        (folder / file).write_text(content + "\n")
        (folder / file).chmod(0o600)
    kept = {variable: os.environ[variable] for variable in ("PATH", "HOME") if variable in os.environ}
    return kept | {
        "PHAROS_SITES": "slurm,k8s",
        "PHAROS_PROVISIONING_INTAKE_LISTEN": f"127.0.0.1:{port}",
        "RESOURCE_PROVISIONING_DATABASE_URL_FILE": str(folder / "url"),
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": str(folder / "broker"),
        "RESOURCE_PROVISIONING_WALDUR_INSTANCE": INSTANCE,
        "RESOURCE_PROVISIONING_SLURM_INTAKE_KEY_FILE": str(folder / "key"),
    }


def enrol(pg_server: PgServer, name: str) -> None:
    """Runs the broker's administration, as an operator does."""
    done = subprocess.run(
        [*COMMAND, "broker", "administer", "--json"],
        env={**without_ours(), "PHAROS_DATABASE_URL": pg_server.admin_url(name)},
        capture_output=True,
        timeout=2 * NEVER,
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def serving(pg_server: PgServer, name: str, folder: Path) -> Iterator[tuple[int, Path]]:
    """The port of a running intake, and its log."""
    enrol(pg_server, name)
    port, log = free_port(), folder / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [*COMMAND, "serve", "provisioning-intake"],
            env=environment(pg_server, name, port, folder),
            stderr=sink,
            start_new_session=True,
        )
    try:
        until(lambda: answers(port, process, log))
        yield port, log
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(NEVER) == 0, log.read_text()


def answers(port: int, process: subprocess.Popen[bytes], log: Path) -> bool:
    """Whether the running process is ready."""
    assert process.poll() is None, log.read_text()
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=NEVER)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
    except OSError:
        return False


def seconds_ago(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))

"""The peer: Django REST framework in an environment of its own, served beside the intake.

One resource a request, as such services are written: token, serializer, `select_for_update`, `save` (see
`drf_peer`). It runs with two gunicorn workers of four threads, as the intake does, on the same PostgreSQL.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid5

import psycopg

from tests.bench.intake import LIMITS, MANY, wait_for
from tests.bench.loads import Turn
from tests.ports import free_port

ROWS = 1_000
TOKEN = "t" * 40
PACKAGES = ("django==5.2.19", "djangorestframework==3.18.3", "psycopg[binary]==3.3.9", "gunicorn==27.0.1")
_HERE = Path(__file__).parent
_BUILD = _HERE.parents[1] / "build"


def environment() -> Path:
    """The peer's interpreter; the environment is made once and kept below ``build/``."""
    digest = hashlib.sha256(" ".join((*PACKAGES, sys.version)).encode()).hexdigest()[:12]
    folder = _BUILD / f"bench-drf-{digest}"
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True
        )
        complete.touch()
    return python


@contextmanager
def drf_peer(admin: str) -> Iterator[DrfLoad]:
    """The served peer as a load; its database is dropped afterwards."""
    python, port = environment(), free_port()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS drf WITH (FORCE)")
        connection.execute("CREATE DATABASE drf")
    settings = {"PATH": os.environ["PATH"], "DRF_DATABASE": admin, "DRF_TOKEN": TOKEN}
    subprocess.run([python, _HERE / "drf_service.py"], check=True, env=settings, cwd=_HERE)
    words = [
        "-m",
        "gunicorn",
        "-w",
        "2",
        "--threads",
        "4",
        "--reuse-port",
        "--log-level",
        "error",
        "--keep-alive",
        "60",
    ]
    server = subprocess.Popen(
        [python, *words, "-b", f"127.0.0.1:{port}", "drf_service:application"], env=settings, cwd=_HERE
    )
    try:
        wait_for(port, "/resources/")
        yield DrfLoad(port)
    finally:
        server.terminate()
        server.wait(30)
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS drf WITH (FORCE)")


@dataclass(frozen=True, slots=True)
class DrfLoad:
    """One resource a request, the same rows again and again."""

    port: int
    width: int = len(MANY)

    @contextmanager
    def begin(self, index: int) -> Iterator[Turn]:
        """See `Load`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        ids = [str(uuid5(UUID(int=5), f"{index}/{row}")) for row in range(ROWS)]
        turn = 0

        def put() -> None:
            nonlocal turn
            row = turn % ROWS
            turn += 1
            body = {
                "site": MANY[index],
                "state": "ok",
                "paused": False,
                "configured": LIMITS,
                "applied": LIMITS,
                "used": {"cpu": 72000},
                "observed_at": datetime.now(UTC).isoformat(),
            }
            connection.request("PUT", f"/resources/{ids[row]}/", json.dumps(body), headers)
            answer = connection.getresponse()
            told = answer.read()
            if answer.status not in (200, 201):
                raise RuntimeError(f"{answer.status}: {told[:300]!r}")

        for _ in range(ROWS):
            put()
        yield put, 1

"""A served process to try things on; the fixture ``start``."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import urllib3

from tests.ports import free_port
from tests.postgres.kernel.waiting import NEVER, until

ROOT = Path(__file__).parents[3]


@dataclass
class Running:
    """A served process."""

    process: "subprocess.Popen[str]"
    port: int
    log: Path
    gate: Path
    http: urllib3.PoolManager

    def get(self, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
        return self.http.request("GET", f"http://127.0.0.1:{self.port}{path}", headers=headers)

    def post(self, path: str, body: object = None) -> urllib3.BaseHTTPResponse:
        return self.http.request(
            "POST",
            f"http://127.0.0.1:{self.port}{path}",
            body=json.dumps(body).encode() if body is not None else b"",
            headers={"Content-Type": "application/json"},
        )

    def raw(self, request: bytes, seconds: float = NEVER) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(request)
            received = b""
            while data := connection.recv(65536):
                received += data
        return received

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(sign)
        return self.process.wait(NEVER)


def wait_for(port: int, process: "subprocess.Popen[str]") -> None:
    def listens() -> bool:
        assert process.poll() is None, "the process did not listen"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=NEVER).close()
        except OSError:
            return False
        return True

    until(listens)


Start = Callable[..., Running]


@pytest.fixture
def start(kernel_url: str, tmp_path: Path) -> Iterator[Start]:
    """``start(threads=…, workers=…, timeout=…, receive=…, body=…, keep=…, tls=folder)``; times in seconds."""
    with psycopg.connect(kernel_url, autocommit=True) as admin:
        admin.execute("CREATE TABLE public.notes (id int PRIMARY KEY)")
    running: list[Running] = []

    def make(
        *,
        threads: int = 8,
        workers: int = 1,
        timeout: int = 30,
        receive: int = 2,
        body: int = 60,
        keep: int = 5,
        tls: Path | None = None,
    ) -> Running:
        port, log, gate = free_port(), tmp_path / f"log{len(running)}", tmp_path / f"gate{len(running)}"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "TRIAL_URL": kernel_url,
            "TRIAL_TIMEOUT": str(timeout),
            "TRIAL_RECEIVE": str(receive),
            "TRIAL_BODY": str(body),
            "TRIAL_KEEP": str(keep),
            "TRIAL_GATE": str(gate),
            # None of these may matter:
            "SCRIPT_NAME": "/evil",
            "FORWARDED_ALLOW_IPS": "*",
            "GUNICORN_CMD_ARGS": "--workers=7",
        }
        argv = [sys.executable, "-m", "tests.postgres.kernel.trial_process", str(port), str(threads)]
        argv += [str(workers), *([str(tls)] if tls else [])]
        with log.open("w") as file:
            process = subprocess.Popen(
                argv, env=environment, stderr=file, stdout=file, text=True, cwd=tmp_path
            )
        made = Running(process, port, log, gate, urllib3.PoolManager(maxsize=100, retries=False, timeout=90))
        running.append(made)
        wait_for(port, process)
        return made

    yield make
    for one in running:
        one.http.clear()
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait(10)


def certificate(folder: Path) -> None:
    """``cert.pem`` and ``key.pem`` for this machine."""
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "1", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip

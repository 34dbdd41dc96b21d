"""One development stack on a folder of its own, for tests."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import urllib3

from tests.postgres.kernel.waiting import until

ROOT = Path(__file__).parents[3]


class Dev:
    """One stack on a folder of its own."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.process: subprocess.Popen[str] | None = None
        self.pids: list[int] = []

    def start(self, *arguments: str) -> dict[str, Any]:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "central.cli", "dev", "--state", str(self.state), *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return self.up()

    def up(self) -> dict[str, Any]:
        """Its document, once it is the running process's own."""
        until(self.is_up)
        document: dict[str, Any] = json.loads((self.state / "dev.json").read_text())
        self.pids = list(document["pids"].values())
        return document

    def is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.process.communicate()[0]
        with suppress(FileNotFoundError):
            document = json.loads((self.state / "dev.json").read_text())
            return bool(document["pids"]["dev"] == self.process.pid)
        return False

    def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def left(self) -> list[int]:
        """Processes of the stack that still run."""
        return [pid for pid in self.pids if running(pid)]

    def helper(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "central.cli", "dev", *arguments, "--state", str(self.state)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextmanager
def fresh() -> Iterator[Dev]:
    folder = Path(tempfile.mkdtemp(prefix="pharos-dev-", dir="/tmp"))
    folder.chmod(0o711)
    stack = Dev(folder / "state")
    try:
        yield stack
    finally:
        if stack.process is not None and stack.process.poll() is None:
            stack.end(signal.SIGTERM)
        for pid in stack.left():
            os.kill(pid, signal.SIGINT)
        shutil.rmtree(folder, ignore_errors=True)


def member(document: dict[str, Any], token: str, method: str, body: Any = None) -> tuple[int, Any]:
    answer = urllib3.request(
        method,
        f"{document['memberApi']['url']}/api/v1/me/ssh-keys",
        json=body,
        headers={"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid4())},
    )
    return answer.status, json.loads(answer.data)

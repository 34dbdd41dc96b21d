"""A drain reaches a Runtime that waits in its long poll at once, and breaks off nothing else (S15, S1)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_bundle.kernel.status_files import STATUS_NAME, wake_process
from site_bundle.runtime.adapters.request_files import RequestFiles
from site_bundle.runtime.cli import command

WHEN = "2026-11-02T10:00:00Z"
ROOT = Path(__file__).parents[4]
# The loop itself over a poll that is never answered; what it takes is told on its output.
LOOP = """
import signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock
from uuid import uuid4
from datetime import UTC, datetime
from site_bundle.kernel.stop import Stop
from site_bundle.runtime.adapters.request_files import RequestFiles
from site_bundle.runtime.adapters.sqlite_journal import open_command_journal
from site_bundle.runtime.adapters.wire_words import encode_statement
from site_bundle.runtime.application.poll_commands import PollCommands
from site_bundle.runtime.entrypoints.loop import Due, Loop, LoopLimits, NEVER
from site_bundle.runtime.entrypoints.maintenance import Maintenance

state, stop = Path(sys.argv[1]), Stop()
stop.install()
signal.alarm(60)  # one that is never woken ends by itself, without a word

def parked(**_):
    print("waits", flush=True)
    with stop.interruptible():
        time.sleep(3600)

journal = open_command_journal(state / "journal.sqlite")
maintenance = Maintenance(
    api=SimpleNamespace(state_maintenance=lambda body: print(body.decode(), flush=True)), journal=journal,
    telling=MagicMock(), encode=encode_statement, new_id=uuid4, requests=RequestFiles(state),
    retry_seconds=30.0, monotonic=time.monotonic,
)
poll = PollCommands(SimpleNamespace(commands=parked), journal, None)
loop = Loop(
    do=SimpleNamespace(maintenance=maintenance, poll=poll), journal=journal, telling=MagicMock(), stop=stop,
    limits=LoopLimits(), programs=dict, now=lambda: datetime.now(UTC), monotonic=time.monotonic,
    draw=lambda: 0.5, due=Due(walk=NEVER, look=NEVER, close=NEVER, send=NEVER), polled=True,
)
loop.run()
"""


def status(folder: Path, pid: object) -> None:
    """What the verbs find the process by."""
    document = {
        "schema": 1,
        "component": "runtime",
        "release": "r",
        "state": "ready",
        "pid": pid,
        "since": WHEN,
        "updatedAt": WHEN,
    }
    (folder / STATUS_NAME).write_text(json.dumps(document | {"checks": {}}))


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A Runtime's loop that waits, and the folders the verbs find it by."""
    argv = [sys.executable, "-c", LOOP, str(tmp_path)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        status(tmp_path, process.pid)
        for variable in ("STATE_DIRECTORY", "RUNTIME_DIRECTORY"):
            monkeypatch.setenv(f"PHAROS_RUNTIME_{variable}", str(tmp_path))
        assert process.stdout is not None and process.stdout.readline() == "waits\n"
        try:
            yield process
        finally:
            process.terminate()
            assert process.wait(60) == 0


def lines(process: subprocess.Popen[str]) -> list[str]:
    """The next two: what central is told, and that it waits again."""
    assert process.stdout is not None
    return [process.stdout.readline(), process.stdout.readline()]


def test_s15_drain_ends_the_wait_and_the_next_cycle_tells_central(runtime: subprocess.Popen[str]) -> None:
    """The poll is parked for an hour: only the wake brings the statement."""
    for words, draining in ((["drain", "--reason", "upgrade"], True), (["undrain"], False)):
        assert command(words) == 0
        told, waits = lines(runtime)
        assert json.loads(told)["draining"] is draining
        assert waits == "waits\n", "and it waits again: nothing spins"


def test_s15_drain_of_a_service_that_is_down_is_left_for_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("STATE_DIRECTORY", "RUNTIME_DIRECTORY"):
        monkeypatch.setenv(f"PHAROS_RUNTIME_{variable}", str(tmp_path))
    assert command(["drain", "--reason", "upgrade"]) == 0
    request = RequestFiles(tmp_path).drain()
    assert request is not None and request.draining


@pytest.mark.parametrize("pid", [None, 0, 1, -1, "7", 2**31 - 1, 10**30])
def test_s15_only_a_process_of_its_own_is_woken(tmp_path: Path, pid: object) -> None:
    """A file that names no process, every process or the first one wakes nobody."""
    status(tmp_path, pid)
    assert not wake_process(tmp_path)

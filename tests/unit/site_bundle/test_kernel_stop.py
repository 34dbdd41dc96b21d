"""The end that was asked for is the end that is told: exit 0, however long the interpreter takes (I06)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Modules are cleared after Python gave signals their default action; this one takes longer than an alarm.
SLOW_END = """
import os, signal, time
from site_bundle.kernel.stop import AGAIN_SECONDS, Stop

class Slow:
    def __del__(self, sleep=time.sleep, seconds=3 * AGAIN_SECONDS):
        sleep(seconds)

slow, stop = Slow(), Stop()
stop.install()
os.kill(os.getpid(), signal.SIGTERM)
assert stop.requested
"""


@pytest.mark.parametrize(("last", "ends"), [("stop.settle()", 0), ("", -signal.SIGALRM)])
def test_I06_no_alarm_of_our_own_kills_a_process_that_ends(last: str, ends: int) -> None:
    """Without `settle` the alarm that repeats the request does; systemd would call that a failure."""
    argv = [sys.executable, "-c", SLOW_END + last]
    assert subprocess.run(argv, cwd=ROOT, timeout=60, check=False).returncode == ends


WAITS = """
import os, signal, sys, threading, time
from site_bundle.kernel.stop import Stop, Woken

stop = Stop()
stop.install()
urge = lambda: os.kill(os.getpid(), signal.SIGURG)
"""


def _run(body: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", WAITS + body],
        cwd=ROOT,
        timeout=60,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_s15_a_wait_ends_when_it_is_woken() -> None:
    """The wait is longer than the test may take: only the signal ends it."""
    _run("threading.Timer(0.2, urge).start(); stop.sleep(3600)")


def test_s15_a_wake_between_two_waits_is_kept_for_the_next_and_wakes_once() -> None:
    _run("urge(); stop.sleep(3600); began = time.monotonic(); stop.sleep(0.5)"
         "\nassert time.monotonic() - began >= 0.5")  # fmt: skip


def test_s15_a_wake_breaks_off_no_waiting_but_the_one_that_may_be_woken() -> None:
    """A submission waits too (`interruptible`): it is never left halfway (S1)."""
    _run(
        "with stop.interruptible():\n    urge(); time.sleep(0.1)\n"
        "try:\n    with stop.wakeable():\n        done = 1\n"
        "        with stop.interruptible():\n            done = 2\n"
        "except Woken:\n    sys.exit(done - 1)\nsys.exit(9)"
    )


def test_s15_a_process_that_does_not_know_the_wake_ignores_it() -> None:
    argv = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGURG)"]
    assert subprocess.run(argv, timeout=60, check=False).returncode == 0

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

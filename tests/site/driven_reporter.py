"""The reporter as the console script composes it, but with limits of the test's choice and death at a named
checkpoint.

`DRIVE` in the environment: `{"die_at": name, "times": n, "limits": {…}}`. Death is SIGKILL of itself: nothing
is flushed, closed or undone.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from site_bundle.kernel.logs import Log
from site_bundle.kernel.stop import Stop
from site_bundle.reporter.compose import run_reporter
from site_bundle.reporter.entrypoints.loop import LoopLimits
from site_bundle.reporter.settings import reporter_settings


def main() -> int:
    drive = json.loads(os.environ.get("DRIVE", "{}"))
    left = {"n": int(drive.get("times", 1))}

    def checkpoint(name: str) -> None:
        if name != drive.get("die_at"):
            return
        left["n"] -= 1
        if left["n"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    stop = Stop()
    stop.install()
    limits = {"interval_seconds": 0.2, "least_pause_seconds": 0.05, "first_retry_seconds": 0.05}
    limits |= {"retry_seconds": 0.2, "refused_retry_seconds": 0.5}
    run_reporter(
        reporter_settings(os.environ),
        os.environ,
        stop=stop,
        log=Log(),
        limits=LoopLimits(**(limits | drive.get("limits", {}))),
        checkpoint=checkpoint,
    )
    stop.settle()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The Runtime as the console script composes it, but with limits of the test's choice and death at a named
checkpoint.

`DRIVE` in the environment: `{"die_at": name, "times": n, "limits": {…}}`. Death is SIGKILL of itself: nothing
is flushed, closed or undone.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.logs import Log
from site_bundle.kernel.stop import Stop
from site_bundle.runtime.compose import run_runtime
from site_bundle.runtime.entrypoints.loop import LoopLimits
from site_bundle.runtime.settings import runtime_settings


def main() -> int:
    drive = json.loads(os.environ.get("DRIVE", "{}"))
    left = {"n": int(drive.get("times", 1))}

    def checkpoint(name: str) -> None:
        if name != drive.get("die_at"):
            return
        left["n"] -= 1
        if left["n"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    stop, log = Stop(), Log()
    stop.install()
    limits = {
        "wait_seconds": 1,
        "least_look_seconds": 0.3,
        "most_look_seconds": 1.0,
        "least_close_seconds": 0.3,
        "most_close_seconds": 1.0,
    }
    limits |= {"least_poll_seconds": 0.1, "first_retry_seconds": 0.1, "retry_seconds": 0.5}
    limits |= {"refused_retry_seconds": 0.5}
    try:
        run_runtime(
            runtime_settings(os.environ),
            os.environ,
            stop=stop,
            log=log,
            limits=LoopLimits(**(limits | drive.get("limits", {}))),
            checkpoint=checkpoint,
        )
    except SiteError as error:
        log.error("cannot_run", code=error.code, found=error.found, remedy=error.remedy)  # noqa: TRY400
        return error.exit_status
    finally:
        stop.settle()
    return 0


if __name__ == "__main__":
    sys.exit(main())

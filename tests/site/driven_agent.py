"""The agent as the console script composes it, but with limits of the test's choice and death at a named
checkpoint.

`DRIVE` in the environment: `{"die_at": name, "times": n, "hang_at": name, "hangs": file made then,
"limits": {…}, "ahead": file}`. Death is SIGKILL of itself: nothing is flushed, closed or undone. While the
file `ahead` is there, the clock is a day ahead.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from site_bundle.kernel.logs import Log
from site_bundle.kernel.stop import Stop
from site_bundle.ssh_access import compose
from site_bundle.ssh_access.entrypoints.agent import AgentLimits
from site_bundle.ssh_access.settings import agent_settings


def main() -> int:
    drive = json.loads(os.environ.get("DRIVE", "{}"))
    left = {"n": int(drive.get("times", 1))}

    def checkpoint(name: str) -> None:
        if name == drive.get("hang_at"):
            Path(drive["hangs"]).touch()
            time.sleep(3600)
        if name != drive.get("die_at"):
            return
        left["n"] -= 1
        if left["n"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def clock() -> datetime:
        ahead = "ahead" in drive and Path(drive["ahead"]).exists()
        return datetime.now(UTC) + timedelta(days=1 if ahead else 0)

    compose.utc_now = clock  # type: ignore[attr-defined]
    stop = Stop()
    stop.install()
    compose.run_agent(
        agent_settings(os.environ),
        os.environ,
        stop=stop,
        log=Log(),
        limits=AgentLimits(**drive.get("limits", {})),
        checkpoint=checkpoint,
    )
    stop.settle()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs inside the lab host: resident memory of the idle reporter and of a bare interpreter, one JSON object.

`on_host_resident.py PASSES`: starts `pharos-reporter run`, waits until so many passes were delivered, and
reads `VmRSS` (kB) while it waits for the next one.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

INTERVAL, WITHIN = 10, 180.0
INTERPRETER = "/usr/bin/python3.13"


def main(passes: int) -> None:
    environment = {**os.environ, "PHAROS_REPORTER_INTERVAL_SECONDS": str(INTERVAL)}
    status = Path(os.environ["RUNTIME_DIRECTORY"], "status.json")
    status.unlink(missing_ok=True)
    argv = [INTERPRETER, "-m", "site_bundle.reporter.main", "run"]
    with subprocess.Popen(argv, env=environment, stderr=subprocess.DEVNULL) as reporter:
        try:
            found = delivered(status, passes)
            time.sleep(INTERVAL / 4)  # idle: between two passes
            shown = figures(Path(f"/proc/{reporter.pid}/status").read_text())
        finally:
            reporter.terminate()
    bare = [INTERPRETER, "-I", "-c", "print(open('/proc/self/status').read())"]
    done = subprocess.run(bare, check=True, capture_output=True, text=True)
    told = {"reporter_kb": shown["VmRSS:"], "peak_kb": shown["VmHWM:"], "threads": shown["Threads:"]}
    told |= {"python_kb": figures(done.stdout)["VmRSS:"], "ready": float(found["accounts"]["ready"])}
    print(json.dumps(told))


def delivered(status: Path, passes: int) -> dict[str, Any]:
    """The status after so many passes, each with its receipt. TimeoutError."""
    seen: set[str] = set()
    found: dict[str, Any] = {}
    end = time.monotonic() + WITHIN
    while len(seen) < passes:
        if time.monotonic() > end:
            raise TimeoutError(f"{len(seen)} passes in {WITHIN} s; {found}")
        time.sleep(0.2)
        found = json.loads(status.read_text()) if status.exists() else {}
        if found.get("lastReceiptAt") and found["outbox"]["waiting"] == 0 and found["state"] == "ready":
            seen.add(found["lastReceiptAt"])
    return found


def figures(text: str) -> dict[str, float]:
    lines = [line.split() for line in text.splitlines() if line]
    return {line[0]: float(line[1]) for line in lines if line[0] in {"VmRSS:", "VmHWM:", "Threads:"}}


if __name__ == "__main__":
    main(int(sys.argv[1]))

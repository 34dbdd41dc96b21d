"""`status.json` and `metrics.prom` in the runtime folder: what a running component says of itself (X9), no
person in it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from site_bundle.kernel.documents import Between, Open, read_document
from site_bundle.kernel.errors import UnavailableError
from site_bundle.kernel.files import read_bounded, write_atomically
from site_bundle.kernel.health import Check, Status
from site_bundle.kernel.metrics import Metric, render_metrics
from site_bundle.kernel.stop import WAKE
from site_bundle.kernel.strict_json import parse_object
from site_bundle.kernel.times import parse_time

STATUS_NAME = "status.json"
METRICS_NAME = "metrics.prom"
MAX_STATUS_BYTES = 256 * 1024
STALE_SECONDS = 180.0
MAX_PID = 2**22  # PID_MAX_LIMIT of a 64-bit Linux (proc(5))


class StatusFiles:
    """Writes both files whole, when their content changed or a time stamp is due."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, document: dict[str, Any], metrics: list[Metric]) -> None:
        """OSError when the folder cannot be written: the caller says so in its log."""
        content = json.dumps(document, indent=1, ensure_ascii=True).encode() + b"\n"
        write_atomically(self._directory / STATUS_NAME, content, mode=0o644)
        write_atomically(self._directory / METRICS_NAME, render_metrics(metrics), mode=0o644)


@dataclass(frozen=True, slots=True)
class _ShownCheck(Open):
    status: str
    found: str
    remedy: str


@dataclass(frozen=True, slots=True)
class _Shown(Open):
    """The frame of a status document: what every reader counts on. A component says more."""

    schema: Literal[1]
    component: str
    release: str
    pid: Annotated[int, Between(1, MAX_PID)]
    state: str
    since: datetime
    updated_at: datetime
    checks: dict[str, _ShownCheck]


def read_status(directory: Path) -> dict[str, Any] | None:
    """The document of the running component; None when there is no file: it does not run. UnavailableError
    when there is one that cannot be read, or is none (X1).
    """
    path = directory / STATUS_NAME
    try:
        document = parse_object(read_bounded(path, max_bytes=MAX_STATUS_BYTES), max_bytes=MAX_STATUS_BYTES)
        read_document(document, _Shown)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnavailableError(
            "status_unreadable",
            found=f"{path}: {error.strerror}",
            wanted="the file the running component writes, readable by all",
            remedy="run it as root (sudo); if that fails too, restart the unit: it writes the file anew",
        ) from error
    except ValueError as error:
        raise UnavailableError(
            "status_malformed",
            found=f"{path}: {error}",
            wanted="a status document of schema 1",
            remedy="restart the unit: it writes the file anew",
        ) from error
    return document


def wake_process(directory: Path) -> bool:
    """Ends the running component's wait (`kernel.stop`), if it is there and may be signalled by this user."""
    try:
        pid = (read_status(directory) or {}).get("pid")
        if not isinstance(pid, int) or pid <= 1:
            return False
        os.kill(pid, WAKE)
    except (OSError, UnavailableError):
        return False
    return True


def process_check(document: dict[str, Any] | None, *, unit: str, now: datetime) -> Check:
    """What the own word of the running `unit` is worth: alive, recent, ready."""
    wanted = "a running process in the state ready"
    if document is None or not _alive(document.get("pid")):
        return Check(
            "process",
            Status.FAIL,
            "it does not run",
            wanted,
            f"systemctl status {unit}",
            "not_running",
        )
    age = (now - parse_time(str(document.get("updatedAt")))).total_seconds()
    if age > STALE_SECONDS:
        found = f"its last word is {int(age)} s old"
        return Check("process", Status.FAIL, found, wanted, f"journalctl -u {unit}", "status_stale")
    if document.get("state") != "ready":
        failing = sorted(
            k for k, v in dict(document.get("checks") or {}).items() if v.get("status") in {"fail", "unknown"}
        )
        found = f"state {document.get('state')}" + (f", failing: {', '.join(failing)}" if failing else "")
        return Check(
            "process", Status.FAIL, found, wanted, "the failing checks below name their remedies", "not_ready"
        )
    return Check("process", Status.PASS, f"state ready, pid {document['pid']}", wanted)


def process_seen(directory: Path, *, unit: str, now: datetime) -> Check:
    """The same of the document in `directory`; unknown when there is one that cannot be read (X1)."""
    try:
        return process_check(read_status(directory), unit=unit, now=now)
    except UnavailableError as error:
        return Check.of_error("process", error, Status.UNKNOWN)


def _alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

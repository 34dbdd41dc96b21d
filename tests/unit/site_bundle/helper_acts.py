"""Acts of a helper's child, for tests."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from site_bundle.directory.errors import DirectoryRefusedError
from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.https import PeerRefusedError, PeerUnavailableError

ERRORS: list[SiteError] = [
    PeerUnavailableError("intake_slow", found="f", wanted="w", remedy="r", retry_after=7.0),
    PeerRefusedError("account_name_invalid", status=422, found="status 422"),
    DirectoryRefusedError("directory_refused", result=50, found="no"),
    UnavailableError("unavailable", found="later"),
]


def fail(number: int) -> None:
    raise ERRORS[number]


def double(number: int) -> tuple[int, int]:
    return os.getpid(), number * 2


ACTS: dict[str, Any] = {
    "double": double,
    "fail": fail,
    "echo": lambda raw: raw,
    "bug": lambda: 1 // 0,
    "sleep": time.sleep,
    "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "ignored": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "open": lambda: len(os.listdir("/proc/self/fd")),
}

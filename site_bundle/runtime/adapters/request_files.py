"""How a verb reaches the running Runtime, which alone writes the journal: one small file each in the state
folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.files import read_bounded, write_atomically
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object
from site_bundle.kernel.times import render_time
from site_bundle.runtime.application.ports import DrainRequest

DRAIN, ACCEPT = "drain", "accept-feed"
MAX_REQUEST = 4096


def put_drain(state_directory: Path, request: DrainRequest) -> None:
    """OSError."""
    until = render_time(request.until) if request.until else None
    body = {"draining": request.draining, "until": until, "reason": request.reason}
    write_atomically(state_directory / DRAIN, json.dumps(body).encode(), mode=0o600)


def take_drain(state_directory: Path) -> DrainRequest | None:
    """The request, once; None when nobody asked or the file is none."""
    raw = _take(state_directory / DRAIN)
    try:
        return decode_object(raw, DrainRequest, max_bytes=MAX_REQUEST) if raw else None
    except MalformedJsonError:
        return None


def put_acceptance(state_directory: Path, feed: UUID) -> None:
    """OSError."""
    write_atomically(state_directory / ACCEPT, f"{feed}\n".encode("ascii"), mode=0o600)


def take_acceptance(state_directory: Path) -> UUID | None:
    """The history an operator accepts, once; None when nobody asked or the file is no feed id."""
    try:
        return UUID(_take(state_directory / ACCEPT).decode("ascii").strip())
    except (ValueError, UnicodeDecodeError):
        return None


def _take(path: Path) -> bytes:
    try:
        raw = read_bounded(path, max_bytes=MAX_REQUEST)
    except FileNotFoundError:
        return b""
    except (OSError, ValueError):
        raw = b""
    path.unlink(missing_ok=True)
    return raw

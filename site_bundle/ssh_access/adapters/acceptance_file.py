"""How `accept-feed` reaches a running agent, which alone writes the journal: one small file in the state
folder.
"""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from site_bundle.kernel.files import read_bounded, write_atomically

NAME = "accept-feed"


def put_request(state_directory: Path, feed: UUID) -> None:
    """Asks the running agent to accept `feed`. OSError."""
    write_atomically(state_directory / NAME, f"{feed}\n".encode("ascii"), mode=0o600)


def take_request(state_directory: Path) -> UUID | None:
    """The feed an operator accepts, once; None when nobody asked or the file is no feed id."""
    path = state_directory / NAME
    try:
        raw = read_bounded(path, max_bytes=100)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raw = b""
    path.unlink(missing_ok=True)
    try:
        return UUID(raw.decode("ascii").strip())
    except (ValueError, UnicodeDecodeError):
        return None

"""Small files that are whole or not there: a temporary file beside it, then rename(2)."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, mode: int) -> None:
    """Replaces `path` by `content` with exactly `mode`. The name never shows a part; a link in its place is
    replaced, not followed. OSError is the caller's to map.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read_bounded(path: Path, *, max_bytes: int) -> bytes:
    """The content of the file `path`, not through a link. OSError, or ValueError when it is longer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{path} is longer than {max_bytes} bytes")
    return content

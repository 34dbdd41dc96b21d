"""How Beto's process is told what to do from another one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def bound_path(path: Path) -> Iterator[str]:
    """A short name of a socket's path, whose own may be longer than a socket address holds (unix(7): 108)."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)

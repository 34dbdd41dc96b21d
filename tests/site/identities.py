"""Who is nobody, and folders that are open to him."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NOBODY = 65534
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def open_to_all(folder: Path) -> None:
    """pytest's folders are the runner's alone; a host's are not."""
    for parent in (folder, *folder.parents):
        if parent not in {Path("/"), Path("/tmp")}:
            parent.chmod(0o755)

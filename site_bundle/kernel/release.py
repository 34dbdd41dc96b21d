"""Which release this process is: from its own environment's folder, never from a link that may have moved."""

from __future__ import annotations

import sys
from pathlib import Path

DEVELOPMENT = "development"


def release_id(prefix: str | None = None) -> str:
    """`<version>-<digest12>` as the installer wrote it into the environment, or `development` outside of
    one.
    """
    try:
        text = (Path(prefix or sys.prefix) / "pharos-release").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return DEVELOPMENT
    return text if text and text.isprintable() and len(text) <= 100 else DEVELOPMENT

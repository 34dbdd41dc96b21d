"""Named statements from a `.sql` file: Python never builds SQL text."""

from __future__ import annotations

import re
from pathlib import Path

_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)


def load_statements(path: Path) -> dict[str, str]:
    """The statements of the file `path` by the name on the `-- name: x` line above each."""
    parts = _NAME.split(path.read_text("utf-8"))
    statements = dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))
    if len(statements) * 2 != len(parts) - 1:
        raise ValueError(f"{path}: a statement's name stands twice")
    return statements

"""Named statements from a `.sql` file: Python never builds SQL text."""

from __future__ import annotations

import re
from importlib.resources import files

_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)


def load_statements(package: str, name: str) -> dict[str, str]:
    """The statements of `name` in `package` by the name on the `-- name: x` line above each."""
    parts = _NAME.split((files(package) / name).read_text("utf-8"))
    statements = dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))
    if len(statements) * 2 != len(parts) - 1:
        raise ValueError(f"{package}/{name}: a statement's name stands twice")
    return statements

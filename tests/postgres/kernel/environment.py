"""What a started process inherits."""

import os


def without_ours() -> dict[str, str]:
    """The run's environment but its own PHAROS_ names, which a process of the product refuses (X6)."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PHAROS_")}

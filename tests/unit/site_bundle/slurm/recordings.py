"""Output recorded on the lab host (Slurm 24.11.5) by `tests.lab.record_slurm`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "recorded"


def recorded(name: str) -> str:
    """Standard output as the client decodes it (A04)."""
    return (FOLDER / f"{name}.txt").read_bytes().decode("utf-8", "replace")


def complaint(name: str) -> tuple[int, str]:
    """Exit status and standard error of a command whose daemon was down."""
    first, _, rest = recorded(f"{name}-down").partition("\n")
    return int(first.removeprefix("exit ")), rest

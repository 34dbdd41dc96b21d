"""What Slurm's commands answer, mapped once."""

from __future__ import annotations

from site_bundle.kernel.errors import UnavailableError


class SlurmUnavailableError(UnavailableError):
    """A command gave no whole answer: never "no associations" or "no jobs" (X1, A29)."""


class UnreadableOutputError(ValueError):
    """Output that is not what the command was asked for; the text names the rule, never the content."""

"""The form of a native command: what is run, and what its output means."""

from __future__ import annotations

from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)

MACHINE_READABLE = ("--noheader", "--parsable2")


class Command(Protocol[T_co]):
    """`argv` begins with the bare name of the program. `parse` is pure: UnreadableOutputError."""

    def argv(self) -> list[str]: ...

    def parse(self, output: str) -> T_co: ...


def lines_of(output: str) -> list[str]:
    """Lines as Slurm ends them: with LF alone, whatever else a text may hold."""
    return [line for line in output.split("\n") if line]

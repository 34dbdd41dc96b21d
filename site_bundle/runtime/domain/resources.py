"""A stage's resources as what sbatch is asked for: exact, or refused (X3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MIB = 1 << 20
_GPU = re.compile(r"gpu\.([a-z0-9][a-z0-9_-]{0,31})", re.ASCII)


class InexactError(ValueError):
    """The amounts are none this Site can ask Slurm for; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """Whole CPUs, MiB, devices by model, and the limit in seconds; on one node."""

    cpus: int
    memory_mib: int
    gpus: tuple[tuple[str, int], ...]
    seconds: int


def asked(resources: Mapping[str, int], seconds: int) -> Asked:
    """InexactError: `cpu_not_whole`, `memory_not_whole`, `component_unknown`."""
    cpus, memory, gpus = resources.get("cpu", 0), resources.get("memory", 0), []
    if cpus < 1000 or cpus % 1000:
        raise InexactError("cpu_not_whole")
    if memory < _MIB or memory % _MIB:
        raise InexactError("memory_not_whole")
    for name, amount in sorted(resources.items()):
        match = _GPU.fullmatch(name)
        if match is not None and amount:
            gpus.append((match[1], amount))
        elif match is None and name not in {"cpu", "memory"}:
            raise InexactError("component_unknown")
    return Asked(cpus // 1000, memory // _MIB, tuple(gpus), seconds)

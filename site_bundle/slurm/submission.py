"""`sbatch` as a member, and `scancel` as the coordinator (S1–S3, A34, A36, A41)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ANSWER = re.compile(r"([1-9][0-9]{0,18})(?:;([A-Za-z0-9][A-Za-z0-9._-]{0,63}))?\n?", re.ASCII)
_VERSION = re.compile(r"slurm(?:-wlm)? ([0-9]{1,3})\.([0-9]{1,2})(?:\.[0-9A-Za-z._-]+)?\n?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """One job on one node. Nothing in the argument list is a secret: accounting shows it to everybody
    (SubmitLine).

    The script goes in on stdin, the environment through the inherited pipe `{descriptor}`: NUL-separated
    NAME=value, which is the whole environment besides what Slurm itself sets (sbatch(1), --export-file).
    """

    name: str
    account: str
    partition: str
    cpus: int
    memory_mib: int
    gpus: Sequence[tuple[str, int]]
    seconds: int
    script: str
    environment: Mapping[str, str]

    def argv(self, descriptor: int) -> list[str]:
        gres = (
            [f"--gres={','.join(f'gpu:{model}:{count}' for model, count in self.gpus)}"] if self.gpus else []
        )
        return [
            "sbatch",
            "--parsable",
            f"--export-file={descriptor}",
            f"--job-name={self.name}",
            f"--comment={self.name}",
            f"--account={self.account}",
            f"--partition={self.partition}",
            "--nodes=1",
            "--ntasks=1",
            f"--cpus-per-task={self.cpus}",
            f"--mem={self.memory_mib}M",
            f"--time={_clock(self.seconds)}",
            *gres,
            "--chdir=/",
            "--input=/dev/null",
            "--output=/dev/null",
        ]

    def exported(self) -> bytes:
        """What goes through the pipe. ValueError for a NUL in a value."""
        if any("\0" in text or "=" in name for name, text in self.environment.items()):
            raise ValueError("an environment that no process can have")
        return b"".join(f"{name}={text}".encode() + b"\0" for name, text in self.environment.items())


def _clock(seconds: int) -> str:
    """D-HH:MM:SS (A20)."""
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}-{hours % 24:02}:{minute:02}:{second:02}"


@dataclass(frozen=True, slots=True)
class Exited:
    """A command that ran to its end: its exit status and both its outputs."""

    status: int
    output: str
    complaint: str


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """`cluster` where sbatch named one (A34)."""

    job_id: str
    cluster: str | None


def submitted_job(exited: Exited) -> SubmittedJob | None:
    """The job of a successful answer; None for any other: it is not known what happened."""
    match = _ANSWER.fullmatch(exited.output)
    if exited.status != 0 or match is None:
        return None
    return SubmittedJob(match[1], match[2])


@dataclass(frozen=True, slots=True)
class CancelJob:
    """One job: a process each, so that one that is gone stops no other (A36). No filter by user, which would
    find nobody who left the directory (A43): whose it is was seen in the queue.
    """

    job_id: str

    def argv(self) -> list[str]:
        return ["scancel", self.job_id]


@dataclass(frozen=True, slots=True)
class ShowVersion:
    """`sbatch --version`: major and minor, None for a form nobody knows."""

    def argv(self) -> list[str]:
        return ["sbatch", "--version"]

    def parse(self, output: str) -> tuple[int, int] | None:
        match = _VERSION.fullmatch(output)
        return (int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True, slots=True)
class ShowConfiguration:
    """`scontrol show config`: the settings by name."""

    def argv(self) -> list[str]:
        return ["scontrol", "show", "config"]

    def parse(self, output: str) -> Mapping[str, str]:
        rows = (line.partition("=") for line in output.split("\n") if "=" in line)
        return {name.strip(): value.strip() for name, _, value in rows}


def auth_parameters(settings: Mapping[str, str]) -> Mapping[str, str]:
    """`AuthAltParameters` of those settings (slurm.conf(5)): `name=value,…`, names in lower case; a word
    alone has no value.
    """
    words = settings.get("AuthAltParameters", "").split(",")
    pairs = (word.partition("=") for word in words if word.strip())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}

"""Runs Slurm's commands: the only place in the room that starts a process.

1. Absolute paths, argument lists, no shell; an environment of its own: C locale, UTC, times as seconds (A04,
   A16, W07, F8). Of the caller's environment only SLURM_CONF is passed on.
2. A command that takes too long, or says too much, is ended with its whole process group (F9).
3. Any other exit status than 0, and any error it speaks of, is SlurmUnavailableError with the first line of
   its complaint: an empty answer counts only from a command that succeeded (A29, A43, W17).
4. Bytes that are no UTF-8 are replaced (A04, F10).
"""

from __future__ import annotations

import fcntl
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from site_bundle.slurm.command import Command
from site_bundle.slurm.comments import ModifyComments
from site_bundle.slurm.errors import SlurmUnavailableError, UnreadableOutputError
from site_bundle.slurm.month_totals import ShowMonth, Totals
from site_bundle.slurm.submission import CancelJob, Exited, SubmitJob

T = TypeVar("T")
_CHUNK = 64 * 1024
_OF_SUBMISSION = frozenset({"LC_ALL", "TZ", "SLURM_CONF"})
_FIXED_PATH = "/usr/bin:/bin"
CUT = "the last line is cut"


@dataclass(frozen=True, slots=True)
class SlurmLimits:
    """Seconds and bytes."""

    command_seconds: float = 60.0
    month_seconds: float = 300.0
    submit_seconds: float = 60.0  # longer than Slurm's own MessageTimeout: its answer is worth waiting for
    output_bytes: int = 64 * 1024 * 1024
    complaint_bytes: int = 4096


class SlurmClient:
    """Slurm's commands in the folder `commands`. `runs` counts the processes started, `programs` by name."""

    def __init__(
        self,
        *,
        commands: Path,
        environment: Mapping[str, str],
        limits: SlurmLimits,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`waiting` surrounds each command: nothing but waiting for it happens inside."""
        self._commands = commands
        own = {"LC_ALL": "C", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "PATH": str(commands)}
        passed = {"SLURM_CONF": environment["SLURM_CONF"]} if environment.get("SLURM_CONF") else {}
        self._environment = own | passed
        self._limits = limits
        self._waiting = waiting
        self.runs = 0
        self.programs: dict[str, int] = {}

    def read(self, command: Command[T]) -> T:
        """What the command says. SlurmUnavailableError."""
        argv = command.argv()
        output = self._output(argv)
        try:
            if output and not output.endswith(b"\n"):
                raise UnreadableOutputError(CUT)
            return command.parse(output.decode("utf-8", "replace"))
        except UnreadableOutputError as error:
            raise _unreadable(argv, error) from error

    def month(self, command: ShowMonth) -> Totals:
        """The sums of a month, without holding its rows. SlurmUnavailableError."""
        argv = command.argv()
        try:
            return command.total(self._lines(argv))
        except UnreadableOutputError as error:
            raise _unreadable(argv, error) from error

    def write(self, command: ModifyComments) -> None:
        """Does what it can of the changes; which became true is to be read back. SlurmUnavailableError when
        the command could not be run to its end.
        """
        for _ in self._run(command.argv(), command.stdin(), self._limits.command_seconds, judged=False):
            pass

    def submit(self, job: SubmitJob, token: str) -> Exited:
        """Submits as whoever `token` names: in this one process's environment and nowhere else (S2, A41).

        SlurmUnavailableError when sbatch gave no whole answer: then it is not known what happened.
        """
        exported, script = job.exported(), job.script.encode()
        given, taken = os.pipe()
        try:
            fcntl.fcntl(taken, fcntl.F_SETPIPE_SZ, max(len(exported), _CHUNK))
            os.write(taken, exported)  # all of it fits, so nobody waits for a reader
        except OSError as error:
            os.close(given)
            raise _refused(["sbatch"], f"its environment: {error.strerror}") from error
        finally:
            os.close(taken)
        environment = {name: text for name, text in self._environment.items() if name in _OF_SUBMISSION}
        environment |= {"SLURM_JWT": token, "PATH": _FIXED_PATH}
        try:
            return self._exited(job.argv(given), script, environment, (given,), self._limits.submit_seconds)
        finally:
            os.close(given)

    def cancel(self, job: CancelJob) -> Exited:
        """What scancel answered. SlurmUnavailableError when it gave no whole answer."""
        return self._exited(job.argv(), b"", self._environment, (), self._limits.command_seconds)

    def _exited(
        self,
        argv: list[str],
        given: bytes,
        environment: Mapping[str, str],
        passed: tuple[int, ...],
        seconds: float,
    ) -> Exited:
        """A command whose exit status is its answer."""
        deadline = time.monotonic() + seconds
        parts = {True: bytearray(), False: bytearray()}
        with self._process(argv, given, environment, passed) as process:
            # A submission is not left halfway because somebody asks us to end: its answer is waited for.
            for is_output, part in _pump(process, given, deadline):
                parts[is_output] += part[: self._limits.complaint_bytes - len(parts[is_output])]
            try:
                status = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise _late(argv) from error
        output, complaint = (bytes(parts[kind]).decode("utf-8", "replace") for kind in (True, False))
        return Exited(status, output, complaint)

    def _output(self, argv: list[str]) -> bytes:
        parts = list(self._run(argv, b"", self._limits.command_seconds))
        return b"".join(parts)

    def _lines(self, argv: list[str]) -> Iterator[str]:
        rest = b""
        for part in self._run(argv, b"", self._limits.month_seconds, bounded=False):
            whole, mark, last = (rest + part).rpartition(b"\n")
            if mark:
                yield from whole.decode("utf-8", "replace").split("\n")
            rest = last
            if len(rest) > self._limits.complaint_bytes * 16:
                raise UnreadableOutputError("a line without an end")
        if rest:
            raise UnreadableOutputError(CUT)

    def _run(
        self, argv: list[str], given: bytes, seconds: float, *, judged: bool = True, bounded: bool = True
    ) -> Iterator[bytes]:
        """The standard output in parts, as they come."""
        deadline = time.monotonic() + seconds
        complaint = bytearray()
        size = 0
        with self._process(argv, given, self._environment) as process, self._waiting():
            for is_output, part in _pump(process, given, deadline):
                if not is_output:
                    complaint += part[: self._limits.complaint_bytes - len(complaint)]
                    continue
                size += len(part)
                if bounded and size > self._limits.output_bytes:
                    raise _refused(argv, f"more than {self._limits.output_bytes} bytes")
                yield part
            try:
                status = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise _late(argv) from error
        if judged and (status != 0 or _complains(argv, complaint)):
            raise _refused(argv, f"exit {status}: {_first_line(bytes(complaint))}")

    @contextmanager
    def _process(
        self,
        argv: list[str],
        given: bytes,
        environment: Mapping[str, str],
        passed: tuple[int, ...] = (),
    ) -> Iterator[subprocess.Popen[bytes]]:
        try:
            process = subprocess.Popen(
                [str(self._commands / argv[0]), *argv[1:]],
                stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                pass_fds=passed,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise SlurmUnavailableError(
                "slurm_command_missing",
                found=f"{self._commands / argv[0]}: {error.strerror}",
                wanted="Slurm's commands in the configured folder",
                remedy="correct slurm.commands in the profile",
            ) from error
        self.runs += 1
        self.programs[argv[0]] = self.programs.get(argv[0], 0) + 1
        try:
            yield process
        finally:
            _end(process)


def _pump(process: subprocess.Popen[bytes], given: bytes, deadline: float) -> Iterator[tuple[bool, bytes]]:
    """Feeds stdin and reads both outputs as they come: (whether standard output, bytes)."""
    assert process.stdout is not None and process.stderr is not None  # noqa: S101 - asked for above
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        ready.register(process.stderr, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            ready.register(process.stdin, selectors.EVENT_WRITE)
        while ready.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise _late([str(process.args[0])] if isinstance(process.args, list) else [])
            for key, _ in ready.select(left):
                if key.fileobj is process.stdin:
                    given = _feed(process, given)
                    if not given:
                        ready.unregister(process.stdin)
                        process.stdin.close()
                    continue
                part = os.read(key.fd, _CHUNK)
                if part:
                    yield key.fileobj is process.stdout, part
                else:
                    ready.unregister(key.fileobj)


def _feed(process: subprocess.Popen[bytes], given: bytes) -> bytes:
    assert process.stdin is not None  # noqa: S101 - registered only when asked for
    try:
        return given[os.write(process.stdin.fileno(), given[:_CHUNK]) :]
    except BrokenPipeError:
        return b""  # it ended early; its exit status and the state itself tell


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of the command and of what it started; its id is its own until it is waited for."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


def _complains(argv: list[str], complaint: bytes | bytearray) -> bool:
    """Whether the command speaks of an error: with exit 0 its answer is then less than was asked for."""
    mark = f"{argv[0]}: error:".encode()
    return any(line.startswith(mark) for line in complaint.split(b"\n"))


def _first_line(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").strip().split("\n")[0][:200]
    return "".join(letter if letter.isprintable() else "?" for letter in text) or "no reason given"


def _refused(argv: list[str], found: str) -> SlurmUnavailableError:
    return SlurmUnavailableError(
        "slurm_unavailable",
        found=f"{argv[0]}: {found}",
        wanted="a whole answer",
        remedy="look at slurmctld and slurmdbd; it is tried again",
    )


def _late(argv: list[str]) -> SlurmUnavailableError:
    return SlurmUnavailableError(
        "slurm_timeout",
        found=f"{Path(argv[0]).name} did not end in time",
        wanted="a whole answer",
        remedy="look at slurmctld and slurmdbd; it is tried again",
    )


def _unreadable(argv: list[str], error: UnreadableOutputError) -> SlurmUnavailableError:
    return SlurmUnavailableError(
        "slurm_output_unreadable",
        found=f"{argv[0]}: {error}",
        wanted="the output of the asked fields",
        remedy="compare the version of Slurm with those this release was tried with (24.11)",
    )

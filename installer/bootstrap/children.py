"""Runs the programs that build an environment: nothing of the caller's environment, no input, bounded time.

Every child inherits the lock's descriptor on purpose: one that outlives us still blocks the next run (row
43). A child does not outlive the call that started it, unless the process itself is killed.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from installer.bootstrap.errors import refusal

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a child ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """How children are run: ``scratch`` is for their temporary files, the seconds are for all of one call."""

    scratch: Path
    lock_fd: int | None = None
    timeout_seconds: float = 900.0

    def run(self, *commands: Command) -> list[Outcome]:
        """Run ``commands`` at the same time and wait for all. Raises Refusal ``environment_pip`` after the
        bound, OSError when one cannot be started; what was started is ended and waited for then.
        """
        started: list[subprocess.Popen[str]] = []
        until = time.monotonic() + self.timeout_seconds
        try:
            for command in commands:
                started.append(self._start(command))
            return [_outcome(child, until) for child in started]
        except subprocess.TimeoutExpired as error:
            found = f"{error.cmd[0]}: no end after {self.timeout_seconds:.0f} s"
            raise refusal("environment_pip", found=found, wanted="an environment") from error
        finally:
            for child in started:
                _end(child)

    def _start(self, command: Command) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [os.fspath(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd="/",
            env=_environment(self.scratch),
            umask=0o022,
            pass_fds=() if self.lock_fd is None else (self.lock_fd,),
        )


def _outcome(child: subprocess.Popen[str], until: float) -> Outcome:
    stdout, stderr = child.communicate(timeout=max(0.0, until - time.monotonic()))
    return Outcome(child.returncode, stdout, stderr)


def _end(child: subprocess.Popen[str]) -> None:
    """Kill what still runs; a child that has ended is left alone."""
    if child.poll() is None:
        child.kill()
        child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def _environment(scratch: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "TMPDIR": os.fspath(scratch),
        "PIP_CONFIG_FILE": "/dev/null",
        "PYTHONDONTWRITEBYTECODE": "1",
    }

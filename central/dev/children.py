"""The stack's processes: each with a log of its own, stopped in reverse, none left behind."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_STOP_SECONDS: Final = 25


class ChildFailed(Exception):
    """A process ended or never became ready; the message holds the end of its log."""


@dataclass(slots=True)
class Child:
    """One running process."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]

    def tail(self) -> str:
        """The end of its log, for people."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-1500:]


@dataclass(slots=True)
class Children:
    """Those started so far, in order."""

    logs: Path
    running: list[Child] = field(default_factory=list)

    def start(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Child:
        """Starts `python ARGUMENTS`; it is sent SIGTERM should this process die without a word."""
        log = self.logs / f"{name}.log"
        child = Child(name, _started(arguments, environment, log), log, arguments, environment)
        self.running.append(child)
        return child

    def start_again(self, child: Child) -> None:
        """Starts one that ended as it was started before, in its place."""
        child.process = _started(child.arguments, child.environment, child.log)

    def wait_until(self, child: Child, ready: Callable[[], bool], seconds: float) -> None:
        """Polls `ready`. Raises `ChildFailed` when the child ends first or the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if child.process.poll() is not None:
                raise ChildFailed(f"{child.name} ended with {child.process.returncode}: {child.tail()}")
            if ready():
                return
            time.sleep(0.05)
        raise ChildFailed(f"{child.name} was not ready within {seconds:g} s: {child.tail()}")

    def ended(self) -> Child | None:
        """The first process that is no longer running."""
        return next((child for child in self.running if child.process.poll() is not None), None)

    def stop(self) -> None:
        """Stops all, the last first; one that does not end in time is killed."""
        for child in reversed(self.running):
            if child.process.poll() is None:
                child.process.terminate()
        for child in reversed(self.running):
            try:
                child.process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
        self.running.clear()


def _started(
    arguments: Sequence[str], environment: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=_die_with_parent(),  # noqa: PLW1509 - this process has one thread
        )


def _die_with_parent() -> Callable[[], None]:
    """Loads libc before the fork: after it, only async-signal-safe work is allowed."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def set_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return set_signal

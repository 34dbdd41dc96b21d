"""Processes by identity, and commands with their output in the error.

A pid alone is no identity: it is used again. Pid, start time and boot together are one
(proc_pid_stat(5), field 22).
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import CommandFailedError, LabError
from tests.lab.limits import LIMITS


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one boot; ``started`` in clock ticks since that boot."""

    pid: int
    started: int
    boot: str


def boot_id() -> str:
    """Which boot of this machine this is (random(4))."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identify(pid: int) -> ProcessIdentity | None:
    """The living process of that number; None when there is none.

    A zombie has ended: a PID 1 that reaps rarely keeps it for seconds.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] in "ZX":
        return None
    return ProcessIdentity(pid=pid, started=int(fields[19]), boot=boot_id())


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether exactly this process still runs."""
    return identify(identity.pid) == identity


def myself() -> ProcessIdentity:
    """The identity of the calling process."""
    identity = identify(os.getpid())
    if identity is None:
        raise LabError("/proc does not show this process: mount /proc")
    return identity


def children(pid: int) -> list[int]:
    """Pids of the direct children of ``pid``'s main thread; empty when it has ended."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def wait_until(condition: Callable[[], bool], seconds: float, *, every: float = 0.02) -> bool:
    """Ask ``condition`` until it holds; False when ``seconds`` passed without."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(every)
    return True


def run(
    argv: Sequence[str],
    *,
    input: bytes | None = None,
    check: bool = True,
    timeout: float = LIMITS.command,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``argv`` to its end, with everything it started ended at the timeout.

    Raises CommandFailedError with the output when ``check`` and the status is not 0.
    """
    with subprocess.Popen(
        argv,
        stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=env,
    ) as process:
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired as error:
            raise LabError(f"no end within {timeout:g} s: {' '.join(argv)}") from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    done = subprocess.CompletedProcess(
        list(argv), process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    )
    if check and done.returncode != 0:
        raise CommandFailedError(done.args, done.returncode, done.stdout, done.stderr)
    return done

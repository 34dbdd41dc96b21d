"""Runs native commands: argv only, a scrubbed environment, a deadline, an own session so that ^C does not
reach them.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SCRUBBED: dict[str, str] = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
OUTPUT_LIMIT = 1024 * 1024


class CommandError(Exception):
    """A command could not be run to its end: not there, not executable, or past its deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What a command answered."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAs:
    """An unprivileged identity a command runs as, with no other group than ``groups``."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


class Runner(Protocol):
    """Runs one command; tests give a fake."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        run_as: RunAs | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        """The command's answer. Raises CommandError."""
        ...


def run_command(
    argv: Sequence[str],
    *,
    timeout: float,
    stdin: bytes = b"",
    run_as: RunAs | None = None,
    environment: Mapping[str, str] | None = None,
) -> Completed:
    """Run ``argv`` for at most ``timeout`` seconds. Raises CommandError."""
    identity: dict[str, object] = {}
    if run_as is not None and os.geteuid() == 0:
        identity = {"user": run_as.uid, "group": run_as.gid, "extra_groups": list(run_as.groups)}
    try:
        done = subprocess.run(
            list(argv),
            input=stdin,
            capture_output=True,
            timeout=timeout,
            env={**SCRUBBED, **(environment or {})},
            cwd="/",
            start_new_session=True,
            check=False,
            **identity,  # type: ignore[call-overload]
        )
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{argv[0]}: no answer within {timeout:.0f} s") from error
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandError(f"{argv[0]}: {reason}") from error
    return Completed(code=done.returncode, stdout=_text(done.stdout), stderr=_text(done.stderr))


def _text(data: bytes) -> str:
    return data[:OUTPUT_LIMIT].decode("utf-8", errors="replace")

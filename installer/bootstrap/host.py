"""What the host and the running interpreter are, and whether releases can run on them (I6; rows 22 and 23).

The interpreter judges itself: it is the one that will run everything, found by install.sh by running it.
"""

import importlib.util
import os
import platform
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from installer.bootstrap.errors import refusal

FOR_ANYBODY = frozenset({"status"})
_MODULES = ("ssl", "venv", "ctypes", "zlib", "sqlite3")


@dataclass(frozen=True, slots=True)
class Host:
    """Facts: ``python`` is major.minor, ``libc`` what it calls itself, ``missing`` standard modules that
    are absent.
    """

    executable: Path
    implementation: str
    python: str
    full_version: str
    free_threaded: bool
    in_environment: bool
    missing: tuple[str, ...]
    machine: str
    libc: str


def read_host() -> Host:
    """The facts of this process and machine."""
    return Host(
        executable=Path(sys.executable),
        implementation=platform.python_implementation(),
        python=f"{sys.version_info[0]}.{sys.version_info[1]}",
        full_version=platform.python_version(),
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        in_environment=sys.prefix != sys.base_prefix or _beside_environment(Path(sys.executable)),
        missing=tuple(name for name in _MODULES if not _importable(name)),
        machine=platform.machine(),
        libc=_libc(),
    )


def check_interpreter(host: Host, *, wanted: str) -> None:
    """Raises Refusal ``host_interpreter`` unless it is CPython ``wanted``, whole, with its lock, outside
    environments.
    """
    faults = {
        f"Python {host.full_version}": host.python != wanted,
        host.implementation: host.implementation != "CPython",
        "a free-threaded build": host.free_threaded,
        "a virtual environment": host.in_environment,
        f"no module {', '.join(host.missing)}": bool(host.missing),
    }
    found = [text for text, at_fault in faults.items() if at_fault]
    if found:
        raise refusal(
            "host_interpreter",
            found=f"{host.executable}: {'; '.join(found)}",
            wanted=f"the host's own CPython {wanted} with {', '.join(_MODULES)}",
        )


def check_root(user: int, phase: str) -> None:
    """Raises Refusal ``host_not_root`` unless effective user id ``user`` is root, or ``phase`` is for all.

    Asked first of all: what another user finds missing or unreadable need not be so (I1, row 40).
    """
    if user != 0 and phase not in FOR_ANYBODY:
        raise refusal("host_not_root", found=f"user {user}", wanted=f"root, for {phase}")


def check_machine(host: Host, *, architecture: str, glibc: str) -> None:
    """Raises Refusal ``host_architecture`` or ``host_libc``, naming both sides."""
    if host.machine != architecture:
        raise refusal("host_architecture", found=host.machine, wanted=architecture)
    match = re.fullmatch(r"glibc (\d+)\.(\d+)", host.libc)
    wanted = tuple(int(part) for part in glibc.split("."))
    if match is None or (int(match[1]), int(match[2])) < wanted:
        raise refusal("host_libc", found=host.libc, wanted=f"glibc {glibc} or newer")


def _importable(name: str) -> bool:
    """Whether the module runs, not only whether a file of that name lies there."""
    if importlib.util.find_spec(name) is None:
        return False
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "no glibc"
    except (ValueError, OSError):
        return "no glibc"


def _beside_environment(executable: Path) -> bool:
    """Whether it is an environment's interpreter; without site packages ``sys.prefix`` does not tell."""
    return any((folder / "pyvenv.cfg").exists() for folder in executable.parents[:2])

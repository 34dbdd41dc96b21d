"""Builds one Python environment at its final path from wheels of a verified archive, with no network (I5).

1. The wheels the requirements file names, and pip's own, are written to a scratch folder from the sealed
   archive.
2. The environment is made without pip (it cannot be moved afterwards, so it is made where it stays).
3. pip runs from its own wheel: isolated, no configuration, no index, no cache, complete hashes, wheels
   only, no resolving.
4. Modules are compiled with checked hashes, so no time stamp decides whether bytecode is stale.
5. ``pip check`` must be content, but for the overrides the manifest records.
6. ``pharos-release`` tells the process which release it is; the console script's entry point must import.

The folder is not sealed here: see ``installer.bootstrap.seal``. Row 21: no variable of the caller reaches a
child.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from installer.bootstrap.archive import WHEELS, VerifiedArchive
from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.bootstrap.errors import refusal
from installer.domain.manifest import Override
from installer.domain.refusal import Refusal
from installer.domain.requirements import RequirementsError, normalise, parse_wheel_name

RELEASE_FILE: Final = "pharos-release"
_CHECK_LINE: Final = re.compile(
    r"(?P<package>\S+) \S+ has requirement (?P<field>.+), but you have (?P<have>\S+ \S+)\."
)
_SMOKE: Final = (
    "import sys; from importlib.metadata import entry_points; "
    "found = entry_points(group='console_scripts', name=sys.argv[1]) or sys.exit('no such script'); "
    "[entry.load() for entry in found]"
)
_WORDS: Final = 600
_LINES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """What to build. ``path`` is final and does not exist; ``requirements`` is a path in the archive.

    ``scratch`` is a folder to make, fill with wheels and remove. ``lock_fd`` is inherited by every child on
    purpose: a pip that outlives us still blocks the next run (row 43).
    """

    path: Path
    interpreter: Path
    requirements: str
    scratch: Path
    console_script: str
    lock_fd: int | None = None
    timeout_seconds: float = 900.0


def build_environment(
    spec: EnvironmentSpec,
    archive: VerifiedArchive,
    *,
    checkpoint: Checkpoint = no_checkpoint,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Make the environment. Points: unpack, venv, pip, compile, check, smoke. Raises Refusal
    ``environment_*``, ``storage_failed``.
    """
    if spec.path.is_symlink() or spec.path.exists():
        raise refusal("environment_exists", found=str(spec.path), wanted="no such folder yet")
    try:
        wheels = archive.wheels_of(spec.requirements)
        pip = _pip_wheel(archive)
    except RequirementsError as error:
        raise refusal(
            "archive_requirements", found=str(error), wanted="one wheel a line, and pip's own"
        ) from error
    progress(f"{len(wheels)} wheels for {spec.path}")
    try:
        checkpoint("before-unpack")
        if spec.scratch.exists():
            shutil.rmtree(spec.scratch)
        spec.scratch.mkdir(mode=0o700)
        archive.extract(sorted({*wheels, pip, spec.requirements}), spec.scratch)
        checkpoint("after-unpack")
        _build(spec, archive, spec.scratch / pip / "pip", checkpoint)
        shutil.rmtree(spec.scratch)
    except OSError as error:
        _forget(spec)
        raise refusal("storage_failed", found=f"{spec.path}: {error}", wanted="an environment") from error
    except BaseException:
        _forget(spec)
        raise


def _build(spec: EnvironmentSpec, archive: VerifiedArchive, pip: Path, checkpoint: Checkpoint) -> None:
    python = spec.path / "bin" / "python"

    def step(name: str, code: str, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        checkpoint(f"before-{name}")
        outcome = _run(spec, command)
        if code and outcome.returncode != 0:
            raise _failed(code, name, outcome)
        checkpoint(f"after-{name}")
        return outcome

    venv = ["-I", "-m", "venv", "--without-pip", "--symlinks"]
    step("venv", "environment_venv", [spec.interpreter, *venv, spec.path])
    install: list[str | Path] = ["--no-index", "--find-links", spec.scratch / WHEELS, "--require-hashes"]
    install += ["--no-deps", "--only-binary", ":all:", "--no-compile", "--no-warn-script-location"]
    install += ["--requirement", spec.scratch / spec.requirements]
    step("pip", "environment_pip", [python, "-I", pip, *_PIP_OPTIONS, "install", "--quiet", *install])
    packages = sorted((spec.path / "lib").glob("python3.*/site-packages"))
    compileall: list[str | Path] = [
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "checked-hash",
        *packages,
    ]
    step("compile", "environment_pip", [python, "-I", *compileall])
    (spec.path / RELEASE_FILE).write_text(f"{archive.release_id}\n", encoding="ascii")
    (spec.path / RELEASE_FILE).chmod(0o644)
    _accept(step("check", "", [python, "-I", pip, *_PIP_OPTIONS, "check"]), archive.manifest.overrides)
    step("smoke", "environment_broken", [python, "-I", "-B", "-c", _SMOKE, spec.console_script])


_PIP_OPTIONS: Final = ("--isolated", "--no-input", "--disable-pip-version-check", "--no-cache-dir")


def _forget(spec: EnvironmentSpec) -> None:
    """Give the space back after a failure; what cannot be removed has no seal and is removed by the next
    run.
    """
    for folder in (spec.scratch, spec.path):
        shutil.rmtree(folder, ignore_errors=True)


def _accept(outcome: subprocess.CompletedProcess[str], overrides: Iterable[Override]) -> None:
    """Every complaint of ``pip check`` is exactly a recorded override, or the environment is refused (I5)."""
    if outcome.returncode == 0:
        return
    recorded = {(normalise(override.package), override.field) for override in overrides}
    complaints = [line.strip() for line in outcome.stdout.splitlines() if line.strip()]
    for line in complaints:
        match = _CHECK_LINE.fullmatch(line)
        if match is None or (normalise(match["package"]), match["field"]) not in recorded:
            raise refusal(
                "environment_incomplete", found=line, wanted="a complete set, or a recorded override"
            )
    if not complaints:
        raise _failed("environment_incomplete", "pip check", outcome)


def _pip_wheel(archive: VerifiedArchive) -> str:
    found = [
        path for path in archive.paths(WHEELS) if parse_wheel_name(path.removeprefix(WHEELS)).name == "pip"
    ]
    if len(found) != 1:
        raise RequirementsError(f"{len(found)} wheels of pip")
    return found[0]


def _run(spec: EnvironmentSpec, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [os.fspath(part) for part in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd="/",
            env=_environment(spec.scratch),
            umask=0o022,
            pass_fds=() if spec.lock_fd is None else (spec.lock_fd,),
            timeout=spec.timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        text = f"no end after {spec.timeout_seconds:.0f} s"
        raise refusal("environment_pip", found=f"{command[0]}: {text}", wanted="an environment") from error


def _environment(scratch: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "TMPDIR": os.fspath(scratch),
        "PIP_CONFIG_FILE": "/dev/null",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _failed(code: str, name: str, outcome: subprocess.CompletedProcess[str]) -> Refusal:
    lines = [line.strip() for line in (outcome.stdout + outcome.stderr).splitlines() if line.strip()]
    words = " | ".join(lines[-_LINES:])[-_WORDS:]
    text = "".join(character if character.isprintable() else "?" for character in words)
    return refusal(code, found=f"{name} ended with {outcome.returncode}: {text}", wanted="it to succeed")

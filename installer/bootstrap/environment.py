"""Builds one Python environment at its final path from wheels of a verified archive, with no network (I5).

1. The wheels the requirements file names are written to a scratch folder from the sealed archive; pip is
   unpacked from its own wheel, unless this process runs from the controller that keeps it.
2. The environment is made without pip (it cannot be moved afterwards, so it is made where it stays).
3. pip runs isolated: no configuration, no index, no cache, complete hashes, wheels only, no resolving. It is
   the tool that builds and does not become part of what is built.
4. Modules are compiled with checked hashes, so no time stamp decides whether bytecode is stale.
5. ``pip check`` must be content, but for the overrides the manifest records.
6. ``pharos-release`` tells the process which release it is; the console script's entry point must import.

The folder is not sealed here: see ``installer.bootstrap.seal``. Row 21: no variable of the caller reaches a
child.
"""

import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from installer.bootstrap.archive import WHEELS, VerifiedArchive
from installer.bootstrap.bytecode import adopt_bytecode, compile_commands, stage_modules
from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.bootstrap.children import Children, Command, Outcome
from installer.bootstrap.errors import refusal
from installer.bootstrap.pip_tool import NAME as PIP
from installer.bootstrap.pip_tool import RELEASE_FILE, TOOLS, kept_tools, pip_command, unpack_pip
from installer.domain.manifest import Override
from installer.domain.refusal import Refusal
from installer.domain.requirements import (
    RequirementsError,
    format_requirements,
    normalise,
    parse_requirements,
    parse_wheel_name,
)

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

    ``scratch`` is a folder to make, fill and remove, on the file system of ``path``. ``lock_fd`` is inherited
    by every child (row 43). ``keep_tools`` leaves the unpacked pip in ``tools/``, for who runs from here.
    """

    path: Path
    interpreter: Path
    requirements: str
    scratch: Path
    console_script: str
    lock_fd: int | None = None
    timeout_seconds: float = 900.0
    keep_tools: bool = False


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
    build = _Build(spec, archive, checkpoint)
    try:
        checkpoint("before-unpack")
        wheels = build.unpack()
        checkpoint("after-unpack")
        progress(f"{wheels} wheels for {spec.path}")
        build.make()
        shutil.rmtree(spec.scratch)
    except RequirementsError as error:
        _forget(spec)
        raise refusal(
            "archive_requirements", found=str(error), wanted="one wheel a line, and pip's own"
        ) from error
    except OSError as error:
        _forget(spec)
        raise refusal("storage_failed", found=f"{spec.path}: {error}", wanted="an environment") from error
    except BaseException:
        _forget(spec)
        raise


class _Build:
    """One build under way."""

    __slots__ = ("archive", "checkpoint", "children", "python", "spec", "tools", "unpacked")

    def __init__(self, spec: EnvironmentSpec, archive: VerifiedArchive, checkpoint: Checkpoint) -> None:
        self.spec = spec
        self.archive = archive
        self.checkpoint = checkpoint
        self.children = Children(
            scratch=spec.scratch, lock_fd=spec.lock_fd, timeout_seconds=spec.timeout_seconds
        )
        self.python = spec.path / "bin" / "python"
        self.unpacked = spec.scratch / TOOLS
        self.tools = self.unpacked

    @property
    def requirements(self) -> Path:
        """What pip is asked to install: the archive's file, without pip."""
        return self.spec.scratch / "requirements.txt"

    @property
    def stage(self) -> Path:
        """Where modules of the wheels are compiled while pip installs them."""
        return self.spec.scratch / "modules"

    @property
    def packages(self) -> Path:
        """The environment's site-packages; the venv is there."""
        (found,) = (self.spec.path / "lib").glob("python3.*/site-packages")
        return found

    def unpack(self) -> int:
        """Fill the scratch folder; how many wheels there are."""
        scratch = self.spec.scratch
        wheels = [
            path
            for path in self.archive.wheels_of(self.spec.requirements)
            if parse_wheel_name(path.removeprefix(WHEELS)).name != PIP
        ]
        if scratch.exists():
            shutil.rmtree(scratch)
        scratch.mkdir(mode=0o700)
        self.archive.extract(wheels, scratch, sync=False)
        self.stage.mkdir()
        for path in wheels:
            stage_modules(self.archive.read(path), self.stage)
        listed = parse_requirements(self.archive.read(self.spec.requirements).decode("ascii"))
        kept = format_requirements(entry for entry in listed if entry.name != PIP)
        self.requirements.write_text(kept, encoding="ascii")
        self._find_pip()
        return len(wheels)

    def _find_pip(self) -> None:
        kept = None if self.spec.keep_tools else kept_tools(self.archive)
        if kept is not None:
            self.tools = kept
        else:
            unpack_pip(self.archive, self.unpacked)

    def make(self) -> None:
        """Everything from the empty path to a finished environment."""
        spec, point = self.spec, self.checkpoint
        point("before-venv")
        venv: Command = [spec.interpreter, "-I", "-m", "venv", "--without-pip", "--symlinks", spec.path]
        _succeeded("environment_venv", "venv", self.children.run(venv))
        point("after-venv")
        point("before-pip")
        if self.tools == self.unpacked:
            _succeeded("environment_pip", "pip", self.children.run(*self._compiling_pip()))
        install: list[str | Path] = ["--no-index", "--find-links", spec.scratch / WHEELS, "--require-hashes"]
        install += ["--no-deps", "--only-binary", ":all:", "--no-compile", "--no-warn-script-location"]
        install += ["--requirement", self.requirements]
        pip = pip_command(self.python, self.tools, "install", "--quiet", *install)
        installed, *_ = self.children.run(pip, *self._compiling_stage())
        _succeeded("environment_pip", "pip", [installed])
        point("after-pip")
        point("before-compile")
        self._compile()
        point("after-compile")
        (spec.path / RELEASE_FILE).write_text(f"{self.archive.release_id}\n", encoding="ascii")
        (spec.path / RELEASE_FILE).chmod(0o644)
        self._judge()
        if spec.keep_tools:
            self.unpacked.rename(spec.path / TOOLS)
        point("after-smoke")

    def _compiling_pip(self) -> list[Command]:
        lists = self.spec.scratch / "pip.list"
        return compile_commands(self.python, self.unpacked.rglob("*.py"), lists, strip=self.unpacked)

    def _compiling_stage(self) -> list[Command]:
        lists, stage = self.spec.scratch / "stage.list", self.stage
        modules = stage.rglob("*.py")
        return compile_commands(self.python, modules, lists, strip=stage, prepend=self.packages)

    def _compile(self) -> None:
        """Adopt what was compiled meanwhile, and compile what is left; a module that cannot be refuses."""
        adopted = adopt_bytecode(self.stage, self.packages)
        left = (path for path in self.packages.rglob("*.py") if path not in adopted)
        commands = compile_commands(self.python, left, self.spec.scratch / "left.list")
        _succeeded("environment_pip", "compile", self.children.run(*commands))

    def _judge(self) -> None:
        """``pip check`` and the console script's import only read, so they run at the same time."""
        self.checkpoint("before-check")
        check = pip_command(self.python, self.tools, "check")
        smoke: Command = [self.python, "-I", "-B", "-c", _SMOKE, self.spec.console_script]
        checked, smoked = self.children.run(check, smoke)
        _accept(checked, self.archive.manifest.overrides)
        self.checkpoint("after-check")
        self.checkpoint("before-smoke")
        _succeeded("environment_broken", "smoke", [smoked])


def _forget(spec: EnvironmentSpec) -> None:
    """Give the space back after a failure; what cannot be removed has no seal and is removed by the next
    run.
    """
    for folder in (spec.scratch, spec.path):
        shutil.rmtree(folder, ignore_errors=True)


def _accept(outcome: Outcome, overrides: Iterable[Override]) -> None:
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


def _succeeded(code: str, name: str, outcomes: Iterable[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.returncode != 0:
            raise _failed(code, name, outcome)


def _failed(code: str, name: str, outcome: Outcome) -> Refusal:
    lines = [line.strip() for line in (outcome.stdout + outcome.stderr).splitlines() if line.strip()]
    words = " | ".join(lines[-_LINES:])[-_WORDS:]
    text = "".join(character if character.isprintable() else "?" for character in words)
    return refusal(code, found=f"{name} ended with {outcome.returncode}: {text}", wanted="it to succeed")

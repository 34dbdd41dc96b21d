"""Builds one Python environment at its final path from the requirements of a verified archive (I5).

1. The wheels the requirements file names are written to a scratch folder from the sealed archive; pip is
   unpacked from its own wheel, unless this process runs from the controller that keeps it.
2. The environment is made without pip (it cannot be moved afterwards, so it is made where it stays).
3. pip runs isolated: no configuration, no cache, complete hashes, wheels only, no resolving; no index, or the
   one approved HTTPS index of a release that was built so, and nothing but it (``worker.py``). pip is the
   tool that builds and does not become part of what is built. In the same process ``pip check`` must be
   content, but for the overrides the manifest records.
4. Modules are compiled with checked hashes, so no time stamp decides whether bytecode is stale: while pip
   installs, or taken from the controller that has compiled the same module (``bytecode.py``).
5. ``pharos-release`` tells the process which release it is; the console script's entry point must import.

The folder is not sealed here: see ``installer.bootstrap.seal``. Row 21: no variable of the caller reaches a
child.
"""

import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

from installer.bootstrap.archive import WHEELS, VerifiedArchive
from installer.bootstrap.bytecode import adopt_bytecode, compile_command, modules_of
from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.bootstrap.children import Children, Command, Outcome
from installer.bootstrap.errors import index_refusal, refusal
from installer.bootstrap.handoff import AUTHORITY
from installer.bootstrap.inputs import HOST_TRUST, Trust, read_input
from installer.bootstrap.outcomes import accept, after_install, succeeded
from installer.bootstrap.pip_tool import NAME as PIP
from installer.bootstrap.pip_tool import (
    RELEASE_FILE,
    TOOLS,
    PipRun,
    kept_tools,
    pip_command,
    same_interpreter,
    unpack_pip,
)
from installer.domain.index import Index
from installer.domain.requirements import (
    Requirement,
    RequirementsError,
    format_requirements,
    parse_requirements,
    parse_wheel_name,
)

_AUTHORITY_LIMIT: Final = 1024 * 1024
_SMOKE: Final = (
    "import sys; from importlib.metadata import entry_points; "
    "found = entry_points(group='console_scripts', name=sys.argv[1]) or sys.exit('no such script'); "
    "[entry.load() for entry in found]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """What to build. ``path`` is final and does not exist; ``requirements`` is a path in the archive.

    ``scratch`` is a folder to make, fill and remove, on the file system of ``path``. ``lock_fd`` is inherited
    by every child (row 43). ``keep_tools`` leaves the unpacked pip in ``tools/``, for who runs from here.
    ``index`` is what a release of dependency mode ``index`` needs, and no other takes; ``trust`` says who may
    own its authority.
    """

    path: Path
    interpreter: Path
    requirements: str
    scratch: Path
    console_script: str
    lock_fd: int | None = None
    timeout_seconds: float = 900.0
    keep_tools: bool = False
    index: Index | None = None
    trust: Trust = HOST_TRUST


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
    if (archive.manifest.dependency_mode == "index") != (spec.index is not None):
        raise index_refusal(archive.manifest.dependency_mode)
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


@dataclass(slots=True)
class _Compiling:
    """What is compiled from which wheel, what this controller has compiled already, what nobody imports."""

    staged: dict[Path, list[str]] = field(default_factory=dict)
    at_hand: list[str] = field(default_factory=list)
    never: set[str] = field(default_factory=set)


class _Build:
    """One build under way."""

    __slots__ = ("archive", "checkpoint", "children", "python", "spec", "tools", "wheels")

    def __init__(self, spec: EnvironmentSpec, archive: VerifiedArchive, checkpoint: Checkpoint) -> None:
        self.spec = spec
        self.archive = archive
        self.checkpoint = checkpoint
        self.children = Children(
            scratch=spec.scratch, lock_fd=spec.lock_fd, timeout_seconds=spec.timeout_seconds
        )
        self.python = spec.path / "bin" / "python"
        self.tools = spec.scratch / TOOLS
        self.wheels: tuple[str, ...] = ()

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
        return _packages(self.spec.path)

    def unpack(self) -> int:
        """Fill the scratch folder; how many wheels there are."""
        scratch = self.spec.scratch
        self.wheels = tuple(
            path
            for path in self.archive.wheels_of(self.spec.requirements)
            if parse_wheel_name(path.removeprefix(WHEELS)).name != PIP
        )
        if scratch.exists():
            shutil.rmtree(scratch)
        scratch.mkdir(mode=0o700)
        self.archive.extract(self.wheels, scratch, sync=False)
        self.stage.mkdir()
        listed = parse_requirements(self.archive.read(self.spec.requirements).decode("ascii"))
        kept = [entry for entry in listed if entry.name != PIP]
        text = format_requirements(kept) if self.spec.index is None else self._from_index(kept)
        self.requirements.write_text(text, encoding="ascii")
        tools = None if self.spec.keep_tools else kept_tools(self.archive)
        if tools is None:
            unpack_pip(self.archive, self.tools)
        else:
            self.tools = tools
        return len(self.wheels)

    def make(self) -> None:
        """Everything from the empty path to a finished environment."""
        spec, point = self.spec, self.checkpoint
        point("before-venv")
        venv: Command = [spec.interpreter, "-I", "-m", "venv", "--without-pip", "--symlinks", spec.path]
        succeeded("environment_venv", "venv", self.children.run(venv))
        point("after-venv")
        point("before-pip")
        plan = self._plan_compiling()
        run = PipRun(
            tools=self.tools,
            words=self._install(),
            keep=spec.keep_tools,
            origin=spec.index.origin if spec.index else "",
        )
        pip = pip_command(self.python, spec.scratch / "pip.json", run)
        job = compile_command(self.python, spec.scratch / "stage.json", self.stage, plan.staged)
        installed, compiled = self.children.run(pip, job)
        checked = after_install(installed)
        point("after-pip")
        point("before-compile")
        succeeded("environment_pip", "compile", [compiled])
        self._compile(plan)
        point("after-compile")
        (spec.path / RELEASE_FILE).write_text(f"{self.archive.release_id}\n", encoding="ascii")
        (spec.path / RELEASE_FILE).chmod(0o644)
        self._judge(checked)
        if spec.keep_tools:
            self.tools.rename(spec.path / TOOLS)
        point("after-smoke")

    def _from_index(self, wanted: Iterable[Requirement]) -> str:
        """The requirements, those whose wheel the archive holds by that wheel's path: no index is asked."""
        held = {parse_wheel_name(path.removeprefix(WHEELS)).name: path for path in self.wheels}
        return "".join(
            f"{self.spec.scratch / held[entry.name]} --hash=sha256:{entry.sha256}\n"
            if entry.name in held
            else format_requirements([entry])
            for entry in wanted
        )

    def _install(self) -> list[str | Path]:
        index = self.spec.index
        words: list[str | Path] = ["install", "--quiet", "--require-hashes", "--no-deps"]
        words += ["--only-binary", ":all:", "--no-compile", "--no-warn-script-location"]
        words += ["--requirement", self.requirements]
        if index is None:
            return [*words, "--no-index", "--find-links", self.spec.scratch / WHEELS]
        words += ["--index-url", index.url, "--keyring-provider", "disabled", "--retries", "2"]
        # With an own authority, the system's store vouches for nobody.
        if index.ca_file:
            words += ["--cert", self._authority(index), "--use-deprecated", "legacy-certs"]
        return words

    def _authority(self, index: Index) -> Path:
        """A copy of the index's authority: what was judged is what pip reads (rows 17, 18)."""
        data = read_input(
            Path(index.ca_file),
            what=f"{AUTHORITY} of the index",
            size_limit=_AUTHORITY_LIMIT,
            trust=self.spec.trust,
        )
        copy = self.spec.scratch / "index-ca.pem"
        copy.write_bytes(data)
        return copy

    def _plan_compiling(self) -> _Compiling:
        controller: set[str] = set()
        if self.tools != self.spec.scratch / TOOLS and same_interpreter(self.spec.interpreter):
            controller = set(self.archive.wheels_of(self.archive.manifest.controller_requirements))
        plan = _Compiling()
        for path in self.wheels:
            modules = modules_of(self.archive.read(path), self.spec.console_script)
            at_hand = _compiled_here(modules.own) if path in controller else set()
            plan.at_hand += sorted(at_hand)
            plan.staged[self.spec.scratch / path] = [name for name in modules.own if name not in at_hand]
            plan.never.update(modules.others)
        return plan

    def _compile(self, plan: _Compiling) -> None:
        """Adopt what was compiled meanwhile or before, and compile what is left; a module that cannot be
        refuses.
        """
        staged = [name for names in plan.staged.values() for name in names]
        done = adopt_bytecode(self.stage, self.packages, staged, move=True)
        if plan.at_hand:  # a host's own Python, which the bootstrap runs on, need not have such a folder
            done |= adopt_bytecode(_packages(Path(sys.prefix)), self.packages, plan.at_hand, move=False)
        every = {path.relative_to(self.packages).as_posix() for path in self.packages.rglob("*.py")}
        left = {self.packages: sorted(every - done - plan.never)}
        if left[self.packages]:
            job = compile_command(self.python, self.spec.scratch / "left.json", self.packages, left)
            succeeded("environment_pip", "compile", self.children.run(job))

    def _judge(self, checked: Outcome) -> None:
        """What ``pip check`` said, and whether the console script can be imported."""
        self.checkpoint("before-check")
        accept(checked, self.archive.manifest.overrides)
        self.checkpoint("after-check")
        self.checkpoint("before-smoke")
        smoke: Command = [self.python, "-I", "-B", "-c", _SMOKE, self.spec.console_script]
        succeeded("environment_broken", "smoke", self.children.run(smoke))


def _packages(environment: Path) -> Path:
    (found,) = (environment / "lib").glob("python3.*/site-packages")
    return found


def _compiled_here(names: Iterable[str]) -> set[str]:
    """Which of ``names`` the environment this process runs from has compiled."""
    packages = _packages(Path(sys.prefix))
    return {name for name in names if Path(cache_from_source(packages / name)).is_file()}


def _forget(spec: EnvironmentSpec) -> None:
    """Give the space back after a failure; what cannot be removed has no seal and is removed by the next
    run.
    """
    for folder in (spec.scratch, spec.path):
        shutil.rmtree(folder, ignore_errors=True)

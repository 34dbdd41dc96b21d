"""Runs inside the lab host under the installed controller's interpreter: one JSON object of figures.

``on_host.py WHAT ARGUMENTS…``; it uses the installer as installed, never this checkout. A figure is in
seconds (wall) or in kB (resident memory) and is the median of the rounds, taken in turn.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

SCRATCH = Path("/var/tmp/pharos-bench")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def timed(action: Callable[[], object]) -> float:
    begin = perf_counter()
    action()
    return perf_counter() - begin


def rounds(count: int, actions: dict[str, Callable[[], float]]) -> dict[str, float]:
    figures: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(count):
        for name, action in actions.items():
            figures[name].append(action())
    return {name: median(values) for name, values in figures.items()}


def run(*argv: str | Path) -> None:
    subprocess.run(argv, check=True, **QUIET)  # type: ignore[call-overload]


BUILD = """
import sys
sys.path[:0] = [path for path in sys.argv[1:2] if path]
from pathlib import Path
from installer.bootstrap.archive import open_verified
from installer.bootstrap.environment import EnvironmentSpec, build_environment
_, _, archive, signers, interpreter, folder, *names = sys.argv
with open_verified(Path(archive), allowed_signers=Path(signers)) as verified:
    for name in names:
        controller = name == "controller"
        spec = EnvironmentSpec(
            path=Path(folder, name), interpreter=Path(interpreter), requirements=f"requirements/{name}.txt",
            console_script="pharos-installer" if controller else f"pharos-{name}",
            scratch=Path(folder, ".wheels"), keep_tools=controller,
        )
        build_environment(spec, verified)
"""


def environments(folder: str, archive: str, interpreter: str, count: str) -> dict[str, float]:
    """Every environment of a release: the installer's own way, and venv with its own pip.

    The installer's way is two processes: the bootstrap, out of the extracted folder and without site
    packages, builds the controller; the controller builds the components. Each verifies the archive first.
    """
    source = Path(folder)
    lists = sorted((source / "requirements").glob("*.txt"))
    components = [listed.stem for listed in lists if listed.stem != "controller"]
    given = (archive, "/etc/pharos-hpc/allowed_signers", interpreter, SCRATCH)

    def ours() -> None:
        run(interpreter, "-I", "-S", "-B", "-c", BUILD, folder, *given, "controller")
        run(SCRATCH / "controller/bin/python", "-I", "-c", BUILD, "", *given, *components)

    def plain() -> None:
        for listed in lists:
            path = SCRATCH / f"plain-{listed.stem}"
            run(interpreter, "-m", "venv", path)
            pip = (path / "bin/pip", "install", "--quiet", "--no-index", "--find-links", source / "wheels")
            run(*pip, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", listed)

    def fresh(action: Callable[[], None]) -> Callable[[], float]:
        def measure() -> float:
            shutil.rmtree(SCRATCH, ignore_errors=True)
            SCRATCH.mkdir(parents=True)
            try:
                return timed(action)
            finally:
                shutil.rmtree(SCRATCH)

        return measure

    figures = rounds(int(count), {"ours_s": fresh(ours), "venv_pip_s": fresh(plain)})
    return {**figures, "environments": float(len(lists))}


def verification(release: str, count: str) -> dict[str, float]:
    """Verify an installed release, and ``sha256sum`` of the same files."""
    from installer.bootstrap.seal import verify_seal

    root = Path(release)
    argv = ("sh", "-c", 'find "$0" -type f -print0 | xargs -0 sha256sum', str(root))
    actions = {
        "verify_s": lambda: timed(lambda: verify_seal(root)),
        "sha256sum_s": lambda: timed(lambda: run(*argv)),
    }
    return rounds(int(count), actions)


def starting(script: str, interpreter: str, count: str) -> dict[str, float]:
    """A component's ``--version``, and a bare interpreter."""
    actions = {
        "version_s": lambda: timed(lambda: run(script, "--version")),
        "python_s": lambda: timed(lambda: run(interpreter, "-I", "-c", "pass")),
    }
    return rounds(int(count), actions)


def resident(pid: str, interpreter: str, count: str) -> dict[str, float]:
    """Resident memory of a running process, and of a bare interpreter."""
    code = "print(open('/proc/self/status').read())"

    def kilobytes(text: str) -> float:
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS:")))

    def bare() -> float:
        done = subprocess.run([interpreter, "-I", "-c", code], check=True, capture_output=True, text=True)
        return kilobytes(done.stdout)

    actions = {"agent_kb": lambda: kilobytes(Path(f"/proc/{pid}/status").read_text()), "python_kb": bare}
    return rounds(int(count), actions)


if __name__ == "__main__":
    measures: dict[str, Callable[..., dict[str, float]]] = {
        "environments": environments,
        "verification": verification,
        "starting": starting,
        "resident": resident,
    }
    print(json.dumps(measures[sys.argv[1]](*sys.argv[2:])))

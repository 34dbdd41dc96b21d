"""install.sh under the shells hosts have, with the interpreters hosts have (I6; rows 21, 23)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELLS = [["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"]]
BOOTSTRAP = """
import os, sys
def main():
    print("bootstrap", *sys.argv[1:], sep="|")
    print("flags", sys.flags.isolated, sys.flags.no_site, sys.dont_write_bytecode, sys.path[-1])
    print("path", os.environ["PATH"])
"""


@pytest.fixture(params=SHELLS, ids=lambda command: "_".join(command).replace("--", ""))
def shell(request: pytest.FixtureRequest) -> list[str]:
    """A shell's command line; absent shells are an error of the machine, not a skip."""
    command: list[str] = request.param
    assert shutil.which(command[0]), f"{command[0]} is not installed: run tests/setup.sh"
    return command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An extracted folder, with a bootstrap that tells how it was called; its name has a space."""
    root = tmp_path / "the release"
    (root / "installer" / "bootstrap").mkdir(parents=True)
    (root / "installer" / "__init__.py").touch()
    (root / "installer" / "bootstrap" / "__init__.py").touch()
    (root / "installer" / "bootstrap" / "main.py").write_text(BOOTSTRAP, encoding="utf-8")
    shutil.copy(ROOT / "install.sh", root)
    return root


def python(folder: Path, body: str) -> Path:
    """A fake interpreter."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def real(folder: Path) -> Path:
    """This machine's interpreter in the role of the wanted one: it says 3.13 when asked."""
    return python(folder, f'case "$*" in *sysconfig*) echo 3.13 ;; *) exec {sys.executable} "$@" ;; esac')


def run(
    shell: list[str], folder: Path, *arguments: str, env: dict[str, str] | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    command = [*shell, os.fspath(folder / "install.sh"), *arguments]
    environment = {"PATH": os.environ["PATH"], **(env or {})}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload, no-any-return]


def test_arguments_reach_the_bootstrap_untouched(shell: list[str], folder: Path) -> None:
    arguments = ["install", "", "a b", "--", "*", "$HOME", "-n", "new\nline"]
    outcome = run(shell, folder, *arguments, env={"PHAROS_PYTHON": os.fspath(real(folder.parent))})
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.startswith("|".join(["bootstrap", os.fspath(folder), *arguments]) + "\n")
    assert f"flags 1 1 True {folder}" in outcome.stdout
    assert not list(folder.rglob("__pycache__"))


def test_it_runs_from_its_own_folder_and_through_a_relative_name(shell: list[str], folder: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "PHAROS_PYTHON": os.fspath(real(folder.parent)), "CDPATH": "/"}
    for name in ("install.sh", "./install.sh"):
        outcome = subprocess.run(
            [*shell, name, "status"], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert outcome.stdout.startswith(f"bootstrap|{folder}|status\n"), outcome.stderr


INTERPRETERS = {
    "absent": ("", "ended with 127"),
    "shim_that_fails": (
        "echo 'pyenv: python3.13: command not found' >&2; exit 127",
        "pyenv: python3.13: command not found",
    ),
    "older": ("echo 3.12", "3.12"),
    "newer": ("echo 3.14", "3.14"),
    "free_threaded": ("echo 3.13t", "3.13t"),
    "without_ssl": (
        "echo \"ModuleNotFoundError: No module named '_ssl'\" >&2; exit 1",
        "No module named '_ssl'",
    ),
    "without_venv": (
        "echo \"ModuleNotFoundError: No module named 'venv'\" >&2; exit 1",
        "No module named 'venv'",
    ),
    "silent": ("exit 0", "python: "),
    "killed": ("kill -9 $$", "ended with 137"),
    "chatty": ("echo 3.13; echo more", "more"),
    "not_executable": (None, "ermission denied"),
}


@pytest.mark.parametrize("name", INTERPRETERS)
def test_row23_interpreter_is_refused_with_what_it_said(shell: list[str], folder: Path, name: str) -> None:
    body, said = INTERPRETERS[name]
    path = folder.parent / "python"
    if body is None:
        path.write_bytes(b"\x7fELF")
    elif body:
        python(folder.parent, body)
    outcome = run(shell, folder, "install", env={"PHAROS_PYTHON": os.fspath(path)})
    assert outcome.returncode == 10
    assert outcome.stdout == ""
    assert os.fspath(path) in outcome.stderr
    assert said in outcome.stderr
    assert "host_interpreter" in outcome.stderr and "PHAROS_PYTHON=" in outcome.stderr


def test_row23_the_probe_is_what_a_real_interpreter_understands() -> None:
    """Here the interpreter is real: what it answers is its own version, and no other release is taken for
    3.13.
    """
    probe = (ROOT / "install.sh").read_text(encoding="utf-8").split("PROBE='")[1].split("'\n")[0]
    outcome = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.strip() == f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_row21_hostile_path_odd_umask_closed_stdin_and_variables(shell: list[str], folder: Path) -> None:
    """A `python3.13`, `tail` or `dirname` of a hostile PATH entry is never run; no variable changes the
    outcome.
    """
    hostile = folder.parent / "hostile"
    hostile.mkdir()
    for tool in ("python3.13", "python3", "tail", "cd", "pwd", "printf", "dirname", "id", "uname"):
        path = hostile / tool
        path.write_text(f"#!/bin/sh\ntouch {hostile}/ran\n", encoding="utf-8")
        path.chmod(0o755)
    environment = {
        "PATH": f"{hostile}:.:{os.environ['PATH']}",
        "PHAROS_PYTHON": os.fspath(real(folder.parent)),
        "PYTHONPATH": os.fspath(hostile),
        "PYTHONHOME": "/nonexistent",
        "PYTHONSTARTUP": os.fspath(hostile / "tail"),
        "IFS": "/",
        "LANG": "tr_TR.UTF-8",
        "TERM": "dumb",
        "ENV": os.fspath(hostile / "tail"),
    }
    program = shutil.which(shell[0])
    assert program is not None
    command = [program, *shell[1:], os.fspath(folder / "install.sh"), "status"]
    for mask in (0o077, 0o000):
        outcome = subprocess.run(
            ["/bin/sh", "-c", 'umask "$0"; exec "$@" <&-', f"{mask:03o}", *command],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert outcome.stdout.startswith(f"bootstrap|{folder}|status\n"), outcome.stderr
        assert "path /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n" in outcome.stdout
    assert not (hostile / "ran").exists()


def test_a_cut_download_does_nothing(shell: list[str], folder: Path) -> None:
    """The body is a function called in the last line: any shorter file runs nothing."""
    text = (folder / "install.sh").read_text(encoding="utf-8")
    assert text.rstrip().endswith('\nmain "$@"')
    ran = folder.parent / "ran"
    fake = python(folder.parent, f"touch {ran}")
    for size in range(0, len(text) - len('main "$@"\n') + 1, 97):
        (folder / "install.sh").write_text(text[:size], encoding="utf-8")
        run(shell, folder, "install", env={"PHAROS_PYTHON": os.fspath(fake)})
        assert not ran.exists(), f"cut after {size} characters it did something"


def test_it_is_small_and_clean() -> None:
    assert len((ROOT / "install.sh").read_text(encoding="utf-8").splitlines()) < 80
    assert os.access(ROOT / "install.sh", os.X_OK)
    subprocess.run(["dash", "-n", ROOT / "install.sh"], check=True)
    subprocess.run(["shellcheck", "--shell=sh", "--severity=style", ROOT / "install.sh"], check=True)

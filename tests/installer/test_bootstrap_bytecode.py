"""Bytecode of a stage is adopted for exactly the same source, and says where it will lie (B01, B11)."""

import importlib.util
import marshal
import subprocess
import sys
import zipfile
from pathlib import Path
from types import CodeType

import pytest

from installer.bootstrap.bytecode import adopt_bytecode, compile_commands, stage_modules
from tests.installer.archives import wheel

PYTHON = Path(sys.executable)
MODULES = {"a.py": "A = 1\n", "p/__init__.py": "", "p/b.py": "def b():\n    return 2\n", "p/data.txt": "text"}


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """A wheel's modules, staged and compiled for ``packages``."""
    folder = tmp_path / "stage"
    stage_modules(wheel("thing", modules=MODULES)[1], folder)
    packages = tmp_path / "packages"
    lists = tmp_path / "list"
    for command in compile_commands(PYTHON, folder.rglob("*.py"), lists, strip=folder, prepend=packages):
        subprocess.run(command, check=True)
    return folder


def install(packages: Path) -> None:
    for name, text in MODULES.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text, encoding="ascii")


def test_the_same_sources_get_it(stage: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install(packages)
    assert adopt_bytecode(stage, packages) == {packages / name for name in MODULES if name.endswith(".py")}
    data = Path(importlib.util.cache_from_source(packages / "p" / "b.py")).read_bytes()
    source = (packages / "p" / "b.py").read_bytes()
    assert data[4:16] == b"\x03\0\0\0" + importlib.util.source_hash(source), "PEP 552: a checked hash"
    code = marshal.loads(data[16:])
    assert isinstance(code, CodeType) and code.co_filename == str(packages / "p" / "b.py")


def test_another_or_a_missing_source_gets_nothing(stage: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install(packages)
    (packages / "a.py").write_text("A = 2\n", encoding="ascii")
    (packages / "p" / "b.py").unlink()
    assert adopt_bytecode(stage, packages) == {packages / "p" / "__init__.py"}
    assert [path.name.split(".")[0] for path in packages.rglob("*.pyc")] == ["__init__"]


def test_names_that_leave_the_stage_and_no_wheels_are_left_to_pip(tmp_path: Path) -> None:
    path = tmp_path / "wheel"
    with zipfile.ZipFile(path, "w") as content:
        for name in ("../evil.py", "/evil.py", "x-1.data/purelib/y.py", "good.py"):
            content.writestr(zipfile.ZipInfo(name), "")
    stage = tmp_path / "stage"
    stage_modules(path.read_bytes(), stage)
    stage_modules(b"no wheel", stage)
    assert [found.relative_to(tmp_path).as_posix() for found in tmp_path.rglob("*.py")] == ["stage/good.py"]


def test_who_compiles_what_depends_on_names_and_sizes_alone(tmp_path: Path) -> None:
    paths = []
    for number in range(9):
        paths.append(tmp_path / f"m{number}.py")
        paths[-1].write_text("#" * (number % 4), encoding="ascii")

    def lists(found: list[Path]) -> list[str]:
        commands = compile_commands(PYTHON, found, tmp_path / "list")
        return [Path(command[-1]).read_text(encoding="utf-8") for command in commands]

    first = lists(paths)
    assert len(first) == 2 and sorted("".join(first).splitlines()) == [str(path) for path in paths]
    assert lists(paths[::-1]) == first
    assert compile_commands(PYTHON, [], tmp_path / "list") == []

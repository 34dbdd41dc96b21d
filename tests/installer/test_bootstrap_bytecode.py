"""Bytecode: a function of the source, adopted for exactly that source, of one house alone (I5, B01, B11)."""

import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from installer.bootstrap.bytecode import Modules, adopt_bytecode, compile_command, modules_of
from installer.bootstrap.worker import bytecode
from tests.installer.archives import wheel

PYTHON = Path(sys.executable)
MODULES = {
    "a.py": "A = 1\n",
    "p/__init__.py": "",
    "p/b.py": "def b():\n    raise ValueError\n",
    "p/data.txt": "text",
}
NAMES = ("a.py", "p/__init__.py", "p/b.py")


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """A wheel's modules, compiled."""
    folder = tmp_path / "stage"
    packed = tmp_path / "thing.whl"
    packed.write_bytes(wheel("thing", modules=MODULES)[1])
    subprocess.run(compile_command(PYTHON, tmp_path / "job", folder, {packed: NAMES}), check=True)
    return folder


def install(packages: Path) -> None:
    for name, text in MODULES.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text, encoding="ascii")


@pytest.mark.parametrize("move", [True, False])
def test_the_same_sources_get_it(stage: Path, tmp_path: Path, move: bool) -> None:
    packages = tmp_path / "packages"
    install(packages)
    assert adopt_bytecode(stage, packages, NAMES, move=move) == set(NAMES)
    data = Path(importlib.util.cache_from_source(packages / "p" / "b.py")).read_bytes()
    source = (packages / "p" / "b.py").read_bytes()
    assert data[4:16] == b"\x03\0\0\0" + importlib.util.source_hash(source), "PEP 552: a checked hash"
    assert len(list(stage.rglob("*.pyc"))) == (0 if move else len(NAMES))


def test_a_traceback_names_the_real_file(stage: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install(packages)
    adopt_bytecode(stage, packages, NAMES, move=True)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import p.b; print(p.b.__cached__, p.b.b.__code__)"
    said = subprocess.run(
        [PYTHON, "-I", "-B", "-c", code, packages], capture_output=True, text=True, check=True
    )
    assert str(packages / "p" / "__pycache__") in said.stdout
    assert f'file "{packages}/p/b.py"' in said.stdout


def test_another_or_a_missing_source_gets_nothing(stage: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install(packages)
    (packages / "a.py").write_text("A = 2\n", encoding="ascii")
    (packages / "p" / "b.py").unlink()
    assert adopt_bytecode(stage, packages, NAMES, move=False) == {"p/__init__.py"}
    assert [path.name.split(".")[0] for path in packages.rglob("*.pyc")] == ["__init__"]


def test_bytecode_of_another_python_gets_nothing(stage: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install(packages)
    found = Path(importlib.util.cache_from_source(stage / "a.py"))
    found.write_bytes(b"\0\0\r\n" + found.read_bytes()[4:])
    assert adopt_bytecode(stage, packages, NAMES, move=False) == {"p/__init__.py", "p/b.py"}


def test_B11_what_an_interpreter_shares_changes_no_byte(tmp_path: Path) -> None:
    source = b"def compare(first, second):\n    return {'shared name': (first, 'shared name', 3.5, 2**80)}\n"
    alone = bytecode(source, "m.py")[0]
    kept = [bytecode(source, "m.py")[1] for _ in range(3)]
    assert kept and bytecode(source, "m.py")[0] == alone
    code = "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import worker; " \
        "sys.stdout.buffer.write(worker.bytecode(sys.stdin.buffer.read(), 'm.py')[0])"  # fmt: skip
    folder = Path(importlib.import_module("installer.bootstrap.worker").__file__ or "").parent
    other = subprocess.run([PYTHON, "-I", "-S", "-c", code, folder], input=source, capture_output=True)
    assert other.stdout == alone


def test_a_module_that_cannot_be_compiled_is_named_and_the_others_are(tmp_path: Path) -> None:
    packed = tmp_path / "bad.whl"
    packed.write_bytes(wheel("bad", modules={"good.py": "", "bad.py": "def\n", "nul.py": "\0"})[1])
    command = compile_command(
        PYTHON, tmp_path / "job", tmp_path / "s", {packed: ("bad.py", "nul.py", "good.py")}
    )
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert [line.split(":")[0] for line in ended.stderr.splitlines()] == ["bad.py", "nul.py"]
    assert [path.name.split(".")[0] for path in (tmp_path / "s").rglob("*.pyc")] == ["good"]
    assert json.loads((tmp_path / "job").read_bytes())["stage"] == str(tmp_path / "s")


def test_names_that_leave_the_folder_and_no_wheels_are_left_to_pip(tmp_path: Path) -> None:
    path = tmp_path / "wheel"
    with zipfile.ZipFile(path, "w") as content:
        for name in ("../evil.py", "/evil.py", "x-1.data/purelib/y.py", "good.py"):
            content.writestr(zipfile.ZipInfo(name), "")
    assert modules_of(path.read_bytes(), "pharos-installer") == Modules(("good.py",), ())
    assert modules_of(b"no wheel", "pharos-installer") == Modules()


def test_only_the_house_of_the_console_script_is_compiled() -> None:
    modules = {
        "installer/__init__.py": "",
        "installer/cli.py": "",
        "site_bundle/x.py": "",
        "installers.py": "",
    }
    built = wheel("ours", modules=modules, scripts={"pharos-installer": "installer.cli:main"})[1]
    ours = modules_of(built, "pharos-installer")
    assert ours == Modules(
        ("installer/__init__.py", "installer/cli.py"), ("site_bundle/x.py", "installers.py")
    )
    assert modules_of(built, "another").others == (), "who has no such script is a dependency: all of it"

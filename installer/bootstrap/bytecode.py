"""Which modules of an environment are compiled, from what, and where their bytecode comes to lie.

1. Modules are compiled from the wheels while pip installs these, by ``worker.py``, and adopted afterwards:
   only for a source of exactly the hash the bytecode is bound to.
2. What the controller of the same release has compiled already is copied from there, for a wheel that both
   have: equal bytes of a module give equal bytecode (``worker.py``).
3. Of the wheel that holds the console script, the script's own top package alone is compiled: the other house
   is never run from this environment.
"""

import configparser
import contextlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Final

from installer.bootstrap.children import Command

WORKER: Final = Path(__file__).with_name("worker.py")
_HASH: Final = slice(8, 16)


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules of one wheel: those to be compiled, and those of the other house (rule 3)."""

    own: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def modules_of(wheel: bytes, console_script: str) -> Modules:
    """The modules that ``wheel`` puts into an environment. What is no wheel, or has names that leave the
    folder, is left to pip, which refuses it.
    """
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(wheel)) as content:
        names = [name for name in content.namelist() if _is_module(name)]
        house = _house(content, console_script)
        own = tuple(name for name in names if house is None or Path(name).parts[0] == house)
        return Modules(own, tuple(name for name in names if name not in own))
    return Modules()


def compile_command(python: Path, job: Path, stage: Path, modules: Mapping[Path, Iterable[str]]) -> Command:
    """The command that compiles ``modules`` (wheel or folder to names) into ``stage``; writes ``job``."""
    wheels = {str(origin): list(names) for origin, names in modules.items()}
    job.write_text(json.dumps({"stage": str(stage), "wheels": wheels}), encoding="ascii")
    return [python, "-I", "-S", "-B", WORKER, "compile", job]


def adopt_bytecode(compiled: Path, packages: Path, names: Iterable[str], *, move: bool) -> set[str]:
    """Give the sources ``names`` of ``packages`` their bytecode from ``compiled``; those that have it now.

    A source that is not there, or has another hash, gets nothing.
    """
    adopted: set[str] = set()
    for name in names:
        found, place = (Path(cache_from_source(root / name)) for root in (compiled, packages))
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            data = found.read_bytes()
            if not data.startswith(MAGIC_NUMBER) or data[_HASH] != source_hash(
                (packages / name).read_bytes()
            ):
                continue
            if not place.parent.is_dir():
                place.parent.mkdir()
                place.parent.chmod(0o755)
            if move:
                found.replace(place)
            else:
                shutil.copyfile(found, place)
                place.chmod(0o644)
            adopted.add(name)
    return adopted


def _is_module(name: str) -> bool:
    parts = Path(name).parts
    return name.endswith(".py") and not {"..", "/"}.intersection(parts) and ".data" not in parts[0]


def _house(content: zipfile.ZipFile, console_script: str) -> str | None:
    """The top package of ``console_script``, when ``content`` declares it."""
    declared = [name for name in content.namelist() if name.endswith(".dist-info/entry_points.txt")]
    if len(declared) != 1:
        return None
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(content.read(declared[0]).decode("utf-8"))
        target = parser.get("console_scripts", console_script, fallback=None)
    except (configparser.Error, UnicodeDecodeError):
        return None
    return None if target is None else target.partition(":")[0].strip().partition(".")[0]

"""A program of its own: the interpreter of an environment under construction runs this file, which imports
nothing of the installer.

``worker.py compile JOB``: compile modules, each from its wheel, into a stage. JOB is a JSON file
``{"stage": folder, "wheels": {wheel or folder: [module, …]}}``. Exit 1 names every module that cannot be.

``worker.py pip TOOLS MARK WORD…``: run pip out of the folder TOOLS with the words, say MARK on stdout, then
run ``pip check``. One process for both: most of pip's time is its own start. ``keep`` before TOOLS leaves the
bytecode of the modules pip imported beside them.

Bytecode has checked hashes (PEP 552), so no time stamp decides whether it is stale, and is a function of the
module's bytes and name alone: names are relative (an import puts the real path in), and marshal's version 2
writes no references, which depend on what the interpreter happened to share.
"""

import importlib
import json
import marshal
import sys
import zipfile
from collections.abc import Callable, Sequence
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed.importlib import PathEntryFinderProtocol

_CHECKED: Final = b"\x03\0\0\0"
_MARSHAL: Final = 2
PIP_OPTIONS: Final = ("--isolated", "--no-input", "--disable-pip-version-check", "--no-cache-dir")


def bytecode(source: bytes, name: str) -> tuple[bytes, CodeType]:
    """The file that Python looks for, and the code in it. Raises SyntaxError, ValueError."""
    code: CodeType = compile(source, name, "exec", dont_inherit=True)
    return MAGIC_NUMBER + _CHECKED + source_hash(source) + marshal.dumps(code, _MARSHAL), code


def compile_job(job: Path) -> int:
    """Write the bytecode of every module of the job into its stage; the exit code."""
    wanted = json.loads(job.read_bytes())
    stage, faults = Path(wanted["stage"]), 0
    for origin, names in wanted["wheels"].items():
        read = _reader(Path(origin))
        for name in names:
            try:
                data, _ = bytecode(read(name), name)
            except (SyntaxError, ValueError) as error:
                sys.stderr.write(f"{name}: {error}\n")
                faults += 1
                continue
            place = Path(cache_from_source(stage / name))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    return 1 if faults else 0


def _reader(origin: Path) -> Callable[[str], bytes]:
    if origin.is_dir():
        return lambda name: (origin / name).read_bytes()
    return zipfile.ZipFile(origin).read


def run_pip(tools: Path, mark: str, words: Sequence[str], *, keep: bool) -> int:
    """``pip`` with ``words``, and ``pip check`` when that succeeded; the exit code."""
    sys.path.insert(0, str(tools))
    if keep:
        sys.path_hooks.insert(0, _keeping(tools))
    importlib.import_module("pip._internal.commands.check")  # pip wants it loaded before it installs
    main: Callable[[list[str]], int] = importlib.import_module("pip._internal.cli.main").main
    status = main([*PIP_OPTIONS, *words])
    if status == 0:
        sys.stdout.write(f"{mark}\n")
        sys.stdout.flush()
        status = main([*PIP_OPTIONS, "check"])
    return status


def _keeping(tools: Path) -> "Callable[[str], PathEntryFinderProtocol]":
    """A hook for the import path: modules below ``tools`` leave their bytecode, whatever -B says."""

    class Keeping(SourceFileLoader):
        def get_code(self, fullname: str) -> CodeType | None:
            path = Path(self.get_filename(fullname))
            data, code = bytecode(path.read_bytes(), path.relative_to(tools).as_posix())
            place = Path(cache_from_source(path))
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
            return code

    make = FileFinder.path_hook((Keeping, SOURCE_SUFFIXES))

    def hook(path: str) -> "PathEntryFinderProtocol":
        if not Path(path).is_relative_to(tools):
            raise ImportError(path)
        return make(path)

    return hook


def run(arguments: Sequence[str]) -> int:
    """The exit code of the verb and its words."""
    verb, *words = arguments
    if verb == "compile":
        return compile_job(Path(words[0]))
    keep = words[0] == "keep"
    tools, mark, *pip_words = words[1:] if keep else words
    return run_pip(Path(tools), mark, pip_words, keep=keep)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

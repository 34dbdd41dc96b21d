"""A program of its own: the interpreter of an environment under construction runs this file, which imports
nothing of the installer.

``worker.py compile JOB``: compile modules, each from its wheel, into a stage. JOB is a JSON file
``{"stage": folder, "wheels": {wheel or folder: [module, …]}}``. Exit 1 names every module that cannot be.

``worker.py pip JOB``: run pip out of a folder, say a mark on stdout, then run ``pip check``. JOB is a JSON
file ``{"tools": folder, "words": [word, …], "mark": text, "keep": bool, "origin": text}``. One process for
both: most of pip's time is its own start. With ``keep`` the modules pip imported leave their bytecode beside
them. With an ``origin`` (``https://host:port``) no other is ever asked, whatever a redirect or a page says.

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
from typing import Any, Final
from urllib.parse import urlsplit

_CHECKED: Final = b"\x03\0\0\0"
_MARSHAL: Final = 2
_PORTS: Final = {"https": 443, "http": 80}
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


def pip_job(job: Path) -> int:
    """``pip`` as the job says, and ``pip check`` when that succeeded; the exit code."""
    wanted = json.loads(job.read_bytes())
    tools = Path(wanted["tools"])
    sys.path.insert(0, str(tools))
    if wanted["keep"]:
        sys.path_hooks.insert(0, _keeping(tools))
    importlib.import_module("pip._internal.commands.check")  # pip wants it loaded before it installs
    main: Callable[[list[str]], int] = importlib.import_module("pip._internal.cli.main").main
    if wanted["origin"]:
        _ask_only(wanted["origin"])
    status = main([*PIP_OPTIONS, *wanted["words"]])
    if status == 0:
        sys.stdout.write(f"{wanted['mark']}\n")
        sys.stdout.flush()
        status = main([*PIP_OPTIONS, "check"])
    return status


class OtherOriginError(Exception):
    """A request that is not for the approved index; pip handles none of this kind."""


def _ask_only(origin: str) -> None:
    """Every request of pip, and of each redirect it would follow, goes through this one method."""
    session = importlib.import_module("pip._vendor.requests.sessions").Session
    send = session.send

    def guarded(self: object, request: Any, **options: Any) -> object:
        parts = urlsplit(request.url)
        asked = f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 0)}"
        if asked != origin:
            raise OtherOriginError(f"the index leads to {asked}, which is not the approved {origin}")
        return send(self, request, **options)

    session.send = guarded


def _keeping(tools: Path) -> Callable[[str], Any]:
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

    def hook(path: str) -> Any:
        if not Path(path).is_relative_to(tools):
            raise ImportError(path)
        return make(path)

    return hook


def run(arguments: Sequence[str]) -> int:
    """The exit code of the verb and its job."""
    verb, job = arguments
    return compile_job(Path(job)) if verb == "compile" else pip_job(Path(job))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

"""The profile's interpreter, judged by running it (I6; rows 14, 23): what it prints counts, not its name."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from installer.host.commands import CommandError, Runner

_FACTS = (
    "import importlib.util as u,json,platform,sys,sysconfig;"
    "print(json.dumps({'python':'%d.%d'%sys.version_info[:2],'full':platform.python_version(),"
    "'implementation':platform.python_implementation(),'machine':platform.machine(),"
    "'threaded':bool(sysconfig.get_config_var('Py_GIL_DISABLED')),'virtual':sys.prefix!=sys.base_prefix,"
    "'libc':' '.join(platform.libc_ver()),"
    "'missing':[m for m in ('ssl','venv','ctypes','zlib','sqlite3') if u.find_spec(m) is None]}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """What the interpreter says of itself."""

    python: str
    full: str
    implementation: str
    machine: str
    threaded: bool
    virtual: bool
    libc: str
    missing: tuple[str, ...]

    def fault(self, wanted: str) -> str | None:
        """Why it is not a whole CPython ``wanted`` of the host's own, or None."""
        if self.implementation != "CPython" or self.python != wanted:
            return f"it is {self.implementation} {self.full}"
        if self.threaded:
            return "it is a free-threaded build"
        if self.virtual:
            return "it belongs to a virtual environment"
        return f"it lacks {', '.join(self.missing)}" if self.missing else None


def ask_interpreter(run: Runner, path: Path, *, timeout: float) -> Interpreter | str:
    """Its facts, or what running it came to."""
    try:
        done = run([os.fspath(path), "-I", "-B", "-c", _FACTS], timeout=timeout)
    except CommandError as error:
        return str(error)
    if done.code != 0:
        words = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        return f"{path} exits {done.code} and says: {words[:200]}"
    try:
        return msgspec.convert(json.loads(done.stdout), Interpreter)
    except (ValueError, msgspec.ValidationError):
        return f"{path} answers with something else than its facts"

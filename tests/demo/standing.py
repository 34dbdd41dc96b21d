"""The demo that stands on this machine: where its things are, and their end.

One a machine. What is written down is written before the thing is made, so that ``--down`` finds it
after any interruption.
"""

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.journeys.central import stop
from tests.lab.errors import LabError
from tests.lab.host import LabHost
from tests.lab.processes import identify, is_alive
from tests.lab.registry import REGISTRY_ROOT, Registry

NOTE = REGISTRY_ROOT / "demo.json"


def note(work: Path, host: LabHost | None = None) -> None:
    """Write down which folder and host are the demo's."""
    named = None if host is None else {"name": host.name, "created": host.record.created}
    REGISTRY_ROOT.mkdir(mode=0o755, parents=True, exist_ok=True)
    fresh = NOTE.with_suffix(".new")
    fresh.write_text(json.dumps({"schema": 1, "work": str(work), "host": named}))
    fresh.replace(NOTE)


def end_standing() -> bool:
    """End central, host and folder of the standing demo; whether there was one."""
    try:
        written = json.loads(NOTE.read_bytes())
    except FileNotFoundError:
        return False
    work = Path(written["work"])
    _end_central(work / "central")
    for record in Registry().records():
        # A host of that name may be another's by now.
        if {"name": record.name, "created": record.created} == written["host"]:
            LabHost.attach(record.name).kill()
    shutil.rmtree(work, ignore_errors=True)
    NOTE.unlink()
    return True


def _end_central(state: Path) -> None:
    try:
        pid = int((state / "dev.pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return
    identity = identify(pid)
    # The number may be another process's by now; ours names its folder.
    if identity is not None and str(state).encode() in command:
        stop(identity)
        if is_alive(identity):
            raise LabError(f"central ({pid}) does not end")


@contextmanager
def politely_interrupted() -> Iterator[None]:
    """SIGTERM ends like Ctrl-C, so that what was begun is said and left in order."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

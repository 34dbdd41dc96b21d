"""The demo that stands on this machine: which host it is, and its end.

One a machine. Everything of it belongs to its host (central beside it, its folder), and the host belongs
to the demo's process until the story is told: whatever is interrupted, ``reclaim`` or ``--down`` finds it.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.host import LabHost
from tests.lab.registry import REGISTRY_ROOT, HostRecord, Registry

NOTE = REGISTRY_ROOT / "demo.json"


def note(host: LabHost) -> None:
    """Write down which host is the demo's."""
    fresh = NOTE.with_suffix(".new")
    fresh.write_text(json.dumps({"schema": 1, "host": {"name": host.name, "created": host.record.created}}))
    fresh.replace(NOTE)


def find_standing() -> HostRecord | None:
    """The host of the standing demo; None when there is none, or it has been swept away."""
    try:
        written = json.loads(NOTE.read_bytes())
    except FileNotFoundError:
        return None
    # A host of that name may be another's by now.
    same = (r for r in Registry().records() if {"name": r.name, "created": r.created} == written["host"])
    return next(same, None)


def end_standing() -> bool:
    """End the standing demo with all that belongs to it; whether there was one."""
    record = find_standing()
    if record is not None:
        LabHost.attach(record.name).kill()
    NOTE.unlink(missing_ok=True)
    return record is not None


@contextmanager
def politely_interrupted() -> Iterator[None]:
    """SIGTERM ends like Ctrl-C, so that what was begun is said and left in order."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""One /metrics of a process that runs several workers (X9).

1. Each worker counts for itself. Whichever answers a scrape asks the others at their sockets, in a folder
   only this process may enter, and tells everything under a label `worker` of few values.
2. Nothing is added up: a sum of gauges says nothing, and a query can sum counters (`sum without (worker)`).
3. A worker that does not answer in time is left out and told: `pharos_worker_answered{worker="1"} 0`.
"""

import fcntl
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from central.kernel.socket_paths import short_path

SECONDS: Final = 2.0
"""How long a scrape waits for another worker."""


class WorkerMetrics:
    """One worker's part. `folder` is made before the workers are, of which there are `count`."""

    def __init__(self, registry: CollectorRegistry, folder: Path, count: int) -> None:
        self._registry = registry
        self._folder = folder
        self._count = count
        self._slot, self._lock = self._take_slot()
        self._listener = self._listen()

    def expose(self) -> bytes:
        """What every worker counts, in the text format."""
        families = {self._slot: generate_latest(self._registry)}
        for slot in range(self._count):
            if slot != self._slot:
                families[slot] = self._ask(slot)
        return generate_latest(_registry_of(_Merged(families)))

    def close(self) -> None:
        """Gives the slot back."""
        with suppress(OSError):
            self._listener.close()
        self._path(self._slot).unlink(missing_ok=True)
        os.close(self._lock)

    def _take_slot(self) -> tuple[int, int]:
        """The first slot no living worker holds; its lock ends with this worker, however that ends."""
        for slot in range(self._count + 1):
            lock = os.open(self._folder / f"{slot}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
            else:
                return slot, lock
        raise RuntimeError(f"more than {self._count} workers: gunicorn replaces one before it has ended")

    def _path(self, slot: int) -> Path:
        return self._folder / f"{slot}.sock"

    def _listen(self) -> socket.socket:
        path = self._path(self._slot)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with short_path(path) as short:
            listener.bind(short)
        listener.listen()
        threading.Thread(target=self._tell, args=(listener,), name="metrics", daemon=True).start()
        return listener

    def _tell(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(SECONDS)
                connection.sendall(generate_latest(self._registry))

    def _ask(self, slot: int) -> bytes:
        """What another worker counts; nothing if it does not answer in time."""
        told = bytearray()
        try:
            with (
                short_path(self._path(slot)) as short,
                socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection,
            ):
                connection.settimeout(SECONDS)
                connection.connect(short)
                while part := connection.recv(65536):
                    told += part
        except OSError:
            return b""
        return bytes(told)


class _Merged(Collector):
    """Families of several workers, each sample with its worker's label."""

    def __init__(self, told: dict[int, bytes]) -> None:
        self._told = told

    def collect(self) -> Iterator[Metric]:
        answered = Metric("pharos_worker_answered", "1 if the worker told what it counts.", "gauge")
        families: dict[str, Metric] = {}
        for slot, text in sorted(self._told.items()):
            worker = {"worker": str(slot)}
            answered.add_sample("pharos_worker_answered", worker, float(bool(text)))
            for family in text_string_to_metric_families(text.decode()):
                merged = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    merged.add_sample(sample.name, {**sample.labels, **worker}, sample.value)
        yield answered
        yield from families.values()


def _registry_of(*collectors: Collector) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(collector)
    return registry

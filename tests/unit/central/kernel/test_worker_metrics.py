"""/metrics of several workers: whoever answers tells of all, apart by label; a dead one is told (X9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from central.kernel.worker_metrics import WorkerMetrics


class Worker:
    """One worker's registry and its part of the shared metrics."""

    def __init__(self, folder: Path, count: int) -> None:
        registry = CollectorRegistry()
        self.counter = Counter("trial_total", "Trials.", ["kind"], registry=registry)
        Gauge("trial_now", "Now.", registry=registry).set_function(lambda: 7)
        self.seconds = Histogram("trial_seconds", "Time.", buckets=(1,), registry=registry)
        self.shared = WorkerMetrics(registry, folder, count)


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[Worker]]:
    deep = tmp_path / "a-folder-whose-path-is-longer-than-a-socket-address-holds" / ("x" * 80)
    deep.mkdir(parents=True)
    with ExitStack() as held:
        made = [Worker(deep, 3) for _ in range(3)]
        for worker in made[1:]:
            held.callback(worker.shared.close)
        yield made


def samples(worker: Worker) -> dict[tuple[str, str, str], float]:
    """Name, worker and kind (or bucket) → value; each family stands once."""
    families = list(text_string_to_metric_families(worker.shared.expose().decode()))
    assert len({family.name for family in families}) == len(families)
    return {
        (one.name, one.labels["worker"], one.labels.get("kind", one.labels.get("le", ""))): one.value
        for family in families
        for one in family.samples
        if not one.name.endswith("_created")
    }


def test_x9_whoever_answers_tells_of_all(workers: list[Worker]) -> None:
    for number, worker in enumerate(workers):
        worker.counter.labels("a").inc(number + 1)
        worker.seconds.observe(number)
    for worker in workers:
        found = samples(worker)
        assert [found["trial_total", slot, "a"] for slot in "012"] == [1, 2, 3]
        assert [found["trial_now", slot, ""] for slot in "012"] == [7, 7, 7]
        assert [found["trial_seconds_count", slot, ""] for slot in "012"] == [1, 1, 1]
        assert [found["trial_seconds_bucket", slot, "1.0"] for slot in "012"] == [1, 1, 0]
        assert [found["pharos_worker_answered", slot, ""] for slot in "012"] == [1, 1, 1]


def test_x9_a_worker_that_is_gone_is_told_and_its_slot_taken_over(
    workers: list[Worker], tmp_path: Path
) -> None:
    first, second, _ = workers
    first.shared.close()
    found = samples(second)
    assert [found["pharos_worker_answered", slot, ""] for slot in "012"] == [0, 1, 1]
    assert ("trial_now", "0", "") not in found
    heir = Worker(second.shared._folder, 3)
    assert [samples(second)["pharos_worker_answered", slot, ""] for slot in "012"] == [1, 1, 1]
    heir.shared.close()


def test_x9_more_workers_than_slots_are_refused(workers: list[Worker]) -> None:
    folder = workers[0].shared._folder
    spare = Worker(folder, 3)
    with pytest.raises(RuntimeError, match="more than 3 workers"):
        Worker(folder, 3)
    spare.shared.close()
    workers[0].shared.close()

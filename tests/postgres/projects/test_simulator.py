"""The simulator as a process: what it is told becomes events and answers, and survives its restart (X8)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from central.kernel.broker_postgres import PostgresBroker
from central.kernel.database import Database
from central.kernel.times import utc_now
from central.processes.provisioning_worker import BetoView
from central.projects.application.synchronise import Pass
from central.projects.domain.ids import PartyId, ProjectId, Scope
from tests.postgres.conftest import PgServer
from tests.simulators.beto.beto import ready_for
from tests.simulators.beto.truth import WALDUR

REF = "00000000-0000-4000-8000-000000000310"


class Say(Protocol):
    """Tells the simulator to do something and returns what it answers."""

    def __call__(self, act: str, **arguments: Any) -> dict[str, Any]: ...


@contextmanager
def beto(url: str, state: Path) -> Iterator[Say]:
    secret = state.with_name("url")
    secret.write_text(url)
    command = [sys.executable, "-m", "tests.simulators.beto", "--broker-url-file", str(secret)]
    command += ["--state", str(state)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        assert json.loads(process.stdout.readline()) == {"ready": True}

        def say(act: str, **arguments: Any) -> dict[str, Any]:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps({"act": act} | arguments) + "\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            assert answer["malformedQuestions"] == 0
            return answer

        yield say
        process.stdin.close()
        assert process.wait(20) == 0
        assert "DEVELOPMENT STAND-IN" in process.stderr.read()


def test_a_process_tells_events_and_answers_questions(
    owner: Database, broker: PostgresBroker, pg_server: PgServer, name: str, tmp_path: Path
) -> None:
    view = BetoView(owner, broker)
    synchronise = view.synchronise(lambda seconds: None)
    (consumer, *_) = view.consumers()
    url, state = pg_server.admin_url(name), tmp_path / "truth.json"
    with beto(url, state) as say:
        party = say("new_party", site="slurm", username="u1")["id"]
        assert [synchronise(scope).outcome for scope in Scope] == [Pass.LOADED] * 3
        project = say("new_project", ref=REF)["id"]
        say("add_member", project=project, party=party)
        say("set_authority", project=project, state="ready", expires=ready_for(utc_now))
        with broker.subscribe(consumer.queue) as subscription:
            assert consumer.turn(subscription).applied == 2
        joined = say("join", project=REF, site="slurm", username="u2")
        assert (joined["project"], joined["generation"]) == (project, 1)
        assert say("join", project=project, site="slurm", username="u2")["generation"] == 2
        assert "error" in say("leave", project=project, site="slurm", username="nobody")
        say("leave", project=project, site="slurm", username="u2")
        with broker.subscribe(consumer.queue) as subscription:
            assert consumer.turn(subscription).applied == 3
        say("faults", drop=1.0)
        say("remove_member", project=project, party=party)
        assert "error" in say("no_such_act")
        assert "error" in say("close_project", project="nobody")
    with beto(url, state) as say:
        assert say("truth")["projects"][0]["revision"] == 6
        assert synchronise(Scope.PROJECTS).outcome is Pass.REPAIRED
        say("join", project=REF, site="slurm", username="u2")
        with broker.subscribe(consumer.queue) as subscription:
            assert consumer.turn(subscription).applied == 1, "ids of messages go on after a restart"
    assert view.resolve_projects.resolve(WALDUR, [REF]) == {REF: UUID(project)}
    left = {
        row.party_id: row
        for row in view.provisioning_roster.roster.reads.members(ProjectId(UUID(project)), utc_now())
    }
    assert [
        (left[PartyId(UUID(one))].generation, left[PartyId(UUID(one))].present)
        for one in (party, joined["party"])
    ] == [
        (1, False),
        (3, True),
    ]

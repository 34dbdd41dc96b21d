"""A silent Git host's Runs wait and are told so, everybody else's go on; nothing of a pass that is killed is
done twice or lost (S2, X1, X7, O1, O3).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from central.execution.adapters.run_evidence import RunEvidence
from central.execution.application.git_passes import CONFIRM
from central.execution.application.host_turns import LIMITS
from central.execution.application.ports import StoreCommand
from central.execution.domain.run import Run, RunState, WaitReason
from central.kernel.database import Database, DatabaseOptions
from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.conftest import PgServer
from tests.postgres.execution.git_hosts import Checkpoint, GitHost, Parts, Where, die, git_host, parts_at
from tests.postgres.processes.rig import Programs
from tests.simulators.git.serving import saying_nothing

SECOND = timedelta(seconds=1)
MANY, FEW = 50, 5


@dataclass(slots=True)
class Hosts:
    """Two Git hosts, and the passes over them."""

    one: GitHost
    other: GitHost
    where: Where
    parts: Parts
    programs: Programs

    def now(self, run: Run) -> Run:
        found = self.parts.runs.by_id(run.run_id)
        assert isinstance(found, Run)
        return found

    def states(self, runs: list[Run]) -> set[tuple[RunState, str | None]]:
        """All there are."""
        return {(run.state, run.reason) for run in map(self.now, runs)}

    def replica(self) -> Parts:
        """The passes of another process, which remembers nothing of this one."""
        known = self.parts
        return Parts(known.database, known.runs, known.store, known.silences, known.credentials, known.git)

    def count(self, query: str, *words: object) -> int:
        with psycopg.connect(self.programs.server.admin_url(self.programs.database)) as connection:
            row = connection.execute(query.encode(), words).fetchone()
        assert row is not None
        return int(row[0])

    def explained(self, run: Run) -> dict[str, dict[str, str]]:
        """What an operator is told, by link."""
        variables = {
            "PHAROS_DATABASE_URL_FILE": self.programs.url("pharos_operator"),
            "PHAROS_SITES": "slurm",
        }
        done = self.programs.run(variables, "explain", "run", str(run.run_id), "--json")
        return {each["link"]: each for each in json.loads(done.stdout)["links"]}


@pytest.fixture
def hosts(pg_server: PgServer, database_name: str, tmp_path: Path) -> Iterator[Hosts]:
    with ExitStack() as held:
        one, other = (held.enter_context(git_host(tmp_path / name)) for name in ("one", "other"))
        url = pg_server.role_url("pharos_execution", database_name)
        givers = {host.name: host.giver.url for host in (one, other)}
        where = Where(url, str(tmp_path / "ca.crt"), givers)
        parts = held.enter_context(parts_at(where))
        yield Hosts(one, other, where, parts, Programs(pg_server, database_name, tmp_path))


WAITS = (RunState.WAITING, WaitReason.OUTPUT_AWAITING_GIT.value)
DONE = (RunState.COMPLETED, None)


def test_s2_x1_o1_a_silent_hosts_runs_wait_and_are_told_so_and_everybody_elses_go_on(hosts: Hosts) -> None:
    silent = [hosts.one.run(hosts.parts.runs) for _ in range(MANY)]
    live = [hosts.other.run(hosts.parts.runs) for _ in range(FEW)]
    now, asked = utc_now(), hosts.parts.asked
    with saying_nothing(hosts.one.git):
        hosts.parts.confirm(now)
        assert sorted(asked) == sorted([hosts.one.name] + FEW * [hosts.other.name])
        assert (hosts.states(live), hosts.states(silent)) == ({DONE}, {WAITS})

        told = hosts.explained(silent[0])["git host"]
        assert told["at"] == format_rfc3339(now)
        assert f"{hosts.one.name} SILENT" in told["text"]
        assert "cannot be reached" in told["text"]
        overview = hosts.programs.server.role_url("pharos_overview", hosts.programs.database)
        with Database(DatabaseOptions(overview)) as page:
            shown = RunEvidence(page).silence(CONFIRM, hosts.one.name)
        assert shown is not None and shown.since == now, "the operators' page shows the same"

        before, later = [hosts.now(run) for run in silent], hosts.other.run(hosts.parts.runs)
        replica = hosts.replica()
        replica.confirm(now + LIMITS.again - SECOND)
        assert replica.asked == [hosts.other.name], "another replica knows as much"
        assert hosts.states([later]) == {DONE}
        assert [hosts.now(run) for run in silent] == before, "and says nothing twice"
    answers = hosts.explained(silent[0])["git host"]["text"]
    assert "SILENT" in answers, "as far as is known: nobody asked again"

    asked.clear()
    for number in range(MANY):
        hosts.parts.confirm(now + LIMITS.again + number * SECOND)
        if hosts.states(silent) == {DONE}:
            break
    assert hosts.states(silent) == {DONE}
    assert asked == MANY * [hosts.one.name], "each once"
    assert "git host" not in hosts.explained(silent[0])
    assert hosts.count("SELECT count(*) FROM execution.git_silences") == 0


def test_o1_a_host_that_answers_without_saying_anything_is_named_and_not_called_silent(hosts: Hosts) -> None:
    run = hosts.one.run(hosts.parts.runs)
    hosts.one.git.repositories.faults.status = 503
    hosts.parts.confirm(utc_now())
    assert hosts.states([run]) == {WAITS}
    assert hosts.explained(run)["git host"]["text"] == f"{hosts.one.name}, not silent as far as is known"


CONFIRMING = {
    "a credential is noted": Checkpoint("store", "remember"),
    "a credential is given": Checkpoint("credentials", "issue"),
    "the host has answered": Checkpoint("git", "commit_of"),
    "the Run is saved": Checkpoint("runs", "move"),
}


@pytest.mark.parametrize("at", CONFIRMING.values(), ids=CONFIRMING)
def test_x7_a_pass_that_is_killed_is_made_again_and_applies_nothing_twice(
    at: Checkpoint, hosts: Hosts
) -> None:
    where = Where(hosts.where.database_url, hosts.where.ca_file, {hosts.one.name: hosts.one.giver.url})
    run, now = hosts.one.run(hosts.parts.runs), utc_now()
    die(where, "confirm", at, now)
    assert hosts.states([run]) == ({DONE} if at.part == "runs" else {(RunState.RUNNING, None)})
    for _ in range(2):
        hosts.parts.confirm(now + SECOND)
    after = hosts.now(run)
    assert (after.state, after.revision) == (RunState.COMPLETED, run.revision + 1)
    confirmed = StoreCommand.named(f"run_output_confirmed {run.run_id} {run.revision}").id
    assert hosts.count("SELECT count(*) FROM execution.receipts WHERE command_id = %s", confirmed) == 1
    assert hosts.count("SELECT count(*) FROM execution.commands WHERE run_id = %s", run.run_id) == 3 + 1
    assert len(hosts.one.giver.given) == 1, "one credential, whoever asked for it"
    with parts_at(where) as parts:
        parts.revoke(now + SECOND)
    assert hosts.one.giver.given == set()
    assert hosts.parts.store.outstanding(None, 10) == []


def test_x7_a_silence_that_was_noted_before_the_kill_is_told_by_the_next_pass(hosts: Hosts) -> None:
    runs, now = [hosts.one.run(hosts.parts.runs) for _ in range(3)], utc_now()
    with saying_nothing(hosts.one.git):
        die(hosts.where, "confirm", Checkpoint("silences", "seen"), now)
        assert hosts.states(runs) == {(RunState.RUNNING, None)}
        hosts.parts.confirm(now + SECOND)
    assert (hosts.parts.asked, hosts.states(runs)) == ([], {WAITS})
    hosts.parts.confirm(now + LIMITS.again)
    assert hosts.states(runs) == {DONE}


def test_x7_a_credential_taken_back_before_the_kill_is_taken_back_again(hosts: Hosts) -> None:
    where = Where(hosts.where.database_url, hosts.where.ca_file, {hosts.one.name: hosts.one.giver.url})
    hosts.one.run(hosts.parts.runs)
    now = utc_now()
    hosts.parts.confirm(now)
    die(where, "revoke", Checkpoint("store", "revoked", before=True), now)
    assert hosts.one.giver.given == set(), "the host knows it no more"
    [noted] = hosts.parts.store.outstanding(None, 10)
    with parts_at(where) as parts:
        assert parts.revoke(now + SECOND).changed == 1
    assert noted not in hosts.parts.store.outstanding(None, 10)

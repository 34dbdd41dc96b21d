"""What is read back, and that nothing which contradicts itself is ever an answer (P7, P9, P37)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest

from central.kernel.aggregates import Aggregates
from central.kernel.database import Database
from central.kernel.errors import CorruptState
from central.processes.provisioning_intake import Intake, build_app
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.domain.allocation import Lifecycle
from central.provisioning.domain.ids import AllocationId
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.conftest import (
    INSTANCE,
    KEYS,
    PROJECT,
    ROLE,
    Agent,
    Clock,
    Projects,
    resource,
    told,
)

T1, T2, T3, T4, T5 = (f"2026-11-02T10:00:{second:02}Z" for second in range(1, 6))
Execute = Callable[[str], None]


@pytest.fixture
def saved(intake_database: Database) -> PostgresSavedAllocations:
    return PostgresSavedAllocations(intake_database)


@pytest.fixture
def execute(pg_server: PgServer, name: str) -> Execute:
    """Runs a statement as superuser."""

    def run(statement: str) -> None:
        with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
            connection.execute(statement.encode())

    return run


def reported(agent: Agent, time: str, *resources: dict[str, object]) -> list[AllocationId]:
    return [AllocationId(UUID(o["allocationId"])) for o in agent.report(time, *resources)]


def test_by_id_and_by_project(agent: Agent, saved: PostgresSavedAllocations) -> None:
    unbound = resource(4, providerProjectRef="of nobody")
    ids = reported(agent, T1, resource(1), resource(2), resource(3), unbound)
    gone = resource(3, state="terminated", applied=None, used=None)
    reported(agent, T2, resource(1), gone)
    found = saved.by_project(PROJECT)
    assert [one.allocation.allocation_id for one in found] == sorted(ids[:3])
    assert {one.allocation.lifecycle for one in found} == {Lifecycle.READY, Lifecycle.RETIRED}
    one = saved.by_id(ids[0])
    assert one is not None
    assert one.allocation.observed_at == datetime(2026, 11, 2, 10, 0, 1, tzinfo=UTC)
    assert one.last_seen == datetime(2026, 11, 2, 10, 0, 2, tzinfo=UTC)
    assert (one.version, one.allocation.facts.project_id) == (1, PROJECT)
    assert saved.by_id(AllocationId(UUID(int=1))) is None
    assert saved.by_project(UUID(int=1)) == []
    assert saved.with_allocations([PROJECT, UUID(int=1)], "slurm") == {PROJECT}
    assert not saved.with_allocations([PROJECT], "k8s")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_the_snapshot_is_complete_and_in_order_e25(
    agent: Agent, saved: PostgresSavedAllocations, limit: int
) -> None:
    ids = reported(agent, T1, *[resource(n) for n in range(1, 8)])
    found: list[AllocationId] = []
    after: AllocationId | None = None
    for _ in range(10):
        page = saved.page(after, limit)
        assert len(page.allocations) <= limit
        found += [one.allocation.allocation_id for one in page.allocations]
        after = page.next
        if after is None:
            break
    assert found == sorted(ids)


def test_an_empty_snapshot(saved: PostgresSavedAllocations) -> None:
    page = saved.page(None, 10)
    assert (list(page.allocations), page.next) == ([], None)


def test_the_store_is_the_kernels(agent: Agent, intake_database: Database) -> None:
    """Sets of changes leave exactly what the generic store writes one by one (P7)."""
    (allocation,) = reported(agent, T1, resource())
    reported(agent, T2, resource(paused=True))
    stored = Aggregates(intake_database, schema="provisioning").load("allocation", allocation)
    assert stored is not None
    assert stored.version == 2
    assert b'"paused":true' in stored.snapshot


CORRUPTIONS = {
    "snapshot": "UPDATE provisioning.aggregate_versions "
    "SET snapshot = replace(snapshot::text, '\"revision\":1', '\"revision\":2')::json",
    "digest": "UPDATE provisioning.aggregate_versions SET digest = sha256('x')",
    "head_digest": "UPDATE provisioning.aggregate_heads SET digest = sha256('x')",
    "head_version": "UPDATE provisioning.aggregate_heads SET version = 2",
    "version_gone": "DELETE FROM provisioning.aggregate_versions",
    "head_gone": "DELETE FROM provisioning.aggregate_heads",
    "newer_version": "INSERT INTO provisioning.aggregate_versions "
    "SELECT kind, id, 2, command_id, snapshot, digest, recorded_at FROM provisioning.aggregate_versions",
    "sighting_gone": "DELETE FROM provisioning.allocation_sightings",
    "sighting_version": "UPDATE provisioning.allocation_sightings SET version = 2",
    "sighting_site": "UPDATE provisioning.allocation_sightings SET site = 'k8s'",
    "sighting_project": "UPDATE provisioning.allocation_sightings SET project_id = gen_random_uuid()",
    "sighting_standing": "UPDATE provisioning.allocation_sightings SET standing = 'w'",
    "another's": "UPDATE provisioning.aggregate_heads SET id = '00000000-0000-4000-8000-0000000000ff'; "
    "UPDATE provisioning.aggregate_versions SET id = '00000000-0000-4000-8000-0000000000ff'; "
    "UPDATE provisioning.allocation_sightings SET allocation_id = '00000000-0000-4000-8000-0000000000ff'",
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_rows_that_contradict_each_other_are_corrupt(
    agent: Agent, saved: PostgresSavedAllocations, execute: Execute, what: str
) -> None:
    (allocation,) = reported(agent, T1, resource())
    execute(CORRUPTIONS[what])
    asked = AllocationId(UUID("00000000-0000-4000-8000-0000000000ff")) if what == "another's" else allocation
    with pytest.raises(CorruptState):
        saved.by_id(asked)
    if what != "another's":
        answer = agent.allocation(str(allocation))
        assert (answer.status_code, answer.get_json()["code"]) == (500, "state_corrupt")


def test_a_stored_time_without_a_zone_is_corrupt_e09(
    agent: Agent, saved: PostgresSavedAllocations, execute: Execute
) -> None:
    """Never assumed UTC, even where every digest fits."""
    (allocation,) = reported(agent, T1, resource())
    execute(
        """
        UPDATE provisioning.aggregate_versions SET snapshot = replace(snapshot::text, ':01Z"', ':01"')::json;
        UPDATE provisioning.aggregate_versions SET digest = sha256(
            int8send(10) || 'allocation'::bytea || int8send(16) || uuid_send(id) || int8send(8)
            || int8send(version) || int8send(octet_length(snapshot::text))
            || convert_to(snapshot::text, 'UTF8'));
        UPDATE provisioning.aggregate_heads h SET digest = v.digest FROM provisioning.aggregate_versions v;
        """
    )
    with pytest.raises(CorruptState, match="observedAt"):
        saved.by_id(allocation)


def test_a_corrupt_allocation_stops_no_other(agent: Agent, execute: Execute) -> None:
    first, _ = reported(agent, T1, resource(1), resource(2))
    execute(f"UPDATE provisioning.aggregate_heads SET digest = sha256('x') WHERE id = '{first}'")
    outcomes = agent.report(T2, resource(1, paused=True), resource(2, paused=True), resource(3))
    assert told(outcomes) == [("refused", None), ("changed", 2), ("changed", 1)]
    assert outcomes[0]["code"] == "state_corrupt"
    execute(f"DELETE FROM provisioning.aggregate_heads WHERE id = '{first}'")
    assert told(agent.report(T3, resource(1, paused=True), resource(2))) == [
        ("refused", None),
        ("changed", 3),
    ]


UNREAD = {"snapshot", "digest", "version_gone"}
"""Of the version before a change, which its writer need not read again (docs/adr/0015): the head names it by
the digest of what this process wrote or read.
"""


@pytest.mark.parametrize("what", sorted(CORRUPTIONS.keys() - {"another's"}))
def test_p7_nothing_is_decided_upon_rows_at_odds_by_who_wrote_them(
    agent: Agent, saved: PostgresSavedAllocations, execute: Execute, what: str
) -> None:
    """The process that remembers an allocation looks at its rows again before it changes it (P7, P8)."""
    first, _ = reported(agent, T1, resource(1), resource(2))
    for statement in CORRUPTIONS[what].split("; "):
        column = "allocation_id" if "sightings" in statement else "id"
        execute(f"{statement} {'AND' if 'WHERE' in statement else 'WHERE'} {column} = '{first}'")
    outcomes = agent.report(T2, resource(1, paused=True), resource(2, paused=True))
    assert told(outcomes)[1] == ("changed", 2)
    if what in UNREAD:
        assert told(outcomes)[0] == ("changed", 2)
        kept = saved.by_id(first)
        assert kept is not None
        assert (kept.version, kept.allocation.facts.paused) == (2, True)
    else:
        assert (outcomes[0]["outcome"], outcomes[0]["code"]) == ("refused", "state_corrupt")


def test_p8_what_another_process_changed_meanwhile_is_read(
    agent: Agent, intake_database: Database, projects: Projects, clock: Clock
) -> None:
    """Two processes each remember an allocation; neither decides upon what the other left behind."""
    other = Agent(build_app(intake_database, Intake(KEYS, INSTANCE, projects, clock=clock)))
    reported(agent, T1, resource(1))
    assert told(other.report(T2, resource(1, paused=True))) == [("changed", 2)]
    assert told(agent.report(T3, resource(1, paused=True))) == [("seen", 2)]
    assert told(other.report(T4, resource(1))) == [("changed", 3)]
    assert told(agent.report(T5, resource(1, paused=True))) == [("changed", 4)]


@pytest.mark.parametrize("time", ["infinity", "-infinity"])
def test_infinity_is_refused_by_the_columns_too_f12(agent: Agent, execute: Execute, time: str) -> None:
    reported(agent, T1, resource())
    with pytest.raises(psycopg.errors.CheckViolation):
        execute(f"UPDATE provisioning.allocation_sightings SET seen_at = '{time}'")


def test_only_the_owner_process_writes_p37(pg_server: PgServer, name: str) -> None:
    """Walks the catalogue: every right to change a table of this context, whoever holds it."""
    with psycopg.connect(pg_server.admin_url(name)) as connection:
        held = connection.execute(
            """
            SELECT DISTINCT r.rolname FROM pg_class c, pg_roles r
             WHERE c.relnamespace = 'provisioning'::regnamespace AND c.relkind IN ('r', 'p')
               AND r.rolname LIKE 'pharos\\_%' AND NOT r.rolsuper AND r.rolname <> 'pharos_central_owner'
               AND has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            """
        ).fetchall()
        public = connection.execute(
            """
            SELECT count(*) FROM pg_class c, LATERAL aclexplode(c.relacl) a
             WHERE c.relnamespace = 'provisioning'::regnamespace AND a.grantee = 0
            """
        ).fetchone()
        fixed = connection.execute(
            """
            SELECT c.relname FROM pg_class c
             WHERE c.relnamespace = 'provisioning'::regnamespace AND c.relkind = 'r'
               AND has_table_privilege(%s, c.oid, 'UPDATE, DELETE, TRUNCATE') ORDER BY 1
            """,
            (ROLE,),
        ).fetchall()
    assert held == [(ROLE,)]
    assert public == (0,)
    accounts = ["account_reports", "account_sets", "accounts"]
    assert [name for (name,) in fixed] == [*accounts, "aggregate_heads", "allocation_sightings", "reports"]

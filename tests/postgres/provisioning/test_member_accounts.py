"""What Sites reported of one person, read as a set: just as allocation by allocation (P30, X1)."""

from __future__ import annotations

import random
from uuid import UUID, uuid4

import psycopg
import pytest

from central.kernel.database import Database
from central.kernel.errors import CorruptState
from central.kernel.site_names import Site
from central.provisioning.adapters.postgres_accounts import PostgresAccounts
from central.provisioning.adapters.postgres_member_accounts import PostgresMemberAccounts
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.application.every_allocation import every_allocation
from central.provisioning.domain.ids import AllocationId
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.account_reporter import Reporter, account, at
from tests.postgres.provisioning.conftest import KEYS, Agent, Projects, resource

SLURM, K8S = Site("slurm"), Site("k8s")
PARTIES = [UUID(int=number) for number in range(1, 5)]
REFS = [str(UUID(int=0x900 + number)) for number in range(5)]
STRANGER = UUID(int=77)


@pytest.fixture
def url(pg_server: PgServer, name: str) -> str:
    return pg_server.admin_url(name)


def fill(agent: Agent, projects: Projects, url: str, chance: random.Random) -> None:
    """Allocations of some Projects at both Sites, some retired or without a Project; sets in some of them."""
    projects.known = {ref: UUID(int=0x300 + n) for n, ref in enumerate(REFS[:4])}  # type: ignore[misc]
    for site, start in ((SLURM, 1), (K8S, 40)):
        there = Agent(agent.app, site, KEYS[site][0])
        states = ["ok", "ok", "ok", "terminated", "erred"]
        resources = [
            resource(n, providerProjectRef=chance.choice(REFS), state=chance.choice(states))
            for n in range(start, start + 30)
        ]
        for outcome in there.report(at(0), *resources):
            reporter = Reporter(there, AllocationId(UUID(outcome["allocationId"])), url)
            for second in range(1, chance.choice((1, 2, 3))):
                present = chance.sample(PARTIES, chance.randint(0, 3))
                held = [
                    account(
                        f"{outcome['allocationId']}/{n}",
                        partyId=str(party),
                        generation=chance.randint(1, 2),
                        state=chance.choice(("ready", "incomplete")),
                        name=f"u{party.int}",
                    )
                    for n, party in enumerate(present)
                ]
                assert reporter.told(at(second), *held) in ("recorded", "unchanged")


@pytest.mark.parametrize("seed", range(3))
def test_p30_as_a_set_as_one_by_one(
    agent: Agent, projects: Projects, intake_database: Database, url: str, seed: int
) -> None:
    fill(agent, projects, url, random.Random(seed))
    saved = PostgresSavedAllocations(intake_database)
    single, reads = PostgresAccounts(intake_database), PostgresMemberAccounts(intake_database)
    chosen = [UUID(int=0x300), UUID(int=0x302), uuid4()]
    for site in (SLURM, K8S):
        walked = list(every_allocation(saved, site))
        assert len(walked) == 30
        for party in (*PARTIES, STRANGER):
            one_by_one = [single.of_party(one.allocation.allocation_id, site, party) for one in walked]
            assert list(reads.at_site(site, party)) == one_by_one
            wanted = [
                (one, found)
                for one, found in zip(walked, one_by_one, strict=True)
                if one.allocation.facts.project_id in chosen
            ]
            assert [(e.saved, e.found) for e in reads.of_projects(site, chosen, party)] == wanted
        assert list(reads.of_projects(site, [], PARTIES[0])) == []
    everywhere = reads.allocations_of_party(SLURM, chosen, STRANGER)
    assert list(everywhere) == [
        one.allocation.allocation_id
        for one in every_allocation(saved, SLURM)
        if one.allocation.facts.project_id in chosen
    ]


@pytest.mark.parametrize(
    ("damage", "at_site_sees_it"),
    [
        ("UPDATE provisioning.account_sets SET accounts = accounts + 1", True),
        ("UPDATE provisioning.account_sets SET site = 'k8s'", True),
        ("DELETE FROM provisioning.account_sets", True),
        ("UPDATE provisioning.allocation_sightings SET version = version + 1", False),
        ("UPDATE provisioning.aggregate_heads SET digest = decode(repeat('00', 32), 'hex')", False),
        ("DELETE FROM provisioning.aggregate_heads", False),
    ],
)
def test_x1_what_contradicts_itself_is_no_answer(
    agent: Agent, intake_database: Database, url: str, damage: str, at_site_sees_it: bool
) -> None:
    (outcome,) = agent.report(at(0), resource(1))
    reporter = Reporter(agent, AllocationId(UUID(outcome["allocationId"])), url)
    assert reporter.told(at(1), account(partyId=str(PARTIES[0]))) == "recorded"
    with psycopg.connect(url) as connection:
        connection.execute(damage.encode())
    reads = PostgresMemberAccounts(intake_database)
    project = UUID("00000000-0000-4000-8000-000000000302")
    for party in (PARTIES[0], STRANGER):
        with pytest.raises(CorruptState):
            reads.of_projects(SLURM, [project], party)
        if at_site_sees_it:
            with pytest.raises(CorruptState):
                reads.at_site(SLURM, party)

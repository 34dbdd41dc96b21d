"""A member's account for SSH, from Beto's events and a Site's reports to the target of a key (P30)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.kernel.site_names import Site
from central.processes.provisioning_intake import Intake, build_app
from central.processes.provisioning_worker import BetoView
from central.processes.ssh_accounts import reported_accounts
from central.projects.domain.ids import Scope
from central.projects.domain.view import ViewLimits
from central.projects.entrypoints.events import QUEUES
from central.provisioning.domain.ids import AllocationId
from central.provisioning.domain.member_account import MemberAccount
from central.ssh_access.domain.account import Absence, AccountUnavailable, NoAccount
from central.ssh_access.domain.member_key import MemberId, Target
from tests.postgres.conftest import PgServer
from tests.postgres.provisioning.account_reporter import LIMIT, Reporter, account
from tests.postgres.provisioning.conftest import INSTANCE, KEYS, PROJECT_REF, ROLE, Agent, resource
from tests.simulators.beto.beto import Beto, Clock, ready_for
from tests.simulators.beto.speaker import speaking

ENTRY = "5f1c9a30-0000-1040-8000-000000000001"


def test_p30_join_leave_and_join_again(pg_server: PgServer, name: str) -> None:
    clock = Clock()
    beto = Beto(clock=clock)
    waiters = Waiters(pg_server.admin_url(name), CHANNELS)
    waiters.start()
    with (
        Database(DatabaseOptions(pg_server.admin_url(name))) as admin,
        Database(DatabaseOptions(pg_server.role_url(ROLE, name), pool_size=8)) as owner,
    ):
        broker = PostgresBroker(admin, waiters)
        for queue in QUEUES:
            broker.declare(queue)
        view = BetoView(owner, broker, ViewLimits(settle_attempts=2), clock)
        agent = Agent(build_app(owner, Intake(KEYS, INSTANCE, view.resolve_projects, clock=clock)))
        accounts = reported_accounts(owner, view, ("slurm", "k8s"), LIMIT)

        def follow(*told: Any) -> None:
            beto.tell(*told)
            beto.flush(broker)
            for consumer in view.consumers():
                with broker.subscribe(consumer.queue) as subscription:
                    consumer.turn(subscription)

        def now() -> str:
            clock.pass_by(1)
            return clock().isoformat().replace("+00:00", "Z")

        with speaking(beto, broker) as malformed:
            party, known = beto.truth.new_party(site="slurm", username="u1")
            (binding,) = beto.truth.scope("parties")[party]["providerBindings"]

            def asked() -> object:
                return accounts.account_for(MemberId(party), Site("slurm"), clock())

            def held(generation: int, uid: str = f"{ENTRY}/42") -> dict[str, Any]:
                named = {"partyId": party, "bindingId": binding["bindingId"], "generation": generation}
                return account(uid, **named)

            assert isinstance(asked(), AccountUnavailable)
            for scope in Scope:
                view.synchronise(lambda seconds: None)(scope)
            project, made = beto.truth.new_project(PROJECT_REF)
            follow(known, made, beto.truth.set_authority(project, "ready", ready_for(clock)))
            allocation = agent.report(now(), resource())[0]["allocationId"]
            reporter = Reporter(agent, AllocationId(UUID(allocation)), pg_server.admin_url(name))
            assert asked() == NoAccount(Absence.NOT_ELIGIBLE)
            follow(
                beto.truth.add_member(project, party),
                beto.truth.set_authority(project, "ready", ready_for(clock)),
            )
            assert isinstance(asked(), AccountUnavailable)
            assert reporter.told(now()) == "recorded"
            assert asked() == NoAccount(Absence.ACCOUNT_ABSENT)
            assert reporter.told(now(), held(1)) == "recorded"
            assert asked() == Target("u1", 5000001, UUID(ENTRY))
            follow(beto.truth.remove_member(project, party))
            assert asked() == NoAccount(Absence.NOT_ELIGIBLE)
            former = accounts.find.of_former(Site("slurm"), UUID(party), clock())
            assert former == MemberAccount("u1", 5000001, ENTRY)
            follow(
                beto.truth.add_member(project, party),
                beto.truth.set_authority(project, "ready", ready_for(clock)),
            )
            assert isinstance(asked(), AccountUnavailable)
            assert reporter.told(now(), held(2)) == "recorded"
            assert asked() == Target("u1", 5000001, UUID(ENTRY))
        assert malformed == []
    waiters.close()

"""A Site that never answers, through the real processes: an operator's word is taken (P27, P28, S11)."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from central.execution.adapters.postgres_runs import PostgresRuns
from central.execution.application.settle_cleanup import SettleRun
from central.execution.domain.run import Settlement
from central.kernel.database import Database, DatabaseOptions
from central.kernel.times import utc_now
from tests.postgres.conftest import PgServer
from tests.postgres.execution.operator import links, settle
from tests.postgres.execution.site import ScriptedSite, started
from tests.postgres.execution.world import World
from tests.postgres.kernel.waiting import until

WORD = "the host is gone; looked by hand"


def settled_at_once(world: World, server: PgServer, run: str) -> None:
    """What the command does, as its role, with no time to wait for."""
    url = server.role_url("pharos_operator", world.programs.database)
    with Database(DatabaseOptions(url)) as database:
        SettleRun(PostgresRuns(database), timedelta(0))(UUID(run), Settlement("ops@test", WORD, utc_now()))


def test_p28_a_site_that_never_answers_keeps_an_account_until_an_operator_settles_it(
    world: World, site: ScriptedSite, pg_server: PgServer
) -> None:
    member = world.new_member()
    run = started(world, member)
    until(lambda: len(site.of(run)) == 1)
    [submitted] = site.of(run)
    cancel = {"schema": 1, "reason": None}
    until(lambda: world.as_member(member, "POST", f"/runs/{run}/cancel", cancel)[0] == 202)
    assert world.state(member, run) == ("cancelling", None)
    until(lambda: world.retained()[0] == 200 and member.username in world.retained()[1])
    [asked] = [each for each in site.of(run) if each["action"]["act"] == "cancel"]
    assert "runs settle" in links(world, run)["account kept"]
    early = settle(world, run, WORD)
    assert (early.returncode, "site_awaited" in early.stderr, "1:00:00" in early.stderr) == (3, True, True)

    settled_at_once(world, pg_server, run)
    assert world.state(member, run) == ("cancelled", "settled_by_operator")
    until(lambda: world.retained()[0] == 200 and member.username not in world.retained()[1])
    told = links(world, run)
    assert told["cleanup"] == f"SETTLED by ops@test: {WORD}"
    assert told["account kept"].startswith("no, it is released")
    shown = world.as_member(member, "GET", f"/runs/{run}")[1]["cleanup"]
    assert shown == {"state": "settled", "reason": WORD}
    assert site.of(run) == [], "a Site that comes back is asked for nothing of it"
    assert site.token(submitted)[1]["code"] == "command_acknowledged"

    late = (site.ack(submitted), site.ack(asked), site.result(submitted, "completed"))
    assert [(status, body["outcome"]) for status, body in late] == [(200, "unchanged")] * 3
    assert world.state(member, run) == ("cancelled", "settled_by_operator")

"""Retries, refused cleanups, renewed feeds, through the real processes (E1, E3, E7, P27, P28, S2)."""

from __future__ import annotations

from uuid import uuid4

from central.kernel.database import Database, DatabaseOptions
from central.kernel.observability import Metrics
from central.processes.overview import build_app
from tests.html import words
from tests.postgres.conftest import PgServer
from tests.postgres.execution.operator import links, settle
from tests.postgres.execution.site import ScriptedSite, finish, started
from tests.postgres.execution.world import Member, World
from tests.postgres.kernel.waiting import until
from tests.postgres.web.rig import Overview, settings_of

PLAIN = {"schema": 1}


def failed(world: World, site: ScriptedSite, member: Member) -> str:
    """A Run whose stage-in failed; its cleanup is asked for."""
    run = started(world, member)
    until(lambda: len(site.of(run)) == 1)
    [command] = site.of(run)
    assert site.ack(command)[0] == 200
    assert site.result(command, "failed")[0] == 200
    return run


def test_e1_a_run_tried_again_keeps_its_account_and_ends_true(world: World, site: ScriptedSite) -> None:
    member, other = world.new_member(), world.new_member()
    run = failed(world, site, member)
    until(lambda: world.as_member(other, "GET", f"/runs/{run}")[0] == 200)
    assert world.as_member(other, "POST", f"/runs/{run}/retry", PLAIN)[1]["code"] == "attempt_unsettled"
    [cleanup] = site.of(run)
    assert site.do(cleanup)
    until(lambda: world.retained()[0] == 200 and member.username not in world.retained()[1])
    key = str(uuid4())
    status, again = world.as_member(other, "POST", f"/runs/{run}/retry", PLAIN, key)
    assert (status, again["state"], again["attempts"][1]["askedBy"]) == (202, "running", other.party)
    early = settle(world, run, "it runs")
    assert (early.returncode, "nobody asked for its end" in early.stderr) == (3, True)
    assert ", in " in links(world, run)["deadline"]
    assert world.as_member(other, "POST", f"/runs/{run}/retry", PLAIN, key) == (202, again)
    until(lambda: world.retained()[0] == 200 and member.username in world.retained()[1])
    [command] = site.of(run)
    assert (command["attempt"], command["identity"]["username"]) == (2, member.username)
    finish(world, site, run)
    until(lambda: world.state(member, run)[0] == "completed")
    results = world.as_member(other, "GET", f"/runs/{run}/results")[1]
    assert [len(each["stages"]) for each in results["attempts"]] == [1, 3]
    until(lambda: member.username not in world.retained()[1])
    told = links(world, run)
    assert told["attempt 1"].startswith("failed (stage_in_failed)")
    assert other.party in told["attempt 2"]
    assert "run.results by Party" in told["used"]


def front_page(world: World, server: PgServer) -> str:
    """What the operators' page says, as its own role."""
    url = server.role_url("pharos_overview", world.programs.database)
    with Database(DatabaseOptions(url)) as database:
        return words(Overview(build_app(settings_of(url), database, Metrics("overview"))).page())


def test_p28_a_refused_cleanup_keeps_the_account_until_an_operator_settles_it(
    world: World, site: ScriptedSite, pg_server: PgServer
) -> None:
    member = world.new_member()
    run = failed(world, site, member)
    [cleanup] = site.of(run)
    assert site.ack(cleanup, "scratch_unavailable")[0] == 200
    shown = {each["runId"]: each for each in world.operator("show", "runs")["runs"]}
    assert shown[run]["cleanupRefusal"] == "scratch_unavailable"
    told = links(world, run)
    assert told["cleanup"].startswith("REFUSED: scratch_unavailable")
    assert told["deadline"].endswith("Z"), "an ended Run has no time left"
    said = front_page(world, pg_server)
    assert f"{run} failed stage_in_failed stage-in done failed" in said, "where it ended"
    assert "runs settle" in told["account kept"]
    until(lambda: world.retained()[0] == 200 and member.username in world.retained()[1])
    status, asked = world.as_member(member, "POST", f"/runs/{run}/cleanup", PLAIN)
    assert (status, asked["cleanup"]["state"]) == (202, "asked")
    [again] = site.of(run)
    assert site.ack(again, "scratch_unavailable")[0] == 200
    assert settle(world, run, "").returncode == 3
    done = settle(world, run, "looked: the folder is gone")
    assert (done.returncode, "released" in done.stdout) == (0, True), done.stderr
    assert settle(world, run, "looked: the folder is gone").returncode == 0, "the same word again"
    other = settle(world, run, "another reason")
    assert (other.returncode, "cleanup_settled" in other.stderr) == (3, True)
    until(lambda: world.retained()[0] == 200 and member.username not in world.retained()[1])
    assert links(world, run)["cleanup"] == "SETTLED by ops@test: looked: the folder is gone"
    cleanup_shown = world.as_member(member, "GET", f"/runs/{run}")[1]["cleanup"]
    assert cleanup_shown == {"state": "settled", "reason": "looked: the folder is gone"}


def test_s2_a_repository_that_is_closed_is_told_and_the_run_goes_on_once_it_opens(
    world: World, site: ScriptedSite
) -> None:
    member = world.new_member()
    run = started(world, member)
    [command] = site.of(run)
    world.giver.closed.add("group/project.git")
    try:
        assert site.token(command)[0] == 503
        assert world.state(member, run) == ("waiting", "repository_refused")
        shown = {each["runId"]: each for each in world.operator("show", "runs", "--live")["runs"]}
        assert "keeps the repository" in shown[run]["waiting"]["remedy"]
        assert "keeps the repository" in links(world, run)["waits"]
    finally:
        world.giver.closed.clear()
    assert site.token(command)[0] == 200
    assert world.state(member, run) == ("running", None)


def test_e3_a_renewed_feed_of_commands_is_another_history(world: World, site: ScriptedSite) -> None:
    started(world, world.new_member())
    before = site.ask("GET", "?after=0&limit=1")[1]
    variables = {"PHAROS_DATABASE_URL_FILE": world.programs.url("pharos_operator")}
    words = ("feeds", "renew", "--site", "slurm", "--scope", "commands")
    assert "slurm has commands feed" in world.programs.run(variables, *words).stdout
    after = site.ask("GET", "?after=0&limit=1")[1]
    assert after["feed"] != before["feed"]
    assert after["commands"][0]["commandId"] == before["commands"][0]["commandId"]
    listed = {(each["site"], each["scope"]): each for each in world.operator("feeds", "list")["feeds"]}
    assert listed["slurm", "commands"]["feed"] == after["feed"]
    heading, *lines = world.programs.run(variables, "feeds", "list").stdout.splitlines()
    assert heading.split()[:3] == ["SITE", "SCOPE", "FEED"]
    assert after["feed"] in {line[heading.index("FEED") :].split()[0] for line in lines}
    status, problem = site.ask("GET", f"?after={listed['slurm', 'commands']['head'] + 1000}")
    assert (status, problem["code"], problem["feed"]) == (409, "feed_position_unknown", after["feed"])
    unknown = world.programs.tried(variables, "feeds", "renew", "--site", "nowhere")
    assert (unknown.returncode, "feed_unknown" in unknown.stderr) == (3, True)

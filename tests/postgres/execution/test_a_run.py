"""A Run through every real process: from a POST to an output the Git host confirms (E1–E5, E7, S2)."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import jwt

from central.kernel.database import Database, DatabaseOptions
from central.kernel.observability import Metrics
from central.processes.overview import build_app
from tests.html import words
from tests.postgres.conftest import PgServer
from tests.postgres.execution.site import ScriptedSite
from tests.postgres.execution.world import World
from tests.postgres.kernel.waiting import until
from tests.postgres.web.rig import Overview, settings_of

KEY = "00000000-0000-4000-8000-0000000000bb"
TIME_LEFT = re.compile(r"in (\d+ days?, )?\d+:\d\d:\d\d ?")


def test_e4_one_run_from_post_to_a_confirmed_output(world: World, site: ScriptedSite) -> None:
    member, before = world.new_member(), set(world.giver.given)
    key, wanted = str(uuid4()), world.run_body()
    until(lambda: world.start(member, key, **wanted)[0] in (200, 201))
    status, run = world.start(member, key, **wanted)
    assert (status, run["state"]) == (200, "running"), run
    named = run["runId"]
    stages = []
    for _ in range(4):
        until(lambda: len(site.of(named)) == 1)
        [command] = site.of(named)
        assert command["identity"]["username"] == member.username
        assert site.do(command), site.token(command)
        stages.append(command["action"].get("stage", command["action"]["act"]))
        if stages[-1] == "stage-out":
            until(lambda: world.state(member, named)[0] == "completed")
    assert stages == ["stage-in", "compute", "stage-out", "cleanup"]
    run = world.as_member(member, "GET", f"/runs/{named}")[1]
    assert run["output"] == {"ref": f"refs/heads/pharos/runs/{named}", "commit": site.outputs[named]}
    assert world.refs()[run["output"]["ref"]] == site.outputs[named]
    until(lambda: world.giver.given <= before)
    login = jwt.decode(next(iter(site.tokens.values()))["token"], options={"verify_signature": False})
    assert login["preferred_username"] == member.username


def test_o1_an_operator_is_shown_why_a_run_is_in_its_state(world: World, site: ScriptedSite) -> None:
    member = world.new_member(consent=False)
    body = world.run_body()
    until(lambda: world.start(member, "00000000-0000-4000-8000-0000000000aa", **body)[0] in (200, 201))
    named = world.start(member, "00000000-0000-4000-8000-0000000000aa", **body)[1]["runId"]
    until(lambda: world.state(member, named) == ("waiting", "consent_expired"))
    [command] = site.of(named)
    assert site.token(command)[0] == 409
    listed = {run["runId"]: run for run in world.operator("show", "runs", "--live")["runs"]}
    assert (listed[named]["state"], listed[named]["reason"]) == ("waiting", "consent_expired")
    links = {each["link"]: each["text"] for each in world.operator("explain", "run", named)["links"]}
    assert links["run"].startswith("waiting (consent_expired)")
    assert links["consent"] == "the member never gave one: no token can be got"
    assert links["account"] == "confirmed by the Site, exactly the saved one"
    assert links["stage-in"].startswith(f"issued, command {command['sequence']}")
    assert links["maintenance"] in ("slurm never stated any", "takes new work")
    assert member.username in links["identity"]
    unknown = world.programs.tried(
        {"PHAROS_DATABASE_URL_FILE": world.programs.url("pharos_operator")}, "explain", "run", str(uuid4())
    )
    assert (unknown.returncode, "run_unknown" in unknown.stderr) == (3, True)


def test_o1_the_page_says_what_the_commands_say(
    world: World, site: ScriptedSite, pg_server: PgServer
) -> None:
    """As a role that only reads: the Run with its stage, its account kept for it, each link of evidence."""
    member, body = world.new_member(consent=False), world.run_body()
    until(lambda: world.start(member, KEY, **body)[0] in (200, 201))
    named = world.start(member, KEY, **body)[1]["runId"]
    until(lambda: world.state(member, named) == ("waiting", "consent_expired"))
    until(lambda: member.username in world.retained()[1])
    owners = {"PHAROS_ACCEPTED_WORK_OWNERS": "execution"}
    retained = world.operator("show", "retained", "--site", "slurm", **owners)["retained"]
    assert member.username in {each["username"] for each in retained}
    why = world.operator("explain", "retained", member.username, "--site", "slurm", **owners)["links"]
    assert f"kept: {member.username}, generation 1 of binding {member.binding}" in texts(why)
    assert any(text.startswith(f"execution run {named} required (revision ") for text in texts(why))

    url = pg_server.role_url("pharos_overview", world.programs.database)
    with Database(DatabaseOptions(url)) as database:
        settings = settings_of(url, **owners)
        overview = Overview(build_app(settings, database, Metrics("overview")))
        front = words(overview.page())
        assert "could not be read" not in front
        assert f"{named} waiting consent_expired stage-in issued none yet" in front
        assert "recovery of accepted work standing fresh" in front
        for path, said in (
            (f"/runs/{named}", ("run", named)),
            (f"/sites/slurm/accounts/{member.party}", ("account", member.party, "--site", "slurm")),
            (f"/allocations/{world.allocation}", ("allocation", world.allocation)),
        ):
            until(lambda: _same(words(overview.page(path)), world.operator("explain", *said)["links"]))  # noqa: B023


def _same(page: str, links: list[dict[str, Any]]) -> bool:
    """Whether every link stands on the page; it is read before them, and something may move in between."""
    page = TIME_LEFT.sub("", page)
    return all(" ".join(TIME_LEFT.sub("", text).split()) in page for text in texts(links))


def texts(links: list[dict[str, Any]]) -> list[str]:
    return [each["text"] for each in links]

"""A Run through every real process: from a POST to an output the Git host confirms (E1–E5, E7, S2)."""

from __future__ import annotations

from uuid import uuid4

import jwt

from tests.postgres.execution.site import ScriptedSite
from tests.postgres.execution.world import World
from tests.postgres.kernel.waiting import until


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
    unknown = world.programs.run(
        {"PHAROS_DATABASE_URL_FILE": world.programs.url("pharos_operator")}, "explain", "run", str(uuid4())
    )
    assert (unknown.returncode, "run_unknown" in unknown.stderr) == (3, True)

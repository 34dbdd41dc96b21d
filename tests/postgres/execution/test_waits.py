"""What makes a Run wait or end beside its own stages, through the real processes (E5, E7, P27-P31, S15)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.execution.site import ScriptedSite, finish, started
from tests.postgres.execution.world import World
from tests.postgres.kernel.waiting import until


def test_e7_a_leaver_loses_sight_and_control_at_once_and_its_run_waits(
    world: World, site: ScriptedSite
) -> None:
    member, other = world.new_member(), world.new_member()
    run = started(world, member)
    until(lambda: world.retained()[0] == 200 and member.username in world.retained()[1])
    world.told(world.beto.truth.remove_member(world.project, member.party))
    assert world.state(member, run) == ("", "forbidden")
    assert world.as_member(member, "POST", f"/runs/{run}/cancel", {"schema": 1, "reason": None})[0] == 403
    assert world.start(member)[1]["code"] == "forbidden"
    [command] = site.of(run)
    status, problem = site.token(command)
    assert (status, problem["code"]) == (403, "authority_refused")
    until(lambda: world.state(other, run) == ("waiting", "authority_refused"))
    until(lambda: world.retained()[0] == 200)
    assert member.username in world.retained()[1], "the account of accepted work is kept"

    world.told(world.beto.truth.add_member(world.project, member.party))
    until(lambda: world.state(member, run)[0] == "running")
    until(lambda: world.start(member)[1].get("reason") == "generation_pending")
    finish(world, site, run)
    assert world.state(member, run)[0] == "completed"
    until(lambda: member.username not in world.retained()[1])


def test_e5_an_ended_consent_makes_the_run_wait_until_it_is_renewed(world: World, site: ScriptedSite) -> None:
    member = world.new_member()
    run = started(world, member)
    status, over = world.call(
        "member", "DELETE", "/api/v1/me/execution-consent", world.issuer.mint(member.party)
    )
    assert (status, over["state"]) == (200, "ended")
    [command] = site.of(run)
    status, problem = site.token(command)
    assert (status, problem["code"]) == (409, "consent_expired")
    assert world.state(member, run) == ("waiting", "consent_expired")
    assert world.consent(member)[0] == 200
    until(lambda: world.state(member, run) == ("running", None))
    finish(world, site, run)
    assert world.state(member, run)[0] == "completed"


def test_e5_without_any_consent_the_run_says_so(world: World) -> None:
    member = world.new_member(consent=False)
    run = started(world, member)
    until(lambda: world.state(member, run) == ("waiting", "consent_expired"))


def test_s15_maintenance_holds_new_and_running_runs_until_it_is_over(
    world: World, site: ScriptedSite
) -> None:
    member = world.new_member()
    before = started(world, member)
    site.maintain(True)
    try:
        during = world.start(member)[1]
        assert (during["state"], during["reason"]) == ("waiting", "site_maintenance")
        assert site.of(during["runId"]) == []
        until(lambda: world.state(member, before) == ("waiting", "site_maintenance"))
        assert site.token(site.of(before)[0])[0] == 503
    finally:
        site.maintain(False)
    until(lambda: world.state(member, before) == ("running", None))
    until(lambda: len(site.of(during["runId"])) == 1)


def test_p31_a_paused_allocation_refuses_new_runs_and_holds_accepted_ones(
    world: World, site: ScriptedSite
) -> None:
    member = world.new_member()
    run = started(world, member)
    world.paused = True
    try:
        world.report()
        assert world.start(member)[1]["code"] == "resource_suspended"
        until(lambda: world.state(member, run) == ("waiting", "resource_suspended"))
    finally:
        world.paused = False
        world.report()
    until(lambda: world.state(member, run) == ("running", None))
    assert site.token(site.of(run)[0])[0] == 200


def test_p27_a_run_past_its_deadline_ends_and_its_job_is_cancelled(world: World, site: ScriptedSite) -> None:
    member = world.new_member()
    started(world, member)  # the member is known by now: nothing of the few seconds goes into that
    run = started(world, member, deadline=format_rfc3339(utc_now() + timedelta(seconds=10)))
    [command] = site.of(run)
    assert site.ack(command)[0] == 200
    until(lambda: world.state(member, run)[0] == "cancelling")
    cancel = next(each for each in site.of(run) if each["action"]["act"] == "cancel")
    assert cancel["action"]["reason"] == "deadline_passed"
    assert site.ack(cancel)[0] == 200
    assert site.result(command, "cancelled")[0] == 200
    assert world.state(member, run) == ("timed_out", "deadline_passed")
    assert world.as_member(member, "GET", f"/runs/{run}")[1]["cancelledBy"] is None


def test_e1_another_account_under_the_same_name_is_never_used(world: World, site: ScriptedSite) -> None:
    member = world.new_member()
    run = started(world, member)
    number, member.number = member.number, 100_000 + member.number
    try:
        world.report()
        [command] = site.of(run)
        assert command["validUntil"] == command["issuedAt"]
        assert site.token(command)[1]["code"] == "authority_refused"
        until(lambda: world.state(member, run) == ("waiting", "account_awaiting_site"))
    finally:
        member.number = number
        world.report()
    until(lambda: world.state(member, run) == ("running", None))


def test_s2_an_output_the_git_host_does_not_have_is_none(world: World, site: ScriptedSite) -> None:
    member = world.new_member()
    run = started(world, member)
    for _ in range(2):
        until(lambda: any(site.do(command) for command in site.of(run)))
    until(lambda: len(site.of(run)) == 1)
    [command] = site.of(run)
    assert site.token(command)[0] == 200
    assert site.ack(command)[0] == 200
    world.giver.out_of_order = True
    try:
        ref = command["action"]["outputs"]["ref"]
        assert site.result(command, output={"ref": ref, "commit": "f" * 40})[0] == 200
        until(lambda: world.state(member, run) == ("waiting", "output_awaiting_git"))
    finally:
        world.giver.out_of_order = False
    until(lambda: world.state(member, run) == ("failed", "output_unconfirmed"))


def test_p38_a_projects_allocations_are_told_to_its_members_alone(world: World) -> None:
    member = world.new_member()
    status, body = world.as_member(member, "GET", "/allocations")
    [allocation] = body["allocations"]
    assert (status, allocation["allocationId"], allocation["lifecycle"]) == (200, world.allocation, "ready")
    assert "nativeName" not in allocation
    world.told(world.beto.truth.remove_member(world.project, member.party))
    assert world.as_member(member, "GET", "/allocations")[1]["code"] == "forbidden"


def test_x13_a_parked_poll_is_told_of_a_new_command(world: World, site: ScriptedSite) -> None:
    member = world.new_member()
    started(world, member)
    head = site.ask("GET", "?after=0&limit=100")[1]["next"]
    while (page := site.ask("GET", f"?after={head}&limit=100")[1])["commands"]:
        head = page["next"]
    with ThreadPoolExecutor(1) as pool:
        parked = pool.submit(site.ask, "GET", f"?after={head}&wait=55")
        run = world.start(member)[1]["runId"]
        status, page = parked.result(60)
    assert (status, [each["runId"] for each in page["commands"]]) == (200, [run])


def test_e2_while_beto_is_silent_nothing_may_be_begun(world: World, site: ScriptedSite) -> None:
    member = world.new_member()
    run = started(world, member)
    world.beto.faults.silent = True
    try:
        [command] = site.of(run)
        assert command["validUntil"] == command["issuedAt"]
        assert site.token(command)[0] == 503
        assert world.state(member, run) == ("", "unavailable")
    finally:
        world.beto.faults.silent = False
    until(lambda: world.state(member, run) == ("running", None))


def test_e7_another_member_ends_a_run_and_is_kept_as_who_did(world: World, site: ScriptedSite) -> None:
    member, other = world.new_member(), world.new_member()
    run = started(world, member)
    [command] = site.of(run)
    assert site.ack(command)[0] == 200
    until(lambda: world.state(other, run)[0] == "running")
    key, body = str(uuid4()), {"schema": 1, "reason": "wrong input"}
    status, asked = world.as_member(other, "POST", f"/runs/{run}/cancel", body, key)
    assert (status, asked["state"], asked["cancelledBy"]) == (202, "cancelling", other.party)
    assert world.as_member(other, "POST", f"/runs/{run}/cancel", body, key)[1] == asked
    [cancel] = site.of(run)
    assert (cancel["action"]["actor"], cancel["action"]["reason"]) == (other.party, "member_asked")
    assert site.ack(cancel)[0] == 200
    assert site.result(command, "cancelled")[0] == 200
    assert world.state(member, run) == ("cancelled", "member_asked")
    status, problem = world.as_member(member, "POST", f"/runs/{run}/cancel", body)
    assert (status, problem["code"]) == (409, "run_ended")
    [cleanup] = site.of(run)
    assert site.do(cleanup)
    until(lambda: other.username not in world.retained()[1] and member.username not in world.retained()[1])

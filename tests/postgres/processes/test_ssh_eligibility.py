"""Who may add a key at a Site, from Beto and the Site's reports, through every real process (P30)."""

from __future__ import annotations

from datetime import timedelta

from tests.postgres.kernel.waiting import until
from tests.postgres.processes.rig import Programs, ports
from tests.postgres.processes.world import OLD, World, member_at_the_site, member_settings
from tests.postgres.provisioning.conftest import PROJECT_REF
from tests.simulators.beto.beto import Faults


def test_p30_a_key_needs_fresh_evidence_and_its_removal_needs_none(world: World) -> None:
    until(lambda: world.site(f"members/u1?providerProjectRef={PROJECT_REF}")[0] == 404)
    assert world.add(1)[0] == 403, "no allocation was ever reported"

    world.reports(OLD, generation=1)
    assert world.add(1) == (503, "unavailable"), "stale evidence proves nothing either way"
    world.reports(timedelta(0), generation=1)
    until(lambda: member_at_the_site(world) == "active")
    assert world.add(1) == (201, "pending")
    status, listed = world.site(f"members?providerProjectRef={PROJECT_REF}")
    assert (status, [row["username"] for row in listed["members"]]) == (200, ["u1"])

    world.told(world.beto.truth.bind_site(world.party, "slurm", "u2"))
    until(lambda: world.add(2) == (503, "unavailable"))
    world.told(world.beto.truth.retire_binding(world.party, 1))
    until(lambda: world.add(3) == (201, "pending"))

    world.told(world.beto.truth.remove_member(world.project, world.party))
    until(lambda: member_at_the_site(world) == "retired")
    assert world.add(4) == (403, "not_eligible")
    first, second = (key["keyId"] for key in world.keys("GET")[1]["keys"][:2])
    assert world.keys("DELETE", f"/{first}")[:1] == (202,), "a former member takes a key away"

    world.told(world.beto.truth.add_member(world.project, world.party))
    world.beto.faults = Faults(silent=True)
    until(lambda: world.add(5) == (503, "unavailable"))
    status, key, _ = world.keys("DELETE", f"/{second}")
    assert (status, key["state"]) == (202, "removing"), "no evidence is asked for"


def test_p37_the_member_api_starts_only_as_who_may_ask(programs: Programs) -> None:
    (port,) = ports(1)
    environment = member_settings(programs, port, "http://127.0.0.1:9")
    done = programs.tried(environment, "serve", "member-api")
    assert done.returncode == 3
    assert "connect as pharos_resource_provisioning_reader" in done.stderr

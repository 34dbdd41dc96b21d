"""`show` and `explain`: each link of evidence with its age; empty, unknown and unavailable apart (O1, X1)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

from tests.postgres.kernel.waiting import until
from tests.postgres.processes.rig import Programs, ports
from tests.postgres.processes.world import OLD, World, member_at_the_site
from tests.postgres.provisioning.conftest import PROJECT_REF


def operator(programs: Programs) -> dict[str, str]:
    return {"PHAROS_DATABASE_URL_FILE": programs.url("pharos_operator"), "PHAROS_SITES": "slurm,k8s"}


def shown(programs: Programs, *words: str) -> Any:
    """The rows a `show` command prints."""
    done = programs.run(operator(programs), "show", *words, "--json")
    return json.loads(done.stdout)[words[0]]


def links(programs: Programs, *words: str) -> dict[str, str]:
    """Link → text, of the last of each name."""
    done = programs.run(operator(programs), "explain", *words, "--json")
    found = json.loads(done.stdout)["links"]
    assert all((link["ageSeconds"] is None) == (link["at"] is None) for link in found)
    return {link["link"]: link["text"] for link in found}


def test_o1_every_link_of_a_members_account_with_its_age(world: World) -> None:
    programs = world.programs
    until(lambda: member_at_the_site(world) == "member_unknown")
    world.reports(OLD, generation=1)
    until(lambda: shown(programs, "members", "--site", "slurm", "--project", world.project) != [])

    (row,) = shown(programs, "allocations", "--site", "slurm")
    listed = programs.run(operator(programs), "show", "allocations").stdout.splitlines()
    assert [line.index(text) for line, text in zip(listed, ("SITE", "slurm"), strict=True)] == [38, 38]
    assert listed[0].index("PROJECT") == listed[1].index(world.project)
    assert (row["projectId"], row["lifecycle"], row["fresh"]) == (world.project, "ready", False)
    assert row["ageSeconds"] >= OLD.total_seconds()
    (account,) = shown(programs, "accounts", "--project", world.project)
    assert (account["name"], account["state"], account["fresh"]) == ("u1", "ready", False)
    (member,) = shown(programs, "members", "--site", "slurm", "--project", world.project)
    assert (member["username"], member["state"], member["generation"]) == ("u1", "member", 1)
    stale = links(programs, "account", "u1", "--site", "slurm")
    assert "STALE" in stale["allocation"]
    assert "STALE" in stale["accounts"]

    world.reports(timedelta(0), generation=1)
    good = links(programs, "account", world.party, "--site", "slurm")
    assert list(good) == ["view", "binding", "allocation", "member", "authority", "accounts", "account"]
    assert "fresh" in good["allocation"]
    assert "fresh, below the limit of 900 s" in good["accounts"]
    assert "applied generation 1;" in good["account"]
    assert f"Party {world.party} is u1 at slurm" in good["binding"]

    world.told(world.beto.truth.add_member(world.project, world.party))
    until(lambda: "NOT the current one (2)" in links(programs, "account", "u1", "--site", "slurm")["account"])
    world.told(world.beto.truth.bind_site(world.party, "slurm", "u2"))
    until(lambda: "CONFLICT" in links(programs, "account", world.party, "--site", "slurm")["binding"])

    whole = links(programs, "allocation", row["allocationId"])
    assert whole["state"] == "ready (revision 1)"
    assert whole["binding"].endswith("and the view says the same")
    assert "1 members with a verified binding" in whole["project"]
    assert whole["authority"].startswith("ready over revision")
    assert whole["accounts"].startswith("1 ready, 0 incomplete; fresh")
    text = programs.run(operator(programs), "explain", "allocation", row["allocationId"]).stdout
    assert "s ago)" in text


def test_o1_projects_are_listed_and_named_by_id_or_by_the_providers_name(world: World) -> None:
    programs = world.programs
    until(lambda: member_at_the_site(world) == "member_unknown")
    (row,) = shown(programs, "projects")
    assert (row["projectId"], row["lifecycle"], row["members"]) == (world.project, "active", 1)
    assert (row["authority"], row["defers"]) == ("ready", None)
    assert [one["projectRef"] for one in row["providerBindings"]] == [PROJECT_REF]
    listed = programs.run(operator(programs), "show", "projects").stdout.splitlines()
    assert listed[1].startswith(f"{world.project}  active    1       ready")
    assert listed[1].endswith(f"waldur {PROJECT_REF}")
    for named in (world.project, PROJECT_REF, PROJECT_REF.upper(), PROJECT_REF.replace("-", "")):
        (member,) = shown(programs, "members", "--site", "slurm", "--project", named)
        assert member["username"] == "u1"
    for unknown in (str(uuid4()), "no-such-project"):
        refused = programs.tried(
            operator(programs), "show", "members", "--site", "slurm", "--project", unknown
        )
        assert (refused.returncode, "project_unknown" in refused.stderr) == (3, True), refused.stderr

    other, founded = world.beto.truth.new_project(PROJECT_REF)
    world.tell(founded)
    asked = ("show", "members", "--site", "slurm", "--project", PROJECT_REF)
    until(lambda: "project_ambiguous" in programs.tried(operator(programs), *asked).stderr)
    assert len(shown(programs, "projects")) == 2
    assert shown(programs, "members", "--site", "slurm", "--project", other) == []


def test_x1_a_list_of_retained_accounts_is_whole_or_not_there(world: World) -> None:
    """No owner answers here, so that no recovery pass stands (P28)."""
    programs = world.programs
    until(lambda: member_at_the_site(world) == "member_unknown")
    refused = programs.tried(operator(programs), "show", "retained", "--site", "slurm")
    assert (refused.returncode, refused.stdout) == (4, "")
    assert refused.stderr.startswith("unavailable (recovery_pending): ")
    why = links(programs, "retained", "u1", "--site", "slurm")
    assert why["recovery"].startswith("NO LIST: ")
    assert why["binding"] == f"Party {world.party} is u1 at slurm, active"
    assert why["work"] == "no owner told of work of theirs at slurm: nothing is kept for them"
    unknown = programs.tried(operator(programs), "explain", "retained", "nobody", "--site", "slurm")
    assert (unknown.returncode, "member_unknown" in unknown.stderr) == (3, True)


def test_x1_empty_unknown_and_unavailable_are_told_apart(programs: Programs) -> None:
    for what in ("allocations", "accounts"):
        empty = programs.run(operator(programs), "show", what)
        assert (empty.stdout, empty.stderr) == ("", "none\n")
    asked = ("members", "--site", "slurm", "--project", str(uuid4()))
    for words in (asked, ("projects",), ("retained", "--site", "slurm")):
        unloaded = programs.tried(operator(programs), "show", *words)
        assert (unloaded.returncode, unloaded.stdout) == (4, "")
        assert "unavailable" in unloaded.stderr
    for words, code in (
        (("explain", "allocation", str(uuid4())), "allocation_unknown"),
        (("explain", "account", "nobody", "--site", "slurm"), "member_unknown"),
    ):
        unknown = programs.tried(operator(programs), *words)
        assert (unknown.returncode, code in unknown.stderr) == (3, True), unknown.stderr
    assert "`pharos-central show members --site SITE --project PROJECT`" in unknown.stderr


def test_x1_a_site_the_platform_does_not_have_is_unknown_not_empty(programs: Programs) -> None:
    asked = ("members", "--project", str(uuid4()))
    shown = [("show", *words) for words in (("allocations",), ("accounts",), ("runs",), ("retained",), asked)]
    for words in (*shown, ("explain", "account", "u1"), ("explain", "retained", "u1")):
        unknown = programs.tried(operator(programs), *words, "--site", "icarus-hpc")
        assert (unknown.returncode, unknown.stdout) == (3, ""), unknown.stderr
        assert unknown.stderr.startswith("refused (site_unknown): 'icarus-hpc' is no Site of this platform")
        assert "known are slurm, k8s" in unknown.stderr


def test_x1_a_database_that_is_down_is_told_once(programs: Programs) -> None:
    """The pool's own log of failed tries does not come before the command's line."""
    settings = {"PHAROS_DATABASE_URL": f"postgresql://pharos_operator@127.0.0.1:{ports(1)[0]}/none"}
    down = programs.tried(settings | {"PHAROS_SITES": "slurm"}, "show", "allocations")
    assert (down.returncode, down.stdout) == (4, "")
    (line,) = down.stderr.splitlines()
    assert line.startswith("unavailable (database_unavailable): ")


def test_x1_a_project_the_view_does_not_have_is_unknown_not_empty(world: World) -> None:
    until(lambda: world.site(f"members?providerProjectRef={PROJECT_REF}")[0] == 404)
    asked = ("show", "members", "--site", "slurm", "--project", str(uuid4()))
    unknown = world.programs.tried(operator(world.programs), *asked)
    assert (unknown.returncode, "project_unknown" in unknown.stderr) == (3, True), unknown.stderr
    nobody = shown(world.programs, "members", "--site", "k8s", "--project", world.project)
    assert nobody == []

"""The members of many Projects in one answer: each as the route of one Project has it (P15–P19, S8, X1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from central.projects.application import list_members
from tests.contract.goldens import Refused, canonical, load
from tests.postgres.projects.conftest import View
from tests.postgres.projects.member_rig import (
    KEY,
    PROJECT,
    REF,
    Sites,
    known_as,
    listed,
    post,
    told,
    told_party,
)
from tests.simulators.beto.beto import Faults, ready_for

ASKED, ANSWERED = load("project-members-request"), load("project-members")
NOBODYS = "00000000-0000-4000-8000-000000000999"


def asked(app: Flask, *refs: str) -> Any:
    """The whole answer."""
    answer = post(app, canonical({"schema": 1, "providerProjectRefs": list(refs)}))
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def shown(app: Flask, refs: Sequence[str]) -> dict[str, Any]:
    """Ref → username → state, or the code, of every ref, asked for until none is left."""
    found: dict[str, Any] = {}
    left = list(refs)
    while left:
        projects = asked(app, *left)["projects"]
        assert 0 < len(projects) <= len(left)
        assert [one["providerProjectRef"] for one in projects] == left[: len(projects)]
        for one in projects:
            rows = {row["username"]: row["state"] for row in one["members"]}
            assert one["count"] == len(rows)
            found[one["providerProjectRef"]] = one["code"] or rows
        left = left[len(projects) :]
    return found


def more_projects(view: View, sites: Sites, number: int) -> list[str]:
    """As many further Projects with an allocation here, each of two members."""
    truth, refs = view.beto.truth, []
    for place in range(number):
        ref = f"00000000-0000-4000-8000-0000000007{place:02}"
        project, change = truth.new_project(ref)
        told(view, change)
        for one in range(2):
            told(view, truth.add_member(project, told_party(view, f"p{place}m{one}")))
        told(view, truth.set_authority(project, "ready", ready_for(view.clock)))
        sites.known.add((UUID(project), "slurm"))
        refs.append(ref)
    return refs


def test_x10_the_golden_answer_byte_for_byte(member: View, app: Flask) -> None:
    case = next(case for case in ANSWERED.valid if case.name == "active_and_retired")
    known_as(member, case.body["projects"][0]["members"][1], "u2")
    member.clock.now = member.clock.now.replace(hour=10, minute=0, second=30, microsecond=0)
    assert post(app, canonical({"schema": 1, "providerProjectRefs": [REF]})).data == case.canonical


def test_p19_the_golden_questions_are_answered(member: View, app: Flask) -> None:
    found = [shown(app, case.body["providerProjectRefs"]) for case in ASKED.valid]
    plain = REF.replace("-", "")
    assert found == [{REF: {"u1": "active"}, NOBODYS: "project_unknown"}, {plain: {"u1": "active"}}]


@pytest.mark.parametrize("case", ASKED.refused, ids=lambda case: str(case.name))
def test_p19_the_golden_refusals(member: View, app: Flask, case: Refused) -> None:
    headers = dict(case.request["headers"])
    headers["Authorization"] = f"Bearer {KEY}" if "Authorization" in headers else None
    answer = post(app, case.raw, case.request["path"], **headers)
    assert (answer.status_code, answer.get_json()["code"]) == (case.status, case.code)


def test_s8_each_is_what_it_is_alone_and_beto_is_asked_once_for_all(
    member: View, app: Flask, sites: Sites
) -> None:
    refs = [REF, *more_projects(member, sites, 3), NOBODYS]
    before = len(member.beto.asked)
    together = shown(app, refs)
    assert len(member.beto.asked) - before == 7
    for ref in refs[:-1]:
        assert listed(app, f"/resource-provisioning/slurm/members?providerProjectRef={ref}") == (
            200,
            together[ref],
        )
    assert together[NOBODYS] == "project_unknown"


def test_x1_one_project_in_doubt_takes_no_other_with_it(member: View, app: Flask, sites: Sites) -> None:
    first, second = more_projects(member, sites, 2)
    truth = member.beto.truth
    (holder,) = [
        name
        for name, project in truth.projects.items()
        if any(one["projectRef"] == first for one in project["providerBindings"])
    ]
    told(member, truth.set_authority(holder, "pending", ready_for(member.clock)))
    two = {"p1m0": "active", "p1m1": "active"}
    assert shown(app, [first, second, REF]) == {first: "unavailable", second: two, REF: {"u1": "active"}}


def test_x1_nothing_is_told_without_the_view_or_beto(member: View, app: Flask) -> None:
    member.beto.faults = Faults(silent=True)
    answer = post(app, canonical({"schema": 1, "providerProjectRefs": [REF]}))
    assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")


def test_x1_an_empty_view_tells_nothing(view: View, app: Flask) -> None:
    answer = post(app, canonical({"schema": 1, "providerProjectRefs": [REF]}))
    assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")


def test_s8_an_answer_is_bounded_and_always_goes_on(
    member: View, app: Flask, sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [REF, *more_projects(member, sites, 4)]
    whole = shown(app, refs)
    assert len(asked(app, *refs)["projects"]) == 5
    for most, first in ((1, 1), (2, 1), (3, 2), (5, 3), (9, 5)):
        monkeypatch.setattr(list_members, "MEMBERS_AT_ONCE", most)
        assert len(asked(app, *refs)["projects"]) == first
        assert shown(app, refs) == whole
    assert len(asked(app, NOBODYS, *refs)["projects"]) == 6


def test_p19_no_key_probes_another_sites_projects(member: View, app: Flask, sites: Sites) -> None:
    sites.known.clear()
    before = len(member.beto.asked)
    assert shown(app, [REF]) == {REF: "project_unknown"}
    assert len(member.beto.asked) == before
    assert PROJECT in member.beto.truth.projects

"""The members of a Project in one answer: every row as the route of one member has it, or nothing (P15–P19,
S8).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from central.projects.application import list_members
from central.projects.domain.ids import ProjectId
from site_bundle.kernel.strict_json import decode_object
from site_bundle.reporter.adapters.wire_lists import ProjectMembersBody
from site_bundle.reporter.domain.sources import Project
from tests.contract.goldens import Refused, Valid, canonical, load
from tests.postgres.projects.conftest import View
from tests.postgres.projects.member_rig import (
    KEY,
    PARTY,
    PATH,
    PROJECT,
    REF,
    SLURM,
    TURNS,
    Sites,
    ask,
    known_as,
    listed,
    post,
    told,
    told_party,
)
from tests.simulators.beto.beto import Faults, ready_for
from tests.simulators.beto.truth import Change, Truth

UNAVAILABLE = (503, "unavailable")
UNKNOWN = (404, "project_unknown")


def golden(name: str) -> Valid:
    return next(case for case in load("site-members").valid if case.name == name)


def test_s8_the_golden_answers_byte_for_byte(member: View, app: Flask) -> None:
    case = golden("active_and_retired")
    known_as(member, case.body["members"][1], "u2")
    member.clock.now = member.clock.now.replace(hour=10, minute=0, second=30, microsecond=0)
    assert ask(app, PATH).data == case.canonical


def test_e23_e26_any_name_once_in_the_order_the_site_checks(member: View, app: Flask) -> None:
    """By code points, whatever the database sorts by; no name of Beto's is too long or too odd to read."""
    truth = member.beto.truth
    names = ["B", "a", "ä", "_x", "zoe\u0308", "zoë", "\u202ea", "ａ", "x" * 255, "\U0001f600", "a "]
    for name in names:
        party, change = truth.new_party(site="slurm", username=name)
        told(member, change, truth.add_member(PROJECT, party))
    told(member, truth.set_authority(PROJECT, "ready", ready_for(member.clock), management=3))
    raw = post(app, canonical({"schema": 1, "providerProjectRefs": [REF]}))
    (found,) = decode_object(raw.data, ProjectMembersBody, max_bytes=1 << 20).checked([REF])
    assert isinstance(found, Project)
    assert [one.username for one in found.members] == sorted([*names, "u1"])
    assert [row["username"] for row in ask(app, PATH).get_json()["members"]] == sorted([*names, "u1"])


@pytest.mark.parametrize("case", load("site-members-request").valid, ids=lambda case: str(case.name))
def test_p19_the_golden_questions_are_answered(member: View, app: Flask, case: Valid) -> None:
    assert listed(app, case.request["path"]) == (200, {"u1": "active"})


@pytest.mark.parametrize("case", load("site-members-request").refused, ids=lambda case: str(case.name))
def test_p19_the_golden_refusals(member: View, app: Flask, case: Refused) -> None:
    headers = case.request["headers"]
    answer = ask(
        app,
        case.request["path"],
        Authorization=f"Bearer {KEY}" if "Authorization" in headers else None,
        **{"Pharos-Schema": headers["Pharos-Schema"]},
    )
    assert (answer.status_code, answer.get_json()["code"]) == (case.status, case.code)


def test_x1_an_empty_view_lists_nothing_and_says_so(view: View, app: Flask) -> None:
    assert listed(app) == UNAVAILABLE
    view.load()
    assert listed(app) == UNKNOWN


def test_p19_a_project_is_listed_only_where_it_has_an_allocation(
    member: View, app: Flask, sites: Sites
) -> None:
    assert listed(app, PATH.replace("slurm", "k8s")) == UNKNOWN
    sites.known.clear()
    asked = len(member.beto.asked)
    assert listed(app) == UNKNOWN
    assert len(member.beto.asked) == asked


def test_p18_who_has_no_verified_binding_or_no_name_here_is_not_in_it(member: View, app: Flask) -> None:
    truth = member.beto.truth
    pending, first = truth.new_party(site="slurm", username="u2")
    elsewhere, second = truth.new_party(site="k8s", username="u3")
    told(member, first, second, truth.add_member(PROJECT, pending, pending=True))
    told(member, truth.add_member(PROJECT, elsewhere))
    told(member, truth.set_authority(PROJECT, "ready", ready_for(member.clock)))
    assert listed(app) == (200, {"u1": "active"})
    asked = {question["partyId"] for question in member.beto.asked if "partyId" in question}
    assert asked == {PARTY}


@pytest.mark.parametrize("fault", ["silent", "corrupt", "pending", "conflict", "another revision"])
def test_s8_one_row_in_doubt_makes_the_whole_answer_unavailable(member: View, app: Flask, fault: str) -> None:
    truth = member.beto.truth
    other, known = truth.new_party(site="slurm", username="u2")
    told(member, known, truth.add_member(PROJECT, other))
    told(member, truth.set_authority(PROJECT, "ready", ready_for(member.clock)))
    assert listed(app) == (200, {"u1": "active", "u2": "active"})
    if fault == "silent":
        member.beto.faults = Faults(silent=True)
    elif fault == "corrupt":
        member.beto.faults = Faults(corrupt=lambda answer: answer | {"decision": "maybe"})
    elif fault == "another revision":
        member.beto.faults = Faults(corrupt=lambda answer: answer | {"projectRevision": 99})
    elif fault == "pending":
        told(member, truth.set_authority(PROJECT, "pending", ready_for(member.clock)))
    else:
        told(member, truth.new_party(site="slurm", username="u2")[1])
    assert listed(app) == UNAVAILABLE


def test_s8_a_list_beyond_the_limit_is_refused_whole(
    member: View, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_members, "MEMBERS_MAX", 1)
    assert listed(app) == (200, {"u1": "active"})
    told(member, member.beto.truth.bind_site(PARTY, "slurm", "u2"))
    assert listed(app) == UNAVAILABLE


@pytest.mark.parametrize("seed", range(4))
def test_p19_each_row_is_what_the_route_of_one_member_says(member: View, app: Flask, seed: int) -> None:
    """Whatever happened in Beto: the list holds exactly the names one by one, or is unavailable with one."""
    dice, truth = random.Random(seed), member.beto.truth
    parties = [PARTY, *(told_party(member, f"u{number}") for number in range(2, 6))]
    statuses = set()
    for _ in range(25):
        party = dice.choice(parties)
        told(member, some_act(dice, truth, party))
        told(member, truth.set_authority(PROJECT, "ready", ready_for(member.clock)))
        member.beto.denied = {(PROJECT, dice.choice(parties))}
        statuses.add(agree(member, app))
    assert statuses == {200, 503}


def some_act(dice: random.Random, truth: Truth, party: str) -> Change:
    """One change of the Party's membership or of its names."""
    acts: list[Callable[[], Change]] = [
        lambda: truth.add_member(PROJECT, party),
        lambda: truth.add_member(PROJECT, party),
        lambda: truth.remove_member(PROJECT, party),
        lambda: truth.bind_site(party, "slurm", f"u{dice.randrange(1, 7)}"),
        lambda: truth.retire_binding(party, dice.randrange(len(truth.parties[party]["providerBindings"]))),
    ]
    return dice.choice(acts)()


def agree(view: View, app: Flask) -> int:
    """Compares the list with the names one by one; the list's status."""
    truth = view.beto.truth
    members = {party for project, party in truth.generations if project == PROJECT}
    names = {
        binding["subject"]: 0 for party in members for binding in truth.parties[party]["providerBindings"]
    }
    ones = {}
    for name in names:
        path = PATH.replace("/members?", f"/members/{name}?")
        answer = ask(app, path)
        ones[name] = (answer.status_code, answer.get_json())
    status, found = listed(app)
    if any(one[0] == 503 for one in ones.values()):
        assert status == 503
        return status
    assert status == 200
    rows = {row.pop("username"): row for row in ask(app, PATH).get_json()["members"]}
    assert rows == {
        name: {key: value for key, value in body.items() if key not in ("schema", "projectId")}
        for name, (one, body) in ones.items()
        if one == 200
    }
    assert found == {name: row["state"] for name, row in rows.items()}
    return status


def test_x13_a_silent_beto_holds_few_threads(member: View, app: Flask) -> None:
    """As many questions as may wait for Beto wait; one more is told to come back at once."""
    asked, release = Semaphore(0), Event()

    def silent(answer: dict[str, Any]) -> dict[str, Any]:
        asked.release()
        assert release.wait(60)
        return answer

    member.beto.faults = Faults(corrupt=silent)
    with ThreadPoolExecutor(TURNS) as pool:
        waiting = [pool.submit(listed, app) for _ in range(TURNS)]
        for _ in range(TURNS):
            assert asked.acquire(timeout=60)
        refused = ask(app, PATH)
        assert (refused.status_code, refused.get_json()["code"]) == UNAVAILABLE
        assert "Retry-After" in refused.headers
        release.set()
        assert [one.result(timeout=60) for one in waiting] == [(200, {"u1": "active"})] * TURNS
    assert listed(app) == (200, {"u1": "active"})


def test_p19_ten_thousand_members_are_read_before_the_planner_knows_the_tables(view: View) -> None:
    """What is read grows with the list: a product of two such lists would meet the statement timeout."""
    truth, count = view.beto.truth, list_members.MEMBERS_MAX
    project, _ = truth.new_project(REF)
    members = [
        {"partyId": truth.new_party(site="slurm", username=f"u{number}")[0], "binding": dict(VERIFIED)}
        for number in range(count)
    ]
    truth.projects[project] |= {"members": members, "revision": 2}
    view.load()
    (viewed,) = view.reads.named_members([ProjectId(UUID(project))], SLURM, view.now(), most=1)
    assert viewed is not None
    assert len(viewed.names) == len(viewed.memberships) == count


VERIFIED = {"bindingId": "00000000-0000-4000-8000-000000000304", "revision": 1}

"""Central away, refusing, answering late: the outbox holds little, replays byte for byte, renews nothing
(S8, P28, S11, X7).
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from tests.site.reporter import Scene

pytestmark = pytest.mark.slapd


def bodies(scene: Scene, kind: str) -> list[bytes]:
    return [raw for what, raw in scene.platform.arrived if what == kind]


def test_s8_an_hour_without_central_keeps_two_reports_a_subject(scene: Scene) -> None:
    """What was tried stays as it is; what was not is replaced. Members are unreadable, so no set is made."""
    scene.once()
    before = scene.platform.resources[scene.resource][0]
    with scene.intake.away():
        for _ in range(5):
            observed, sent = scene.once()
            assert sent.error is not None and sent.error.code == "intake_unreachable"
            assert not observed.decision.sets
        assert scene.outbox() == [("resources", True), ("resources", False)]
        newest = observed.observed_at
    scene.once()
    times = [json.loads(raw)["observedAt"] for raw in bodies(scene, "reports")]
    assert times == sorted(times), "oldest first, each with the time of its own reads"
    assert before < newest < scene.platform.resources[scene.resource][0]
    assert scene.outbox() == []


def test_x7_lost_answer_is_asked_again_byte_for_byte(scene: Scene) -> None:
    scene.intake.server.faults.plan("reports", "lose", "lose")
    _, sent = scene.once()
    assert sent.error is not None
    scene.once()
    first = bodies(scene, "reports")
    assert first[0] == first[1] == first[2], "the client's own retry and the next turn's"
    assert len(scene.platform.receipts) == 3


def test_p36_replay_renews_nothing(scene: Scene) -> None:
    """The intake saw the report; its replay leaves last-seen where it was."""
    scene.intake.server.faults.plan("account-sets", "lose", "lose")
    scene.once()
    allocation = scene.platform.allocation(scene.resource)
    seen = scene.platform.accounts[allocation][0]
    scene.intake.platform.members_down = True
    scene.once()
    assert scene.platform.accounts[allocation][0] == seen
    raw = bodies(scene, "account-sets")
    assert raw[0] == raw[-1] and len(raw) == 3


def test_s11_p28_unreadable_retained_list_keeps_every_account(scene: Scene) -> None:
    """bob left and nobody lists him any more: gone from the set only once the list could be read."""
    scene.once()
    _, rows = scene.platform.projects[next(iter(scene.platform.projects))]
    rows[:] = [row for row in rows if row["username"] != "bob"]
    scene.platform.retained = None
    observed, _ = scene.once()
    assert observed.failed["retained"].code == "recovery_pending"
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}
    scene.platform.retained = []
    scene.once()
    assert scene.states() == {"alice": ("ready", 1)}


def test_s8_retained_account_stays_in_the_set(scene: Scene) -> None:
    scene.once()
    _, rows = scene.platform.projects[next(iter(scene.platform.projects))]
    gone = next(row for row in rows if row["username"] == "bob")
    rows.remove(gone)
    scene.platform.retained = [
        {"projectId": scene.project_id, "partyId": gone["partyId"], "bindingId": gone["bindingId"],
         "generation": 1, "username": "bob"}
    ]  # fmt: skip
    scene.once()
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}


def test_s8_member_who_left_is_reported_while_the_account_is_there(scene: Scene) -> None:
    scene.once()
    scene.join("bob", state="retired")
    scene.once()
    assert scene.states()["bob"] == ("ready", 1)


def test_x1_members_unavailable_makes_no_set_and_stops_no_resource(scene: Scene) -> None:
    scene.platform.members_down = True
    observed, sent = scene.once()
    assert not observed.decision.sets and sent.outcomes == {"changed": 1}
    assert scene.accounts() is None


def test_s8_project_not_known_yet_is_waiting_not_a_fault(scene: Scene) -> None:
    scene.platform.projects.clear()
    observed, sent = scene.once()
    assert [item.code for item in observed.decision.waiting] == ["project_unknown"]
    assert not observed.decision.faults and sent.error is None


def test_s8_too_large_is_split(scene: Scene) -> None:
    for number in range(4):
        scene.add_resource(f"other{number}", state="Creating")
    scene.platform.largest = 2
    _, sent = scene.once()
    assert sent.outcomes["changed"] == 5
    ids = [json.loads(raw)["reportId"] for raw in bodies(scene, "reports")]
    assert len(ids) == 5
    assert len(set(ids)) == len(ids)


def further(scene: Scene, number: int) -> list[str]:
    """So many further allocations of the same Project, each with carol's account; their resources."""
    scene.join("carol")
    made = []
    for place in range(number):
        made.append(scene.add_resource(f"more{place}"))
        scene.cluster.add_account(f"more{place}", tres="cpu=1")
        scene.cluster.add_user(f"more{place}", "carol")
    return made


def test_s8_all_sets_of_a_pass_go_in_one_report(scene: Scene) -> None:
    more = further(scene, 3)
    _, sent = scene.once()
    (raw,) = bodies(scene, "account-sets")
    assert sent.outcomes["recorded"] == 4 and not bodies(scene, "accounts")
    wanted = {scene.platform.allocation(resource) for resource in (scene.resource, *more)}
    assert {one["allocationId"] for one in json.loads(raw)["sets"]} == wanted
    calls = Counter(path.rpartition("/")[2] for _, path in scene.intake.server.requests)
    assert calls["project-members"] == 1


def test_p12_one_refused_set_loses_no_other_and_is_said(scene: Scene) -> None:
    bad, good = further(scene, 2)
    scene.platform.names_refused = {scene.platform.allocation(bad)}
    _, sent = scene.once()
    assert sent.outcomes["account_name_invalid"] == 1 and sent.outcomes["recorded"] == 2
    assert scene.accounts(good) and scene.accounts(bad) is None and scene.outbox() == []


def test_s8_sets_too_many_for_central_are_split_to_the_last(scene: Scene) -> None:
    more = further(scene, 4)
    scene.platform.largest = 2
    _, sent = scene.once()
    assert scene.outbox() == []
    assert all(scene.accounts(resource) for resource in (scene.resource, *more))
    assert sent.outcomes["recorded"] == 5
    ids = [json.loads(raw)["reportId"] for raw in bodies(scene, "account-sets")]
    assert len(set(ids)) == len(ids)


def test_s8_one_set_central_cannot_read_is_found_by_halves(scene: Scene) -> None:
    """All, and then each half that holds it, are refused for their form; every other set is taken."""
    bad, *more = further(scene, 4)
    scene.platform.malformed = {scene.platform.allocation(bad)}
    _, sent = scene.once()
    assert scene.outbox() == [] and [fault.code for fault in sent.faults] == ["body_invalid"]
    assert all(scene.accounts(resource) for resource in (scene.resource, *more))
    assert scene.accounts(bad) is None


def test_x1_one_project_in_doubt_takes_no_other_with_it(scene: Scene) -> None:
    other = scene.waldur.act("add_project", name="Quark", customer=scene.customer)
    resource = scene.add_resource("quark", project=other)
    scene.platform.projects[str(UUID(other))] = (str(uuid4()), [])
    scene.cluster.add_account("quark", tres="cpu=1")
    scene.platform.untold = {str(UUID(other))}
    observed, _ = scene.once()
    assert observed.failed["members"].code == "unavailable"
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)} and scene.accounts(resource) is None
    scene.platform.untold = set()
    scene.once()
    assert scene.accounts(resource) == []


def test_s8_lists_that_do_not_fit_one_answer_are_asked_for_until_none_is_left(scene: Scene) -> None:
    for number in range(3):
        project = scene.waldur.act("add_project", name=f"P{number}", customer=scene.customer)
        scene.platform.projects[str(UUID(project))] = (str(uuid4()), [])
        scene.add_resource(f"p{number}", project=project)
        scene.cluster.add_account(f"p{number}", tres="cpu=1")
    scene.platform.members_at_once = 0
    observed, sent = scene.once()
    assert not observed.failed and sent.outcomes["recorded"] == 4
    calls = Counter(path.rpartition("/")[2] for _, path in scene.intake.server.requests)
    assert 1 < calls["project-members"] <= 4


def test_s8_allocation_unknown_heals_with_the_next_pass(scene: Scene) -> None:
    """The accounts came first, or central forgot the allocation."""
    scene.intake.server.faults.plan("reports", "status:400")
    _, sent = scene.once()
    assert sent.outcomes["allocation_unknown"] == 1 and scene.outbox() == []
    scene.once()
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}


def test_s8_conflicting_and_stale_reports_are_dropped(scene: Scene) -> None:
    scene.once()
    allocation = scene.platform.allocation(scene.resource)
    saved = scene.platform.accounts[allocation]
    scene.platform.accounts[allocation] = (datetime.now(UTC) + timedelta(hours=1), saved[1])
    _, sent = scene.once()
    assert sent.outcomes["stale_report"] == 1 and not sent.faults and scene.outbox() == []


def test_s8_clock_ahead_drops_and_says_so(scene: Scene) -> None:
    scene.intake.server.now = lambda: datetime.now(UTC) - timedelta(hours=1)
    _, sent = scene.once()
    assert sent.error is not None and sent.error.code == "observed_in_future"
    assert "clock" in sent.error.remedy
    assert [subject for subject, _ in scene.outbox() if subject == "resources"] == []


@pytest.mark.parametrize("fault", ["status:503", "retry:7", "html", "redirect", "drop"])
def test_x1_whatever_ails_central_the_report_stays(scene: Scene, fault: str) -> None:
    scene.intake.server.faults.plan("reports", *[fault] * 2)
    _, sent = scene.once()
    assert sent.error is not None
    assert scene.outbox()[0] == ("resources", True)
    if fault.startswith("retry"):
        assert getattr(sent.error, "retry_after", 0) == 7


def test_x5_replaced_key_is_refused_and_nothing_is_lost(scene: Scene) -> None:
    scene.intake.server.keys = {"another"}
    observed, sent = scene.once()
    assert sent.error is not None and sent.error.code == "unauthenticated"
    assert scene.outbox()[0] == ("resources", True)
    assert observed.failed["members"].code == "unauthenticated"


def test_p1_another_waldur_instance_is_seen(scene: Scene) -> None:
    scene.platform.instance = "waldur.other"
    _, sent = scene.once(PHAROS_WALDUR_INSTANCE="waldur.example")
    assert sent.outcomes["instance_differs"] == 1


def test_s8_one_unreadable_row_stops_no_other(scene: Scene) -> None:
    """Its allocation has no report of any kind; the others are whole."""
    odd = scene.add_resource("proj_b")
    scene.waldur.fault(
        "row", call=r"GET /api/marketplace-provider-resources/\?", times=None, index=1, set={"state": "Weird"}
    )
    observed, _ = scene.once()
    assert [fault.code for fault in observed.decision.faults] == ["row_unreadable"]
    assert len(observed.decision.resources) == len(observed.decision.sets) == 1
    assert scene.platform.resources.keys() ^ {odd, scene.resource} == {
        odd if odd not in scene.platform.resources else scene.resource
    }


def test_s8_command_reused_is_dropped_and_shown(scene: Scene) -> None:
    """The journal was put back: the same id would carry other bytes."""
    scene.intake.server.faults.plan("reports", "status:503")
    scene.once()
    from site_bundle.reporter.adapters.sqlite_journal import open_report_journal

    journal = open_report_journal(scene.folder / "state" / "journal.sqlite")
    report = journal.next(0)
    journal.close()
    assert report is not None
    scene.platform.receipts[str(report.report_id)] = (uuid4().bytes, {})
    _, sent = scene.once()
    assert [error.code for error in sent.faults] == ["command_reused"]
    assert scene.outbox() == []

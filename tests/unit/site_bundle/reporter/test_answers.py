"""Answers of Waldur and of central in forms nobody sends (X1, D10, D13, E21, E23, E25; FirecREST: F16)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.https import Answer, HttpsLimits, HttpsOrigin, PeerUnavailableError
from site_bundle.kernel.site_api import SiteApi
from site_bundle.kernel.strict_json import decode_object
from site_bundle.reporter.adapters.intake import IntakeClient
from site_bundle.reporter.adapters.waldur_resources import WaldurLimits, WaldurResources
from site_bundle.reporter.adapters.wire_lists import OneProjectBody, RetainedListBody
from site_bundle.reporter.adapters.wire_reports import OutcomesBody
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.application.send_reports import Sent
from site_bundle.reporter.domain.sources import Listing, Project
from site_bundle.reporter.entrypoints.once_document import once_lines
from site_bundle.reporter.entrypoints.telling import _clock
from tests.unit.site_bundle.reporter.scenes import REF, decided, faults, member, notes, states

OFFERING, FIRST, SECOND = UUID(int=5), UUID(int=0xA1), UUID(int=0xA2)


class Waldur:
    """An origin that answers every page with the same rows."""

    def __init__(self, rows: list[dict[str, Any]], count: str | None = None) -> None:
        self.raw = json.dumps(rows).encode()
        self.count = str(len(rows)) if count is None else count

    def exchange(self, _method: str, path: str, _headers: Mapping[str, str]) -> Answer:
        kind = {"content-type": "application/json"}
        if "provider-offerings" in path:
            return Answer(200, kind, b"{}")
        return Answer(200, kind | {"x-result-count": self.count}, self.raw)


def row(uuid: object = FIRST.hex, **changes: Any) -> dict[str, Any]:
    usual = {"state": "OK", "backend_id": "proj_a", "paused": False, "project_uuid": REF.hex}
    return {"uuid": uuid, "offering_uuid": OFFERING.hex, "current_usages": {"node": 1.5}} | usual | changes


def read(*rows: dict[str, Any], count: str | None = None) -> Listing:
    return reader(Waldur(list(rows), count)).resources()


def reader(waldur: Waldur) -> WaldurResources:
    return WaldurResources(
        cast("HttpsOrigin", waldur), prefix="/api/", token=Credential(value="t"), offering_id=OFFERING,
        http_limits=HttpsLimits(), limits=WaldurLimits(),
    )  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"backend_id": "proj_a\n"}, {"backend_id": " proj_a"}, {"backend_id": "proj a"},
        {"backend_id": "а" * 3},
        {"backend_id": "ｐroj_a"}, {"backend_id": "proj|a"}, {"backend_id": "proj_a\u202e"},
        {"backend_id": "p" * 129}, {"backend_id": None}, {"backend_id": ["proj_a"]}, {"paused": 0},
        {"project_uuid": None}, {"project_uuid": "{" + REF.hex + "}"},
        {"project_uuid": "urn:uuid:" + str(REF)},
        {"project_uuid": REF.hex[:-1] + "３"}, {"project_uuid": REF.hex[:-2] + "_3"}, {"project_uuid": ""},
        {"offering_uuid": UUID(int=6).hex}, {"state": "Ok"}, {"state": None}, {"state": "OK\n"},
    ],
)  # fmt: skip
def test_e21_e23_d13_row_outside_its_form_is_unreadable_alone(changes: dict[str, Any]) -> None:
    found = read(row(**changes), row(SECOND.hex))
    assert [item.resource_id for item in found.rows] == [SECOND] and found.unreadable == (FIRST.hex,)


@pytest.mark.parametrize("spelled", [str(FIRST), FIRST.hex.upper(), str(FIRST).upper(), FIRST.hex])
def test_e25_one_resource_in_two_spellings_is_not_two(spelled: str) -> None:
    with pytest.raises(PeerUnavailableError, match="rows moved"):
        read(row(), row(spelled, backend_id="proj_b"))


@pytest.mark.parametrize("count", ["", "１", "1.0", "+1", " 1", "1_0", "-1", "9999999999"])
def test_e27_d13_count_that_is_no_number_is_unavailable(count: str) -> None:
    with pytest.raises(PeerUnavailableError):
        read(row(), count=count)


@pytest.mark.parametrize(
    ("usages", "told"),
    [
        ({"node": 1.5}, "1.5"), ({"node": "1.50"}, "1.50"), ({"node": 0}, "0"), ({"node": True}, None),
        ({"node": None}, None), ({"node": [1]}, None), ({}, None), (None, None), ([1], None), ("x", None),
    ],
)  # fmt: skip
def test_e24_w43_usage_in_any_form_never_costs_the_row(usages: object, told: str | None) -> None:
    (found,) = read(row(current_usages=usages)).rows
    assert found.used_node_hours == told


def test_d10_d11_numbers_no_json_has_are_no_list() -> None:
    for text in ("1" * 5000, "NaN", "-Infinity"):
        waldur = Waldur([row(current_usages="HERE")])
        waldur.raw = waldur.raw.replace(b'"HERE"', b'{"node":' + text.encode() + b"}")
        with pytest.raises(PeerUnavailableError):
            reader(waldur).resources()


ODD = "x" * 255


def members(**changes: Any) -> bytes:
    name = changes.pop("username", "alice")
    one = {
        "username": name, "partyId": str(UUID(int=21)), "bindingId": str(UUID(int=11)), "bindingRevision": 1,
        "generation": 1, "state": "active",
    } | changes  # fmt: skip
    listed = {"providerProjectRef": str(REF), "projectId": str(UUID(int=2)), "code": None, "count": 1}
    return json.dumps(listed | {"members": [one]}).encode()


@pytest.mark.parametrize("name", [ODD, "zoe\u0308", "\u202ealice", "Alice", "alice "])
def test_e23_p22_a_members_odd_name_is_its_own_trouble(name: str) -> None:
    """Whatever a binding at Beto names a member, the list is read and the others are decided."""
    listed = decode_object(members(username=name), OneProjectBody, max_bytes=1 << 20).project()
    assert isinstance(listed, Project)
    bob = member("bob", decided().sets[0].decided.accounts[1].identity)
    project = type(listed)(listed.project_id, (bob, *listed.members))
    decision = decided(projects={REF: project})
    assert states(decision)["bob"] == ("ready", 1) and not faults(decision)
    assert notes(decision)[name] == "entry_absent"


def test_p28_a_long_name_does_not_hide_the_retained_list() -> None:
    kept = {
        "projectId": str(UUID(int=2)), "partyId": str(UUID(int=21)), "bindingId": str(UUID(int=11)),
        "generation": 1, "username": ODD,
    }  # fmt: skip
    raw = {"schema": 1, "site": "slurm", "asOf": "2026-11-02T10:00:00Z", "count": 1, "accounts": [kept]}
    (found,) = decode_object(json.dumps(raw).encode(), RetainedListBody, max_bytes=1 << 20).checked("slurm")
    assert found.username == ODD


SENT = UUID(int=0x51)


class Api:
    """A Site API whose one answer is given."""

    def __init__(self, answered: dict[str, Any]) -> None:
        self.answered = answered

    def post(self, _path: str, _body: bytes, shape: type[Any]) -> Any:
        return decode_object(json.dumps(self.answered).encode(), shape, max_bytes=1 << 20)


def outcome(number: int, **changes: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"resourceId": str(UUID(int=number)), "allocationId": None, "outcome": "changed"}
    return usual | {"revision": 1, "code": None} | changes


@pytest.mark.parametrize(
    ("report_id", "outcomes"),
    [
        (SENT, [outcome(2), outcome(1)]),
        (SENT, [outcome(1)]),
        (SENT, [outcome(1), outcome(1)]),
        (SENT, [outcome(1), outcome(2), outcome(3)]),
        (SENT, [outcome(1), outcome(2, outcome="refused")]),
        (SENT, [outcome(1), outcome(2, code="body_invalid")]),
        (UUID(int=0x52), [outcome(1), outcome(2)]),
    ],
)
def test_firecrest_f16_answer_is_matched_on_exact_ids(
    report_id: UUID, outcomes: list[dict[str, Any]]
) -> None:
    answered = {"schema": 1, "reportId": str(report_id), "receivedAt": "2026-11-02T10:00:00Z"}
    client = IntakeClient(cast("SiteApi", Api(answered | {"outcomes": outcomes})), site="slurm", instance="w")
    body = json.dumps({"resources": [{"resourceId": str(UUID(int=number))} for number in (1, 2)]}).encode()
    with pytest.raises(PeerUnavailableError) as caught:
        client.send(Report(SENT, "reports", ("resources",), datetime(2026, 11, 2, tzinfo=UTC), body))
    assert caught.value.code == "answer_malformed"
    good = answered | {"reportId": str(SENT), "outcomes": [outcome(1), outcome(2)]}
    assert decode_object(json.dumps(good).encode(), OutcomesBody, max_bytes=1 << 20).checked(SENT)


@pytest.mark.parametrize(
    ("off", "status", "code"),
    [
        (0, "pass", ""),
        (5, "pass", ""),
        (-5, "pass", ""),
        (6, "warn", "clock_off"),
        (-960, "warn", "clock_off"),
    ],
)
def test_e13_e14_a_clock_that_is_off_is_told(off: int, status: str, code: str) -> None:
    """Central says when it received; a clock 16 minutes behind makes every report stale."""
    now = datetime(2026, 11, 2, 10, tzinfo=UTC)
    check = _clock(Sent(received_at=now - timedelta(seconds=off)), now)
    assert (check.status.value, check.code) == (status, code)


def test_c18_names_do_not_steer_a_terminal() -> None:
    document = {
        "observedAt": "now", "mode": "observe", "unavailable": {}, "allocations": [], "faults": [],
        "waiting": [], "differences": [],
        "notes": [{"code": "name_refused", "name": "a\u202eb\x9b2Jc\nfaults: x", "resource": "r"}],
        "sent": {"reports": 0, "outcomes": {}, "refused": [], "error": None},
    }  # fmt: skip
    lines = once_lines(document)
    assert lines[1] == "notes: name_refused a?b?2Jc?faults: x r" and len(lines) == 3


def other(client_body: dict[str, Any], subjects: tuple[str, ...]) -> None:
    client = IntakeClient(cast("SiteApi", Api(client_body)), site="slurm", instance="w")
    report = Report(SENT, "account-sets", subjects, datetime(2026, 11, 2, tzinfo=UTC), b"{}")
    client.send(report)


@pytest.mark.parametrize("ids", [(1,), (2, 1), (1, 2, 3), (1, 3)])
def test_x1_outcomes_of_other_sets_are_no_answer(ids: tuple[int, ...]) -> None:
    """What is not said of exactly the sets that were sent, in their order, is unavailable."""
    sent = tuple(f"accounts/{UUID(int=number)}" for number in (1, 2))
    told = [{"allocationId": str(UUID(int=one)), "outcome": "recorded", "code": None} for one in ids]
    frame = {"schema": 1, "reportId": str(SENT), "receivedAt": "2026-11-02T10:00:00Z"}
    with pytest.raises(PeerUnavailableError) as caught:
        other(frame | {"outcomes": told}, sent)
    assert caught.value.code == "answer_malformed"


@pytest.mark.parametrize("refs", [(2,), (2, 1), (1, 2, 3), (1, 1)])
def test_x1_projects_nobody_asked_for_are_no_answer(refs: tuple[int, ...]) -> None:
    told: list[dict[str, Any]] = [
        {"providerProjectRef": str(UUID(int=ref)), "projectId": None, "code": "project_unknown", "count": 0,
         "members": []}
        for ref in refs
    ]  # fmt: skip
    api = Api({"schema": 1, "asOf": "2026-11-02T10:00:00Z", "projects": told})
    client = IntakeClient(cast("SiteApi", api), site="slurm", instance="w")
    with pytest.raises(PeerUnavailableError) as caught:
        client.projects([UUID(int=1), UUID(int=2)])
    assert caught.value.code == "answer_malformed"

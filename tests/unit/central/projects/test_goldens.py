"""Golden messages are read and emitted again byte for byte; refused ones are refused (X4, X10)."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import pytest

from central.kernel.broker import MessageRefused
from central.kernel.errors import Unavailable
from central.kernel.paging import Manifest, PagesDiffer, fingerprint
from central.kernel.questions import AnswerMalformed, SnapshotGone, decode_answer
from central.projects.adapters.beto_questions import (
    PAGES,
    BetoQuestions,
    CheckpointAnswer,
    DecisionAnswer,
    items_of,
)
from central.projects.application.items import decode_item, encode_item
from central.projects.domain.ids import PartyId, ProjectId, Scope
from central.projects.entrypoints.events import EVENTS, encode_event, read_event
from tests.contract.goldens import Refused, Valid, canonical, load
from tests.simulators.beto.beto import Beto, QuestionMalformed

EVENT_GOLDENS = ("project-changed", "party-changed", "project-authority-changed")
PROJECT = ProjectId(UUID("00000000-0000-4000-8000-000000000302"))
PARTY = PartyId(UUID("00000000-0000-4000-8000-000000000301"))


def cases(kind: str, *names: str) -> list[Any]:
    """The valid or refused cases of some goldens."""
    return [
        pytest.param(name, case, id=f"{name}-{case.name}")
        for name in names
        for case in getattr(load(name), kind)
    ]


def topic_of(golden: str) -> str:
    """The topic a golden's messages come under."""
    return str(load(golden).valid[0].body["type"])


@pytest.mark.parametrize(("golden", "case"), cases("valid", *EVENT_GOLDENS))
def test_an_event_comes_back_byte_for_byte(golden: str, case: Valid) -> None:
    found = read_event(topic_of(golden), case.canonical)
    assert found.type in EVENTS
    assert encode_event(found) == case.canonical


@pytest.mark.parametrize(("golden", "case"), cases("refused", *EVENT_GOLDENS))
def test_a_malformed_event_is_refused(golden: str, case: Refused) -> None:
    with pytest.raises(MessageRefused) as refused:
        read_event(topic_of(golden), case.raw)
    assert refused.value.code == case.code == "message_malformed"


def test_a_topic_that_is_not_the_views_is_refused() -> None:
    body = load("project-changed").valid[0].canonical
    for topic in ("party.PartyChanged", "execution.AcceptedWorkChanged"):
        with pytest.raises(MessageRefused, match="message_malformed"):
            read_event(topic, body)


@pytest.mark.parametrize(("golden", "case"), cases("valid", "snapshot-page"))
def test_a_page_holds_items_that_encode_to_the_same_bytes(golden: str, case: Valid) -> None:
    page = items_of(decode_answer(case.canonical, PAGES[Scope(case.body["scope"])], owner="Beto"))
    assert [item.canonical for item in page.items] == [canonical(item) for item in case.body["items"]]
    assert page.next == (UUID(case.body["next"]) if case.body["next"] else None)
    for item in page.items:
        assert encode_item(decode_item(Scope(case.body["scope"]), item.canonical)) == item.canonical


@pytest.mark.parametrize(("golden", "case"), cases("refused", "snapshot-page"))
def test_a_malformed_page_is_no_answer(golden: str, case: Refused) -> None:
    with pytest.raises(AnswerMalformed):
        items_of(decode_answer(case.raw, PAGES[Scope.PROJECTS], owner="Beto"))
    assert case.code == "answer_malformed"


@pytest.mark.parametrize(("golden", "case"), cases("valid", "checkpoint"))
def test_a_checkpoint_is_read(golden: str, case: Valid) -> None:
    answer = decode_answer(case.canonical, CheckpointAnswer, owner="Beto")
    assert (answer.scope, answer.count, answer.fingerprint) == (
        case.body["scope"],
        case.body["count"],
        case.body["fingerprint"],
    )


@pytest.mark.parametrize("scope", list(Scope))
def test_the_fingerprint_is_the_goldens(scope: Scope) -> None:
    page = next(case for case in load("snapshot-page").valid if case.name == scope.value)
    checkpoint = next(case for case in load("checkpoint").valid if case.name == scope.value)
    items = items_of(decode_answer(page.canonical, PAGES[scope], owner="Beto")).items
    assert fingerprint(item.canonical for item in items) == checkpoint.body["fingerprint"]
    assert fingerprint([]) == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("golden", "case"),
    [case for case in cases("refused", "checkpoint") if case.id != "checkpoint-another_query"],
)
def test_a_malformed_checkpoint_is_no_answer(golden: str, case: Refused) -> None:
    with pytest.raises(AnswerMalformed):
        decode_answer(case.raw, CheckpointAnswer, owner="Beto")


@pytest.mark.parametrize(("golden", "case"), cases("valid", "authority-answer"))
def test_a_decision_is_read(golden: str, case: Valid) -> None:
    question = UUID(case.body["queryId"])
    beto = BetoQuestions(lambda _, body: case.canonical, new_id=lambda: question)
    decision = beto.project_allowed(PROJECT, PARTY, "project.member")
    assert decision.allowed == (case.body["decision"] == "allowed")
    assert decision.project_revision == case.body["projectRevision"]


@pytest.mark.parametrize(("golden", "case"), cases("refused", "authority-answer"))
def test_a_malformed_decision_is_unavailable_and_never_a_no(golden: str, case: Refused) -> None:
    with pytest.raises(AnswerMalformed):
        decode_answer(case.raw, DecisionAnswer, owner="Beto")
    beto = BetoQuestions(lambda _, body: case.raw)
    with pytest.raises(Unavailable, match="answer_malformed"):
        beto.project_allowed(PROJECT, PARTY, "project.member")


@pytest.mark.parametrize(("golden", "case"), cases("valid", "query-error"))
def test_a_query_error_says_why(golden: str, case: Valid) -> None:
    with pytest.raises(SnapshotGone if case.name == "snapshot_gone" else Unavailable):
        decode_answer(case.canonical, CheckpointAnswer, owner="Beto")


@pytest.mark.parametrize(("golden", "case"), cases("refused", "query-error"))
def test_a_malformed_query_error_is_no_answer(golden: str, case: Refused) -> None:
    with pytest.raises(AnswerMalformed):
        decode_answer(case.raw, CheckpointAnswer, owner="Beto")


def test_questions_are_the_goldens() -> None:
    """Checkpoint, page and decision questions are emitted byte for byte."""
    goldens = {case.name: case for case in load("snapshot-requests").valid}
    asked: list[bytes] = []

    def ask(_: UUID, body: bytes) -> bytes:
        asked.append(body)
        raise Unavailable("unavailable", "only listening")

    snapshot = load("checkpoint").valid[0].body
    beto = BetoQuestions(ask, new_id=lambda: UUID(snapshot["queryId"]))
    with pytest.raises(Unavailable):
        beto.checkpoint(Scope.PROJECTS)
    with pytest.raises(Unavailable):
        manifest = Manifest(UUID(snapshot["snapshotId"]), 41, 1, snapshot["fingerprint"])
        beto.items(Scope.PROJECTS, manifest)
    assert asked == [goldens["checkpoint"].canonical, goldens["page"].canonical]
    (view, _) = load("authority-request").valid
    beto = BetoQuestions(ask, new_id=lambda: UUID(view.body["queryId"]))
    with pytest.raises(Unavailable):
        beto.project_allowed(PROJECT, PARTY, "project.view")
    assert asked[2] == view.canonical


def test_an_answer_to_another_question_or_scope_is_no_answer() -> None:
    checkpoint = load("checkpoint").valid[0]
    with pytest.raises(AnswerMalformed, match="another question"):
        BetoQuestions(lambda _, body: checkpoint.canonical).checkpoint(Scope.PROJECTS)
    beto = BetoQuestions(
        lambda _, body: checkpoint.canonical, new_id=lambda: UUID(checkpoint.body["queryId"])
    )
    with pytest.raises(AnswerMalformed, match="another scope"):
        beto.checkpoint(Scope.PARTIES)


def test_a_page_that_was_not_asked_for_is_no_answer() -> None:
    page = load("snapshot-page").valid[0]
    beto = BetoQuestions(lambda _, body: page.canonical, new_id=lambda: UUID(page.body["queryId"]))
    with pytest.raises(AnswerMalformed, match="another one"):
        beto.items(Scope.PROJECTS, Manifest(UUID(int=1), 41, 1, "0" * 64))
    with pytest.raises(PagesDiffer, match="fingerprint"):
        beto.items(Scope.PROJECTS, Manifest(UUID(page.body["snapshotId"]), 41, 1, "0" * 64))


@pytest.mark.parametrize(
    ("golden", "case"),
    [
        case
        for case in cases("valid", "snapshot-requests", "authority-request")
        if "inventory" not in str(case.id)
    ],
)
def test_the_simulator_takes_the_valid_questions(golden: str, case: Valid) -> None:
    answer = json.loads(Beto().answer(case.canonical))
    assert answer["queryId"] == case.body["queryId"]


@pytest.mark.parametrize(("golden", "case"), cases("refused", "snapshot-requests", "authority-request"))
def test_the_simulator_refuses_the_malformed_questions(golden: str, case: Refused) -> None:
    with pytest.raises(QuestionMalformed):
        Beto().answer(case.raw)
    assert case.code == "query_malformed"

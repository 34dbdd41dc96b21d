"""Golden messages are read and emitted again byte for byte; refused ones are refused (P27, P29, X4, X10)."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import msgspec
import pytest

from central.kernel.broker import MessageRefused
from central.kernel.errors import Unavailable
from central.kernel.paging import PagesDiffer, fingerprint
from central.kernel.questions import AnswerMalformed, SnapshotGone, read_answer
from central.kernel.site_names import Site
from central.retention.adapters.owner_questions import (
    InventoryAnswer,
    OwnerQuestions,
    WorkPageAnswer,
    items_of,
)
from central.retention.domain.ids import BindingId, Owner, PartyId, ProjectId
from central.retention.domain.retained import RetainedAccount
from central.retention.entrypoints.events import encode_event, read_event
from central.retention.entrypoints.wire import retained_body
from tests.contract.goldens import Refused, Valid, canonical, load
from tests.simulators.mouth import QuestionMalformed
from tests.simulators.owner.owner import WorkOwner

EXECUTION = Owner("execution")


def cases(kind: str, *names: str) -> list[Any]:
    """The valid or refused cases of some goldens."""
    return [
        pytest.param(case, id=f"{name}-{case.name}") for name in names for case in getattr(load(name), kind)
    ]


@pytest.mark.parametrize("case", cases("valid", "accepted-work-changed"))
def test_an_event_comes_back_byte_for_byte(case: Valid) -> None:
    found = read_event(case.body["type"], case.canonical)
    assert encode_event(found) == case.canonical
    assert (found.item.evidence is None) == (case.name == "before_evidence_was_recorded")


@pytest.mark.parametrize("case", cases("refused", "accepted-work-changed"))
def test_a_malformed_event_is_refused(case: Refused) -> None:
    with pytest.raises(MessageRefused) as refused:
        read_event("execution.AcceptedWorkChanged", case.raw)
    assert refused.value.code == case.code == "message_malformed"


@pytest.mark.parametrize(
    ("topic", "owner"),
    [
        ("pipeline.AcceptedWorkChanged", "execution"),
        ("execution.AcceptedWorkChanged", "pipeline"),
        ("project.ProjectChanged", "execution"),
    ],
)
def test_an_event_under_anothers_topic_is_refused(topic: str, owner: str) -> None:
    body = load("accepted-work-changed").valid[0].body
    told = canonical(body | {"data": body["data"] | {"owner": owner}})
    with pytest.raises(MessageRefused, match="message_malformed"):
        read_event(topic, told)


def question_of(case: Valid) -> UUID:
    return UUID(case.body["queryId"])


@pytest.mark.parametrize("case", cases("valid", "accepted-work-inventory"))
def test_an_inventory_is_read(case: Valid) -> None:
    questions = OwnerQuestions(lambda *_: case.canonical, new_id=lambda: question_of(case))
    manifest = questions.inventory(EXECUTION)
    assert (manifest.count, manifest.fingerprint) == (case.body["count"], case.body["fingerprint"])


@pytest.mark.parametrize("case", cases("refused", "accepted-work-inventory"))
def test_a_malformed_inventory_is_no_answer(case: Refused) -> None:
    with pytest.raises(AnswerMalformed):
        OwnerQuestions(lambda *_: case.raw).inventory(EXECUTION)
    assert case.code == "answer_malformed"


@pytest.mark.parametrize("case", cases("valid", "accepted-work-page"))
def test_a_page_holds_items_that_encode_to_the_same_bytes(case: Valid) -> None:
    page = items_of(read_answer(case.canonical, WorkPageAnswer, question_of(case), owner="execution"))
    assert [item.canonical for item in page.items] == [canonical(item) for item in case.body["items"]]
    if case.name == "one":
        whole = load("accepted-work-inventory").valid[0].body["fingerprint"]
        assert fingerprint(item.canonical for item in page.items) == whole


@pytest.mark.parametrize("case", cases("refused", "accepted-work-page"))
def test_a_malformed_page_is_no_answer(case: Refused) -> None:
    with pytest.raises(AnswerMalformed):
        items_of(read_answer(case.raw, WorkPageAnswer, UUID(int=0x4000 << 64), owner="execution"))
    assert case.code == "answer_malformed"


@pytest.mark.parametrize("case", cases("valid", "query-error"))
def test_a_query_error_says_why(case: Valid) -> None:
    with pytest.raises(SnapshotGone if case.name == "snapshot_gone" else Unavailable):
        read_answer(case.canonical, InventoryAnswer, question_of(case), owner="execution")


@pytest.mark.parametrize("case", cases("refused", "query-error"))
def test_a_malformed_query_error_is_no_answer(case: Refused) -> None:
    with pytest.raises(AnswerMalformed):
        read_answer(case.raw, InventoryAnswer, UUID(int=1), owner="execution")


def test_an_answer_of_another_owner_question_or_snapshot_is_no_answer() -> None:
    inventory, page = load("accepted-work-inventory").valid[0], load("accepted-work-page").valid[0]
    with pytest.raises(AnswerMalformed, match="another question"):
        OwnerQuestions(lambda *_: inventory.canonical).inventory(EXECUTION)
    of_pipeline = OwnerQuestions(lambda *_: inventory.canonical, new_id=lambda: question_of(inventory))
    with pytest.raises(AnswerMalformed, match="another owner"):
        of_pipeline.inventory(Owner("pipeline"))
    answers = iter([inventory.canonical, canonical(page.body | {"snapshotId": str(UUID(int=1))})])
    moved = OwnerQuestions(lambda *_: next(answers), new_id=lambda: question_of(inventory))
    with pytest.raises(AnswerMalformed, match="another one"):
        moved.read(EXECUTION)
    answers = iter([canonical(inventory.body | {"fingerprint": "0" * 64}), page.canonical])
    lying = OwnerQuestions(lambda *_: next(answers), new_id=lambda: question_of(inventory))
    with pytest.raises(PagesDiffer, match="fingerprint"):
        lying.read(EXECUTION)


def test_questions_are_the_goldens() -> None:
    """Inventory and page questions are emitted byte for byte."""
    goldens = {case.name: case for case in load("snapshot-requests").valid}
    one = load("accepted-work-inventory").valid[0]
    page = load("accepted-work-page").valid[0].body
    first = page["items"][0]["itemId"]
    asked: list[bytes] = []

    def ask(_: Owner, __: UUID, body: bytes) -> bytes:
        asked.append(body)
        if len(asked) == 1:
            return canonical(one.body | {"count": 2})
        if len(asked) == 2:
            return canonical(page | {"next": first})
        raise Unavailable("unavailable", "only listening")

    with pytest.raises(Unavailable):
        OwnerQuestions(ask, new_id=lambda: question_of(one)).read(EXECUTION)
    assert asked[0] == goldens["inventory"].canonical
    assert asked[2] == goldens["inventory_page"].canonical


@pytest.mark.parametrize(
    "case", [case for case in cases("valid", "snapshot-requests") if "inventory" in str(case.id)]
)
def test_the_simulator_takes_the_valid_questions(case: Valid) -> None:
    answer = json.loads(WorkOwner().answer(case.canonical))
    assert answer["queryId"] == case.body["queryId"]


@pytest.mark.parametrize("case", cases("refused", "snapshot-requests"))
def test_the_simulator_refuses_the_malformed_questions(case: Refused) -> None:
    with pytest.raises(QuestionMalformed):
        WorkOwner().answer(case.raw)


@pytest.mark.parametrize("case", cases("valid", "retained-accounts"))
def test_the_list_is_the_golden(case: Valid) -> None:
    accounts = [
        RetainedAccount(
            ProjectId(UUID(each["projectId"])),
            PartyId(UUID(each["partyId"])),
            BindingId(UUID(each["bindingId"])),
            each["generation"],
            each["username"],
        )
        for each in case.body["accounts"]
    ]
    body = retained_body(Site("slurm"), case.body["asOf"], accounts)
    assert msgspec.json.encode(body) == case.canonical

"""Which accounts are kept, and when there is no list (P28)."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from central.retention.domain.ids import PartyId
from central.retention.domain.retained import (
    Fence,
    Fences,
    Holder,
    RetainedAccount,
    Unknown,
    judge_account,
    retained,
)
from tests.unit.central.retention.values import BINDING, HOLDER, PARTY, PROJECT, fences, required

ACCOUNT = RetainedAccount(PROJECT, PARTY, BINDING, 2, "u1")


def test_p28_an_account_is_kept_once_however_much_work_requires_it() -> None:
    assert retained([required(), required()], {HOLDER: fences()}) == [ACCOUNT]
    assert retained([], {}) == []


@pytest.mark.parametrize(
    "fenced",
    [
        fences(active=False),
        fences(management=4),
        fences(username=None),
        fences(generation=3),
    ],
    ids=["project inactive", "other management generation", "binding not established", "member re-added"],
)
def test_p28_a_fenced_account_is_not_kept(fenced: Fences) -> None:
    assert retained([required()], {HOLDER: fenced}) == []


@pytest.mark.parametrize(
    "known",
    [{}, {HOLDER: Unknown("not viewed")}, {HOLDER: fences(management=2)}, {HOLDER: fences(generation=1)}],
    ids=["not asked", "not viewed", "an earlier management generation", "an earlier generation"],
)
def test_p28_what_cannot_be_judged_leaves_no_list(known: dict[Holder, Fences | Unknown]) -> None:
    other = replace(HOLDER, party_id=PartyId(UUID(int=9)))
    answer = retained([required(holder=other), required()], {**known, other: fences()})
    assert isinstance(answer, Unknown)


@pytest.mark.parametrize(
    ("fenced", "why"),
    [
        (fences(active=False, management=4, generation=3, username=None), Fence.PROJECT_NOT_ACTIVE),
        (fences(management=4, generation=3, username=None), Fence.MANAGEMENT_GENERATION_OVER),
        (fences(generation=3, username=None), Fence.MEMBER_ADDED_AGAIN),
        (fences(username=None), Fence.BINDING_NOT_ESTABLISHED),
    ],
)
def test_o1_an_operator_is_told_the_first_fence(fenced: Fences, why: Fence) -> None:
    assert judge_account(required(), fenced) is why
    assert judge_account(required(), fences()) == ACCOUNT


def test_p28_what_cannot_be_judged_leaves_no_list_even_where_another_fence_stands() -> None:
    answer = retained([required()], {HOLDER: fences(active=False, generation=1)})
    assert isinstance(answer, Unknown)


def test_p28_the_list_is_in_order() -> None:
    holders = [replace(HOLDER, party_id=PartyId(UUID(int=number))) for number in (9, 1, 5)]
    known = {holder: fences(username=f"u{holder.party_id.int}") for holder in holders}
    answer = retained([required(holder=holder) for holder in holders], known)
    assert isinstance(answer, list)
    assert [account.username for account in answer] == ["u1", "u5", "u9"]

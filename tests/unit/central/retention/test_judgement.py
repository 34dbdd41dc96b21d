"""What is told of accepted work, in every order (P27, P29)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.judgement import Effect, judge
from tests.unit.central.retention.values import work


def follow(told: Sequence[AcceptedWork], *, verified: bool = False) -> tuple[list[str], AcceptedWork | None]:
    """Effects, and what is held afterwards."""
    held, effects = None, []
    for item in told:
        judgement = judge(held, item, verified=verified)
        effects.append(judgement.effect.value)
        held = judgement.after
    return effects, held


@pytest.mark.parametrize(
    ("told", "effects"),
    [
        ([work(1), work(2)], ["saved", "saved"]),
        ([work(2), work(1)], ["saved", "older"]),
        ([work(1), work(1)], ["saved", "same"]),
        ([work(1), work(2, released=True)], ["saved", "released"]),
        ([work(2, released=True), work(1)], ["released", "older"]),
        ([work(2, released=True), work(2, released=True)], ["released", "same"]),
        ([work(2, released=True), work(3)], ["released", "final"]),
        ([work(3), work(2, released=True)], ["saved", "released"]),
        ([work(1), work(1, released=True)], ["saved", "released"]),
        ([work(1), work(1, generation=5)], ["saved", "conflict"]),
        ([work(1, evidence=False)], ["not_saved"]),
        ([work(1, evidence=False, released=True)], ["not_saved"]),
        ([work(1), work(2, evidence=False)], ["saved", "not_saved"]),
        ([work(1), work(2, evidence=False, released=True)], ["saved", "released"]),
        ([work(1, evidence=False), work(2)], ["not_saved", "saved"]),
    ],
)
def test_p27_revision_orders_and_a_release_is_final(told: list[AcceptedWork], effects: list[str]) -> None:
    assert follow(told)[0] == effects


def test_p27_work_is_released_in_whatever_order_it_was_told() -> None:
    story = [work(1), work(2, generation=3), work(3, released=True), work(4, generation=4)]
    ends = {follow(order)[1] for order in itertools.permutations(story)}
    assert len(ends) == 1
    (end,) = ends
    assert end is not None
    assert (end.released, end.revision) == (True, 4)


def test_p27_of_two_contents_under_one_revision_the_first_stands_until_an_inventory_says() -> None:
    one, other = work(1), work(1, generation=5)
    assert follow([one, other])[1] == one
    settled = judge(one, other, verified=True)
    assert (settled.effect, settled.after) == (Effect.CORRECTED, other)
    released = judge(work(1, released=True), other, verified=True)
    assert released.after is not None
    assert released.after.released


TOLD = st.builds(
    work,
    st.integers(1, 4),
    released=st.sampled_from([False, False, True]),
    generation=st.just(2),
)


@given(st.lists(TOLD, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_p27_order_and_repeats_never_matter(told: list[AcceptedWork], dice: object) -> None:
    again = [*told, *told]
    dice.shuffle(again)  # type: ignore[attr-defined]
    assert follow(told)[1] == follow(again)[1]
    assert follow(again, verified=True)[1] == follow(told)[1]


@given(TOLD, TOLD)
def test_p27_a_release_and_a_revision_never_go_back(held: AcceptedWork, told: AcceptedWork) -> None:
    after = judge(held, told).after
    assert after is not None
    assert after.revision == max(held.revision, told.revision)
    assert after.released == (held.released or told.released)

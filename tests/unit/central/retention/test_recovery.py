"""When a list is complete: the standing of recovery (P28, P29, O3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from central.retention.domain.ids import Owner
from central.retention.domain.recovery import Phase, Recovery, RecoveryLimits
from tests.unit.central.retention.values import NOW, OWNERS

LIMITS = RecoveryLimits()
NEVER = Recovery(Phase.NONE, 0, (), None, None, None, None)
SECOND = timedelta(seconds=1)


def standing() -> Recovery:
    return NEVER.started().begun(NOW, LIMITS).stood(OWNERS, NOW, NOW, LIMITS)


def test_p28_only_a_pass_over_exactly_the_configured_owners_stands() -> None:
    assert NEVER.missing(OWNERS, NOW, LIMITS) == "no recovery pass was made yet"
    assert NEVER.begun(NOW, LIMITS).missing(OWNERS, NOW, LIMITS) == "a recovery pass is running"
    assert standing().missing(OWNERS, NOW, LIMITS) is None
    assert standing().missing(OWNERS[::-1], NOW, LIMITS) is None
    assert standing().missing(OWNERS[:1], NOW, LIMITS) is not None
    assert standing().missing((*OWNERS, Owner("third")), NOW, LIMITS) is not None


@pytest.mark.parametrize(
    "end",
    [
        Recovery.started,
        lambda standing: standing.doubted("two contents"),
        lambda standing: standing.begun(NOW, LIMITS),
        lambda standing: standing.begun(NOW, LIMITS).failed("the owner is away"),
    ],
    ids=["a worker starts", "a doubt", "the daily pass runs", "the daily pass failed"],
)
def test_p28_what_ends_a_standing_pass_has_another_epoch(end: Callable[[Recovery], Recovery]) -> None:
    ended = end(standing())
    assert ended.missing(OWNERS, NOW, LIMITS) is not None
    assert ended.epoch > standing().epoch
    assert ended.due(OWNERS, NOW, LIMITS)


def test_p28_a_standing_pass_lapses_when_nobody_consumes_and_no_beat_brings_it_back() -> None:
    last = NOW + LIMITS.alive
    assert standing().missing(OWNERS, last - SECOND, LIMITS) is None
    assert standing().missing(OWNERS, last, LIMITS) is not None
    beaten = standing().beaten(last - SECOND, LIMITS)
    assert beaten.missing(OWNERS, last, LIMITS) is None
    assert standing().beaten(last, LIMITS) == standing()
    assert beaten.beaten(NOW, LIMITS) == beaten


def test_p29_a_pass_is_due_daily_and_counts_no_more_an_hour_later() -> None:
    kept = standing()
    for minutes in range(1, 25 * 60 + 1):
        at = NOW + timedelta(minutes=minutes)
        kept = kept.beaten(at, LIMITS)
        assert kept.due(OWNERS, at, LIMITS) == (minutes >= 24 * 60)
        assert (kept.missing(OWNERS, at, LIMITS) is None) == (minutes < 25 * 60)


def test_o3_a_pass_holds_recovery_for_a_time_and_a_start_takes_it_away() -> None:
    begun = NEVER.begun(NOW, LIMITS)
    end = NOW + timedelta(seconds=LIMITS.pass_seconds)
    assert begun.held(end - SECOND)
    assert not begun.held(end)
    assert begun.kept(end, LIMITS).held(end)
    assert not begun.started().held(NOW)
    assert not begun.doubted("x").held(NOW)
    assert NEVER.doubted("x").phase is Phase.NONE

"""Whether and where a Run may be accepted (P31, E2, E4)."""

from datetime import timedelta
from uuid import UUID

import pytest

from central.execution.domain.authority import valid_until
from central.execution.domain.planning import FRESH, Lifecycle, PlanRefused, Resource, plan
from tests.unit.central.execution.values import NOW, REQUEST, late

ONE = Resource(UUID(int=40), "p1", Lifecycle.READY, NOW, {"cpu": 4000, "memory": 1 << 31, "gpu.gh200": 1})
TWO = Resource(UUID(int=41), "p2", Lifecycle.READY, NOW, {"cpu": 4000, "memory": 1 << 31})


def refusal(request: object = REQUEST, *resources: Resource) -> str:
    with pytest.raises(PlanRefused) as refused:
        plan(request, resources, NOW)  # type: ignore[arg-type]
    return refused.value.refusal.value


def test_p31_the_only_one_that_fits_is_taken_and_a_named_one_among_several() -> None:
    assert plan(REQUEST, [ONE], NOW) is ONE
    assert plan(late(REQUEST, allocation_id=UUID(int=41)), [ONE, TWO], NOW) is TWO
    assert refusal(REQUEST, ONE, TWO) == "allocation_ambiguous"
    assert refusal(REQUEST) == "allocation_unknown"
    assert refusal(late(REQUEST, allocation_id=UUID(int=99)), ONE) == "allocation_unknown"


@pytest.mark.parametrize(
    ("lifecycle", "age", "expected"),
    [
        (Lifecycle.SUSPENDED, timedelta(0), "resource_suspended"),
        (Lifecycle.SUSPENDED, FRESH, "resource_not_ready"),
        (Lifecycle.NOT_READY, timedelta(0), "resource_not_ready"),
        (Lifecycle.READY, FRESH, "resource_not_ready"),
        (Lifecycle.READY, timedelta(seconds=-5, microseconds=-1), "resource_not_ready"),
    ],
)
def test_p31_a_pause_counts_while_it_is_recent(lifecycle: Lifecycle, age: timedelta, expected: str) -> None:
    resource = Resource(UUID(int=40), "p1", lifecycle, NOW - age, ONE.applied)
    assert refusal(REQUEST, resource) == expected


@pytest.mark.parametrize("age", [FRESH - timedelta(microseconds=1), timedelta(seconds=-5)])
def test_p31_just_inside_the_limits_is_fresh(age: timedelta) -> None:
    resource = Resource(UUID(int=40), "p1", Lifecycle.READY, NOW - age, ONE.applied)
    assert plan(REQUEST, [resource], NOW) is resource


def test_p31_nothing_is_planned_beyond_what_is_applied_or_not_proven() -> None:
    assert refusal(late(REQUEST, resources=(("cpu", 4001), ("memory", 1))), ONE) == "limits_exceeded"
    gpu = late(REQUEST, resources=(("cpu", 1), ("gpu.gh200", 1), ("memory", 1)))
    assert refusal(gpu, TWO) == "limits_exceeded"
    assert plan(gpu, [ONE], NOW) is ONE
    unproven = Resource(UUID(int=40), "p1", Lifecycle.READY, NOW, None)
    assert refusal(REQUEST, unproven) == "resource_not_ready"


def test_p31_a_slurm_run_asking_for_ephemeral_storage_is_refused() -> None:
    wanted = late(REQUEST, resources=(("cpu", 1), ("ephemeral_storage", 1), ("memory", 1)))
    assert refusal(wanted, ONE) == "ephemeral_storage_refused"


def test_e4_a_deadline_that_is_now_has_passed() -> None:
    assert refusal(late(REQUEST, deadline=NOW), ONE) == "deadline_passed"


@pytest.mark.parametrize(
    ("account_age", "authority", "deadline", "expected"),
    [(0, 3600, 3600, 60), (870, 3600, 3600, 30), (0, 20, 3600, 20), (0, 3600, 10, 10), (901, 3600, 3600, -1)],
)
def test_e2_an_answer_lives_until_the_earliest_of_its_grounds(
    account_age: int, authority: int, deadline: int, expected: int
) -> None:
    def seconds(count: int) -> timedelta:
        return timedelta(seconds=count)

    until = valid_until(
        NOW,
        account_observed_at=NOW - seconds(account_age),
        account_max_age=seconds(900),
        authority_expires_at=NOW + seconds(authority),
        deadline=NOW + seconds(deadline),
    )
    assert until == NOW + seconds(expected)

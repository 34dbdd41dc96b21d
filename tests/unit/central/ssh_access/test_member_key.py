"""The life of one key as pure decisions (E6, S7, X1)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.kernel.site_names import Site
from central.ssh_access.domain.member_key import (
    KEY_LIMITS,
    Act,
    KeyExists,
    KeyLimitReached,
    MemberId,
    MemberKey,
    NewKey,
    Outcome,
    Receipt,
    Result,
    State,
    Target,
    add,
    record_result,
    remove,
)
from central.ssh_access.domain.public_key import PublicKey

NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)
PRESENT, ABSENT = UUID(int=11), UUID(int=12)


def wish(blob: bytes = b"one", key: int = 1) -> NewKey:
    return NewKey(
        key_id=UUID(int=key),
        change_id=PRESENT,
        member=MemberId("alice"),
        site=Site("slurm"),
        name="laptop",
        public_key=PublicKey("ssh-ed25519", blob, 256),
        target=Target("alice", 5_000_001, UUID(int=7)),
    )


def added() -> MemberKey:
    return add([], wish(), NOW)


def removing() -> MemberKey:
    return remove(added(), ABSENT, NOW)


def said(outcome: Outcome, *, change: UUID = PRESENT, seconds: float = 1, code: str | None = None) -> Result:
    return Result(change, outcome, code, NOW + timedelta(seconds=seconds))


def test_a_new_key_is_pending_and_asks_for_presence() -> None:
    key = added()
    assert (key.state, key.act, key.revision, key.reported_at) == (State.PENDING, Act.PRESENT, 1, None)


def test_the_same_blob_is_refused_while_it_stands_or_is_being_removed() -> None:
    for standing in (added(), removing(), replace(added(), state=State.REFUSED)):
        with pytest.raises(KeyExists) as refused:
            add([standing], wish(key=2), NOW)
        assert refused.value.key == standing


def test_the_same_blob_may_come_again_once_it_is_removed() -> None:
    gone = replace(removing(), state=State.REMOVED)
    assert add([gone], wish(key=2), NOW).state is State.PENDING


def test_c17_two_keys_with_the_same_name_stand_beside_each_other() -> None:
    second = add([added()], wish(b"two", key=2), NOW)
    assert (second.name, second.state) == (added().name, State.PENDING)


def test_the_limit_counts_standing_keys_only() -> None:
    limit = KEY_LIMITS.keys_per_member_and_site
    keys = [add([], wish(bytes([n]), key=n), NOW) for n in range(1, limit + 1)]
    with pytest.raises(KeyLimitReached):
        add(keys, wish(b"more", key=99), NOW)
    keys[0] = replace(keys[0], state=State.REMOVED)
    assert add(keys, wish(b"more", key=99), NOW).state is State.PENDING


@pytest.mark.parametrize("state", [State.PENDING, State.ACTIVE, State.REFUSED, State.HELD])
def test_any_standing_key_can_be_removed_and_keeps_its_target(state: State) -> None:
    before = replace(added(), state=state, reason="x", reported_at=NOW, answered_at=NOW)
    after = remove(before, ABSENT, NOW + timedelta(seconds=5))
    assert (after.state, after.act, after.change_id, after.reason) == (
        State.REMOVING,
        Act.ABSENT,
        ABSENT,
        None,
    )
    assert (after.target, after.reported_at, after.answered_at) == (before.target, NOW, None)
    assert after.revision == before.revision + 1


def test_removing_twice_changes_nothing() -> None:
    key = removing()
    assert remove(key, UUID(int=13), NOW + timedelta(days=1)) is key


@pytest.mark.parametrize(
    ("outcome", "code", "state", "reason"),
    [
        (Outcome.APPLIED, None, State.ACTIVE, None),
        (Outcome.PENDING, "directory_unavailable", State.PENDING, "directory_unavailable"),
        (Outcome.HELD, "key_cap", State.HELD, "key_cap"),
        (Outcome.REFUSED, "target_mismatch", State.REFUSED, "target_mismatch"),
    ],
)
def test_what_a_site_says_of_an_addition(
    outcome: Outcome, code: str | None, state: State, reason: str | None
) -> None:
    receipt, key = record_result(added(), said(outcome, code=code), NOW)
    assert (receipt, key.state, key.reason, key.revision) == (Receipt.RECORDED, state, reason, 2)


@pytest.mark.parametrize(
    ("outcome", "code", "state", "reason"),
    [
        (Outcome.REMOVED_FROM_DIRECTORY, None, State.REMOVED, None),
        (Outcome.HELD, "removal_cap", State.REMOVING, "removal_cap"),
        (Outcome.HELD, None, State.REMOVING, "held"),
        (Outcome.REFUSED, "target_ambiguous", State.REMOVING, "target_ambiguous"),
    ],
)
def test_a_removal_is_never_called_done_before_the_site_says_so(
    outcome: Outcome, code: str | None, state: State, reason: str | None
) -> None:
    receipt, key = record_result(removing(), said(outcome, change=ABSENT, code=code), NOW)
    assert (receipt, key.state, key.reason) == (Receipt.RECORDED, state, reason)


def test_a_result_of_the_addition_is_stale_once_removal_is_asked_for() -> None:
    key = removing()
    assert record_result(key, said(Outcome.APPLIED, seconds=60), NOW) == (Receipt.STALE, key)


def test_e15_an_earlier_observation_never_overwrites_a_later_one() -> None:
    _, key = record_result(added(), said(Outcome.APPLIED, seconds=20), NOW)
    assert record_result(key, said(Outcome.HELD, seconds=15, code="cap"), NOW) == (Receipt.STALE, key)
    assert record_result(key, said(Outcome.HELD, seconds=20, code="cap"), NOW) == (Receipt.STALE, key)


def test_the_same_again_is_unchanged_and_renews_only_the_time() -> None:
    _, key = record_result(added(), said(Outcome.APPLIED, seconds=20), NOW)
    receipt, again = record_result(key, said(Outcome.APPLIED, seconds=30), NOW + timedelta(hours=1))
    assert (receipt, again.reported_at) == (Receipt.UNCHANGED, NOW + timedelta(seconds=30))
    assert (again.revision, again.changed_at) == (key.revision, key.changed_at)
    assert record_result(again, said(Outcome.APPLIED, seconds=25), NOW) == (Receipt.UNCHANGED, again)


@pytest.mark.parametrize(
    ("key", "outcome", "change"),
    [
        (added(), Outcome.REMOVED_FROM_DIRECTORY, PRESENT),
        (removing(), Outcome.APPLIED, ABSENT),
    ],
)
def test_an_outcome_its_change_cannot_have_is_unknown(key: MemberKey, outcome: Outcome, change: UUID) -> None:
    assert record_result(key, said(outcome, change=change), NOW) == (Receipt.UNKNOWN, key)


def test_the_first_removal_result_counts_though_the_sites_clock_went_back() -> None:
    _, active = record_result(added(), said(Outcome.APPLIED, seconds=3600), NOW)
    going = remove(active, ABSENT, NOW)
    receipt, gone = record_result(going, said(Outcome.REMOVED_FROM_DIRECTORY, change=ABSENT, seconds=10), NOW)
    assert (receipt, gone.state) == (Receipt.RECORDED, State.REMOVED)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([Outcome.APPLIED, Outcome.PENDING, Outcome.HELD, Outcome.REFUSED]),
            st.integers(0, 50),
        ),
        max_size=12,
    )
)
def test_whatever_the_order_of_arrival_the_latest_observation_stands(
    reports: list[tuple[Outcome, int]],
) -> None:
    """Results of distinct times end in the state of the latest one."""
    distinct = {seconds: outcome for outcome, seconds in reports}
    key = added()
    for seconds, outcome in distinct.items():
        code = None if outcome is Outcome.APPLIED else "why"
        _, key = record_result(key, said(outcome, seconds=seconds, code=code), NOW)
    if distinct:
        last = distinct[max(distinct)]
        wanted = {
            Outcome.APPLIED: State.ACTIVE,
            Outcome.PENDING: State.PENDING,
            Outcome.HELD: State.HELD,
            Outcome.REFUSED: State.REFUSED,
        }[last]
        assert key.state is wanted

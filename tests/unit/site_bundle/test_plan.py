"""From desired and observed to operations and verdicts (S7; B15, B16, B17, C17)."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_bundle.kernel.ranges import NumberRange
from site_bundle.ssh_access.domain.desired import Act, DesiredKey, Outcome, Verdict
from site_bundle.ssh_access.domain.plan import Change, Operation, Policy, Spot, judge, plan, read_wishes
from site_bundle.ssh_access.domain.public_key import parse_public_key
from site_bundle.ssh_access.domain.stored_value import blobs_in
from site_bundle.ssh_access.domain.target import (
    Absent,
    Entries,
    Entry,
    Matched,
    Mismatch,
    Target,
    Unreadable,
    match_target,
)
from tests.site.keys import K1, K2, K3, K9

UIDS = NumberRange(5000000, 5499999)
POLICY = Policy(UIDS)
ALICE = Target("alice", 5000001, UUID(int=1))
BASE = "ou=people,dc=example"


def plan_of(
    keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy
) -> tuple[Operation, ...]:
    return plan(read_wishes(keys), entries, policy)


def judge_of(
    keys: tuple[DesiredKey, ...], entries: tuple[Entry, ...], policy: Policy, refused: frozenset[Spot]
) -> dict[UUID, Verdict]:
    return judge(read_wishes(keys), entries, policy, refused)


def entry(*values: str | bytes, **more: object) -> Entry:
    stored = tuple(v if isinstance(v, bytes) else v.encode() for v in values)
    made = Entry(f"uid=alice,{BASE}", ("alice",), (5000001,), UUID(int=1), stored)
    return replace(made, **more)  # type: ignore[arg-type]


def key(line: str, act: Act = Act.PRESENT, target: Target = ALICE, **more: object) -> DesiredKey:
    mark = parse_public_key(line).fingerprint
    made = DesiredKey(uuid4(), uuid4(), 1, act, line, mark, target)
    return replace(made, **more)  # type: ignore[arg-type]


def apply(operations: tuple[Operation, ...], entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The directory as the operations leave it."""
    made = {item.dn: item for item in entries}
    for operation in operations:
        before = made[operation.dn]
        values = list(before.values)
        if operation.change is Change.ADD:
            assert operation.value not in values, "a value added twice"
            values.append(operation.value)
        else:
            values.remove(operation.value)
        made[operation.dn] = replace(before, values=tuple(values))
    return tuple(made.values())


def settle(
    keys: list[DesiredKey], entries: tuple[Entry, ...], policy: Policy = POLICY
) -> tuple[list[bytes], list[Verdict]]:
    after = apply(plan_of(tuple(keys), entries, policy), entries)
    verdicts = judge_of(tuple(keys), after, policy, frozenset())
    assert plan_of(tuple(keys), after, policy) == (), "a second pass has nothing to do"
    return sorted(v for item in after for v in item.values), [verdicts[k.key_id] for k in keys]


def test_present_is_added_once() -> None:
    values, verdicts = settle([key(K1)], (entry(),))
    assert values == [K1.encode()]
    assert verdicts == [Verdict(Outcome.APPLIED)]


def test_C17_two_keys_are_both_kept() -> None:
    assert settle([key(K1), key(K2)], (entry(),))[0] == sorted([K1.encode(), K2.encode()])


@pytest.mark.parametrize(
    "stored",
    [
        f"{K1} old laptop",
        f"{K1} ",
        f"{K1} a\n",
        f"  {K1}\r\n",
        f'from="10.0.0.0/8" {K1} admin',
        K1.encode() + b" \xff",
        K1.rstrip("="),
    ],
)
def test_B15_B16_other_rendering_is_the_same_key(stored: str | bytes) -> None:
    """Nothing is added for it; revoked, its exact bytes go."""
    raw = stored if isinstance(stored, bytes) else stored.encode()
    assert settle([key(K1)], (entry(stored),)) == ([raw], [Verdict(Outcome.APPLIED)])
    operations = plan_of((key(K1, Act.ABSENT),), (entry(stored, K2),), POLICY)
    assert [(o.change, o.value) for o in operations] == [(Change.DELETE, raw)]


def test_B15_written_without_trailing_blank() -> None:
    (operation,) = plan_of((key(K1, public_key=f"{K1} a \n"),), (entry(),), POLICY)
    assert operation.value == K1.encode()


def test_B17_foreign_values_stay() -> None:
    values, _ = settle([key(K1), key(K2, Act.ABSENT)], (entry(f"{K9} admin", "no key at all", K2),))
    assert values == sorted([f"{K9} admin".encode(), b"no key at all", K1.encode()])


def test_every_rendering_of_a_revoked_key_goes() -> None:
    values, verdicts = settle([key(K1, Act.ABSENT)], (entry(K1, f"{K1} a", f"no-pty {K1} b", K2),))
    assert values == [K2.encode()]
    assert verdicts == [Verdict(Outcome.REMOVED)]


def test_value_with_two_keys_loses_only_the_revoked_one() -> None:
    """The other line becomes a value of its own before the mixed one goes."""
    mixed = f"{K1} a\n{K2} b"
    operations = plan_of((key(K1, Act.ABSENT),), (entry(mixed),), POLICY)
    assert [(o.change, o.value) for o in operations] == [
        (Change.ADD, f"{K2} b".encode()),
        (Change.DELETE, mixed.encode()),
    ]
    assert settle([key(K1, Act.ABSENT)], (entry(mixed),))[0] == [f"{K2} b".encode()]


def test_value_with_two_revoked_keys_goes_once_and_carries_neither() -> None:
    mixed = f"{K1} a\n{K2} b\n{K9} c"
    keys = (key(K1, Act.ABSENT), key(K2, Act.ABSENT))
    operations = plan_of(keys, (entry(mixed),), POLICY)
    assert [(o.change, o.value) for o in operations] == [
        (Change.ADD, f"{K9} c".encode()),
        (Change.DELETE, mixed.encode()),
    ]
    blobs = {parse_public_key(line).blob for line in (K1, K2)}
    assert operations[1].spots == {(operations[1].dn, blob) for blob in blobs}


def test_foreign_line_of_two_values_is_carried_once() -> None:
    stored = (f"{K1}\n{K9} other", f"{K2}\n{K9} other")
    values, _ = settle([key(K1, Act.ABSENT), key(K2, Act.ABSENT)], (entry(*stored),))
    assert values == [f"{K9} other".encode()]


def test_same_blob_revoked_under_one_id_and_wanted_under_another() -> None:
    values, verdicts = settle([key(K1, Act.ABSENT), key(K1)], (entry(K1),))
    assert values == [K1.encode()]
    assert verdicts == [Verdict(Outcome.REMOVED), Verdict(Outcome.APPLIED)]


def test_same_blob_wanted_or_revoked_twice_is_one_operation() -> None:
    assert len(plan_of((key(K1), key(K1)), (entry(),), POLICY)) == 1
    assert len(plan_of((key(K1, Act.ABSENT), key(K1, Act.ABSENT)), (entry(K1),), POLICY)) == 1


def test_additions_come_before_deletions() -> None:
    operations = plan_of((key(K1, Act.ABSENT), key(K2)), (entry(K1),), POLICY)
    assert [o.change for o in operations] == [Change.ADD, Change.DELETE]


RECREATED = entry(K1, entry_uuid=UUID(int=2))


@pytest.mark.parametrize(
    ("target", "entries", "match", "present"),
    [
        (ALICE, (), Absent(renewed=False), "target_absent"),
        (ALICE, (RECREATED,), Absent(renewed=True), "target_mismatch"),
        (ALICE, (entry(uid_numbers=(5000002,)),), Mismatch("target_mismatch"), "target_mismatch"),
        (ALICE, (entry(uid_numbers=(5000001, 5000002)),), Mismatch("target_mismatch"), "target_mismatch"),
        (ALICE, (entry(usernames=("bob",)),), Mismatch("target_mismatch"), "target_mismatch"),
        (ALICE, (entry(usernames=("Alice",)),), Mismatch("target_mismatch"), "target_mismatch"),
        (ALICE, (entry(direct=False),), Mismatch("target_outside_base"), "target_outside_base"),
        (ALICE, (entry(), RECREATED), Mismatch("target_ambiguous"), "target_ambiguous"),
        (replace(ALICE, uid_number=1000), (entry(),), Mismatch("target_outside_base"), "target_outside_base"),
    ],
)
def test_only_the_exact_target(
    target: Target, entries: tuple[Entry, ...], match: object, present: str
) -> None:
    """Nothing is planned for any other entry, whatever it holds."""
    assert match_target(target, Entries(entries), UIDS) == match
    keys = (key(K1, target=target), key(K2, Act.ABSENT, target=target))
    held = tuple(replace(item, values=(K2.encode(),)) for item in entries)
    assert plan_of(keys, held, POLICY) == ()
    verdicts = judge_of(keys, held, POLICY, frozenset())
    assert verdicts[keys[0].key_id] == Verdict(Outcome.REFUSED, present)
    gone = Verdict(Outcome.REMOVED) if isinstance(match, Absent) else Verdict(Outcome.REFUSED, present)
    assert verdicts[keys[1].key_id] == gone


@pytest.mark.parametrize("hidden", [{"entry_uuid": None}, {"uid_numbers": ()}])
def test_unreadable_is_neither_there_nor_gone(hidden: dict[str, object]) -> None:
    entries = (entry(K1, **hidden),)
    assert match_target(ALICE, Entries(entries), UIDS) == Unreadable()
    for act in Act:
        keys = (key(K1, act),)
        assert plan_of(keys, entries, POLICY) == ()
        assert judge_of(keys, entries, POLICY, frozenset())[keys[0].key_id] == Verdict(
            Outcome.PENDING, "entry_unreadable"
        )


def test_matched() -> None:
    assert match_target(ALICE, Entries([entry(K1)]), UIDS) == Matched(entry(K1))


def test_no_removal_while_another_history_answers() -> None:
    """Presents only, until accept-feed; the verdict says what it waits for."""
    held = Policy(UIDS, removals=False)
    values, verdicts = settle([key(K1, Act.ABSENT), key(K2), key(K3, Act.ABSENT)], (entry(K1),), held)
    assert values == sorted([K1.encode(), K2.encode()])
    assert verdicts == [
        Verdict(Outcome.HELD, "feed_not_accepted"),
        Verdict(Outcome.APPLIED),
        Verdict(Outcome.REMOVED),
    ]


@pytest.mark.parametrize("act", list(Act))
def test_malformed_key_is_refused_alone(act: Act) -> None:
    bad = key(K1, act, public_key="ssh-dss AAAAB3NzaC1kc3M=")
    other = key(K1, act, fingerprint="SHA256:another")
    assert plan_of((bad, other), (entry(),), POLICY) == ()
    verdicts = judge_of((bad, other), (entry(),), POLICY, frozenset())
    assert set(verdicts.values()) == {Verdict(Outcome.REFUSED, "key_malformed")}


def test_verdict_is_on_what_was_read_back() -> None:
    wanted, gone = key(K1), key(K2, Act.ABSENT)
    after = (entry(K2),)
    spots = {(after[0].dn, parse_public_key(line).blob) for line in (K1, K2)}
    waiting = Verdict(Outcome.PENDING, "not_read_back")
    assert judge_of((wanted, gone), after, POLICY, frozenset()) == {
        wanted.key_id: waiting,
        gone.key_id: waiting,
    }
    refused = Verdict(Outcome.REFUSED, "directory_refused")
    assert judge_of((wanted, gone), after, POLICY, frozenset(spots)) == {
        wanted.key_id: refused,
        gone.key_id: refused,
    }


LINES = [K1, K2, K3]
RENDERINGS = [
    "{}",
    "{}\n" + K2 + " too",
    "no-pty {}\n# mine\n" + K1,
    "{} note",
    "  {}\n",
    "no-pty {} x",
    "{}\r\n" + K9 + " other",
]


@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(list(Act))), max_size=6),
    st.lists(st.tuples(st.sampled_from([*LINES, K9]), st.sampled_from(RENDERINGS)), max_size=5),
)
def test_any_state_converges_in_one_pass(
    wishes: list[tuple[str, Act]], stored: list[tuple[str, str]]
) -> None:
    """Wanted keys are in once more at most, revoked ones out, the foreign key stays where it was."""
    values = tuple(dict.fromkeys(form.format(line).encode() for line, form in stored))
    keys = [key(line, act) for line, act in wishes]
    after, verdicts = settle(keys, (entry(*values),))
    blobs = [blob for value in after for blob in blobs_in(value)]
    for item in keys:
        blob = parse_public_key(item.public_key).blob
        wanted = any(k.act is Act.PRESENT and k.public_key == item.public_key for k in keys)
        assert (blob in blobs) is wanted
    foreign = parse_public_key(K9).blob
    assert (foreign in blobs) is any(foreign in blobs_in(value) for value in values)
    assert {v.outcome for v in verdicts} <= {Outcome.APPLIED, Outcome.REMOVED}

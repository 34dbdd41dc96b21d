"""Which accounts an allocation has, decided (S8, S11, P21–P23, P36)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_bundle.reporter.domain.marker import Identity, read_marker, with_marker
from site_bundle.reporter.domain.sources import Directory, Project, Retained, fold
from tests.unit.site_bundle.reporter.scenes import (
    ALICE,
    BOB,
    ENTRY,
    GROUP,
    PARTY,
    PROJECT,
    REF,
    account,
    applied,
    decided,
    faults,
    joined,
    member,
    notes,
    person,
    slurm,
    sources,
    states,
)

NEXT = Identity(ALICE.binding_id, 2)
BOTH = (joined("alice", 41, ALICE), joined("bob", 42, BOB))


def people(**changes: Any) -> Directory:
    """The usual directory; `alice=None` is nobody, a tuple several."""
    found = {"alice": (person(),), "bob": (person("bob"),)} | changes
    return Directory({k: v for k, v in found.items() if v}, {}, {5500000: GROUP})


def test_s8_proven_in_both_and_applied_is_ready() -> None:
    decision = decided()
    assert states(decision) == {"alice": ("ready", 1), "bob": ("ready", 1)}
    (found,) = decision.sets
    alice = found.decided.accounts[0]
    assert alice.native_uid == f"{ENTRY['alice']}/41" and alice.party_id == PARTY["alice"]
    assert found.decided.applies == () and not decision.faults


def test_s8_new_generation_on_an_unchanged_incarnation_needs_the_act() -> None:
    project = Project(PROJECT, (member("alice", NEXT), member("bob", BOB)))
    decision = decided(projects={REF: project})
    assert states(decision)["alice"] == ("ready", 1) and notes(decision) == {"alice": "generation_pending"}
    (act,) = decision.sets[0].decided.applies
    assert (act.association.id, act.identity, act.entry_uuid) == (41, NEXT, ENTRY["alice"])


def test_s8_journal_alone_is_no_evidence() -> None:
    decision = decided(slurm=slurm(account(joined("alice", 41), BOTH[1])))
    assert states(decision)["alice"] == ("incomplete", 1) and notes(decision)["alice"] == "not_applied"


def test_s8_comment_alone_is_no_evidence() -> None:
    """Nobody knows which directory entry it was written for."""
    decision = decided(applied={42: applied("bob", 42, BOB)})
    assert states(decision)["alice"] == ("incomplete", 1)
    assert [act.association.id for act in decision.sets[0].decided.applies] == [41]


def test_p23_same_number_another_entry() -> None:
    decision = decided(directory=people(alice=(person(entry_uuid=UUID(int=99)),)))
    assert states(decision)["alice"] == ("incomplete", 1)
    assert decision.sets[0].decided.accounts[0].native_uid == f"{UUID(int=99)}/41"


def test_p23_same_name_another_association() -> None:
    decision = decided(slurm=slurm(account(joined("alice", 77, ALICE), BOTH[1])))
    assert states(decision)["alice"] == ("incomplete", 1)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"uid_number": 4000001}, "uid_out_of_range"),
        ({"uid_number": 5500000}, "uid_out_of_range"),
        ({"gid_number": 100}, "group_missing"),
    ],
)
def test_s8_entry_that_is_no_members_is_incomplete(changes: dict[str, Any], code: str) -> None:
    decision = decided(directory=people(alice=(person(**changes),)))
    assert states(decision)["alice"] == ("incomplete", 1) and notes(decision) == {"alice": code}
    assert decision.sets[0].decided.applies == ()


def test_s8_member_uid_of_a_group_proves_it() -> None:
    usual = people(alice=(person(gid_number=100),))
    decision = decided(directory=replace(usual, memberships={"alice": GROUP}))
    assert states(decision)["alice"] == ("ready", 1)


@pytest.mark.parametrize("hidden", ["entry_uuid", "uid_number", "gid_number"])
def test_b06_hidden_attribute_makes_the_set_unreadable(hidden: str) -> None:
    """Never a set without the member, never one with less known of it; the resource is reported."""
    cleared: dict[str, Any] = {hidden: None}
    decision = decided(directory=people(alice=(replace(person(), **cleared),)))
    assert not decision.sets and faults(decision) == ["entry_unreadable"] and len(decision.resources) == 1


def test_s8_two_entries_of_one_name_make_the_set_unreadable() -> None:
    decision = decided(directory=people(alice=(person(), person(entry_uuid=UUID(int=98)))))
    assert not decision.sets and faults(decision) == ["entry_ambiguous"]


def test_p23_two_members_of_one_entry_make_the_set_unreadable() -> None:
    decision = decided(directory=people(bob=(person(),)), slurm=slurm(account()))
    assert not decision.sets and faults(decision) == ["incarnation_twice"]


def test_x1_entry_proven_absent_is_no_account() -> None:
    decision = decided(directory=people(alice=None))
    assert states(decision) == {"bob": ("ready", 1)} and notes(decision) == {"alice": "entry_absent"}


def test_a48_association_missing_is_incomplete() -> None:
    decision = decided(slurm=slurm(account(BOTH[1])))
    assert states(decision)["alice"] == ("incomplete", 1)
    assert notes(decision) == {"alice": "association_missing"}
    assert {row.native_uid for row in decision.sets[0].decided.accounts} == {
        str(ENTRY["alice"]), f"{ENTRY['bob']}/42",
    }  # fmt: skip


def test_x1_account_proven_absent_in_slurm_is_an_empty_set() -> None:
    """Complete and empty, and nothing is applied: not the same as unreadable."""
    decision = decided(slurm=slurm(), directory=people(alice=None, bob=None, carol=(person(),)))
    assert states(decision) == {} and decision.resources[0].applied == {}


def test_b06_nobody_at_all_is_no_evidence_where_somebody_was_proven() -> None:
    """A base that can be read while what is below it is hidden: result 0, entries 0."""
    nobody = people(alice=None, bob=None)
    decision = decided(directory=nobody)
    assert not decision.sets and faults(decision) == ["directory_empty"] and len(decision.resources) == 1
    first = decided(directory=nobody, applied={})
    assert states(first) == {} and not first.faults, "a Site that never had an account has none"


@pytest.mark.parametrize("spelled", ["Alice", "ALICE", "ａlice", " alice"])
@pytest.mark.parametrize("beside", [None, (person(),)])
def test_b03_e23_name_in_another_spelling_is_neither_there_nor_absent(spelled: str, beside: Any) -> None:
    """A directory takes both for one name; what the host takes them for is its own rule."""
    seen = replace(people(alice=beside, **{spelled: (person("bob"),)}), folded=frozenset({fold(spelled)}))
    decision = decided(directory=seen)
    assert not decision.sets and faults(decision) == ["entry_ambiguous"]


def test_a47_a_long_name_is_found_in_full() -> None:
    anna = replace(member("alice", ALICE), username="anna.maria.example")
    decision = decided(
        projects={REF: Project(PROJECT, (anna,))},
        directory=people(**{"anna.maria.example": (person(),), "anna.mar": (person("bob"),)}),
        slurm=slurm(account(joined("anna.maria.example", 41, ALICE), joined("anna.mar", 42))),
    )
    assert states(decision) == {"anna.maria.example": ("ready", 1)} and notes(decision) == {}


@pytest.mark.parametrize("listed", ["anna.mar", "anna"])
def test_a47_names_are_compared_whole(listed: str) -> None:
    """A member is never found by a part of the name, in Slurm or in the directory."""
    anna = replace(member("alice", ALICE), username="anna.maria.example")
    decision = decided(
        projects={REF: Project(PROJECT, (anna,))},
        directory=people(**{listed: (person(),)}),
        slurm=slurm(account(joined(listed, 41, ALICE))),
    )
    assert "anna.maria.example" not in states(decision)
    assert notes(decision)["anna.maria.example"] == "entry_absent"


def test_w02_slurm_and_directory_names_meet_in_lower_case() -> None:
    decision = decided(slurm=slurm(account(joined("Alice", 41, ALICE), BOTH[1])))
    assert states(decision)["alice"] == ("ready", 1)


def test_s8_association_for_every_partition_is_the_accounts() -> None:
    part = joined("alice", 40, ALICE, partition="compute")
    decision = decided(slurm=slurm(account(part, *BOTH)))
    assert decision.sets[0].decided.accounts[0].native_uid.endswith("/41")


def test_s8_strangers_in_the_account_are_not_reported() -> None:
    """Coordinators, and users nobody at the platform knows."""
    decision = decided(slurm=slurm(account(joined("pharos-agent", 7), *BOTH)))
    assert states(decision).keys() == {"alice", "bob"} and notes(decision) == {}


def test_s8_leaver_is_reported_while_the_account_is_there() -> None:
    project = Project(PROJECT, (member("alice", ALICE), member("bob", BOB, active=False)))
    decision = decided(projects={REF: project})
    assert states(decision)["bob"] == ("ready", 1) and decision.sets[0].decided.applies == ()


ONLY_ALICE = {REF: Project(PROJECT, (member("alice", ALICE),))}
KEPT = Retained(PROJECT, "bob", PARTY["bob"], BOB)


@pytest.mark.parametrize(
    ("retained", "there"),
    [(None, True), ((KEPT,), True), ((), False), ((replace(KEPT, project_id=UUID(int=9)),), False)],
)
def test_s11_p28_account_nobody_lists(retained: Any, there: bool) -> None:
    """An unreadable retained list keeps every account; a readable one decides."""
    decision = decided(projects=ONLY_ALICE, retained=retained)
    assert ("bob" in states(decision)) is there
    if not there:
        assert notes(decision) == {"bob": "binding_unknown"}


def test_s8_retained_account_is_applied_anew_when_its_comment_is_gone() -> None:
    tree = slurm(account(BOTH[0], joined("bob", 42)))
    decision = decided(projects=ONLY_ALICE, retained=(KEPT,), slurm=tree)
    (act,) = decision.sets[0].decided.applies
    assert (act.association.id, act.identity) == (42, BOB)


@pytest.mark.parametrize("name", ["ａlice", "1alice", "alice+", "a" * 33])
def test_p22_names_no_account_may_have(name: str) -> None:
    odd = replace(member("alice", ALICE), username=name)
    decision = decided(
        projects={REF: Project(PROJECT, (odd,))},
        directory=people(**{name: (person(),)}),
        slurm=slurm(account()),
    )
    assert states(decision) == {} and notes(decision) == {name: "name_refused"}


COMMENTS = st.lists(
    st.sampled_from(["ticket", "4711", "pharos:1:x:1", "pharos:1:", "see", "|", "pharos:2:a", "é"]),
    max_size=6,
).map(" ".join)


@given(COMMENTS, st.uuids(), st.integers(1, 10**9))
def test_s8_marker_is_read_back_beside_anything(comment: str, binding: UUID, generation: int) -> None:
    identity = Identity(binding, generation)
    written = with_marker(comment, identity)
    assert read_marker(written) == identity
    assert with_marker(written, identity) == written
    strip = [word for word in comment.split() if not word.startswith("pharos:1:")]
    kept = [word for word in written.split() if not word.startswith("pharos:1:")]
    assert kept == strip


@pytest.mark.parametrize(
    "comment",
    [
        "", "pharos", f"xpharos:1:{ALICE.binding_id}:1", f"pharos:1:{ALICE.binding_id}:0",
        f"pharos:1:{ALICE.binding_id}:1 pharos:1:{BOB.binding_id}:1", f"pharos:1:{ALICE.binding_id}:1x",
        f"pharos:1:{str(ALICE.binding_id).upper()}:1z", f"pharos:2:{ALICE.binding_id}:1",
    ],
)  # fmt: skip
def test_s8_broken_or_several_markers_prove_nothing(comment: str) -> None:
    assert read_marker(comment) is None


def test_s8_pure() -> None:
    assert decided() == decided() and sources() == sources()

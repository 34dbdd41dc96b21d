"""Sources made of plain objects: one allocation, two members, and what a test changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from site_bundle.kernel.ranges import NumberRange
from site_bundle.reporter.domain.decide import Decision, decide
from site_bundle.reporter.domain.marker import Identity, with_marker
from site_bundle.reporter.domain.policy import Policy
from site_bundle.reporter.domain.sources import (
    Applied,
    Association,
    Directory,
    Listing,
    Member,
    Person,
    Project,
    Row,
    RowState,
    Slurm,
    SlurmAccount,
    Sources,
)

GIB = 1 << 30
CAPACITY = {"cpu": 16000, "gpu.gh200": 2, "memory": 64 * GIB}
POLICY = Policy(CAPACITY, "pharos", NumberRange(5000000, 5499999))
RESOURCE, PROJECT, REF = UUID(int=1), UUID(int=2), UUID(int=3)
ALICE, BOB = Identity(UUID(int=11), 1), Identity(UUID(int=12), 1)
PARTY = {"alice": UUID(int=21), "bob": UUID(int=22)}
ENTRY = {"alice": UUID(int=31), "bob": UUID(int=32)}
NODE = {"cpu": 16000, "memory": 64 * GIB, "gpu": 2, "gpu.gh200": 2}
KNOWN = frozenset({"cpu", "memory", "gpu.gh200"})
GROUP = "cn=pharos-users,ou=groups"
ROW = Row(RESOURCE, REF, "proj_a", RowState.OK, False)


def person(name: str = "alice", **changes: Any) -> Person:
    number = {"alice": 5000001, "bob": 5000002}[name]
    return replace(Person(ENTRY[name], number, 5500000), **changes)


def account(
    *associations: Association, name: str = "proj_a", parent: str = "pharos", **limits: int
) -> SlurmAccount:
    return SlurmAccount(name, parent, {k.replace("_", "."): v for k, v in limits.items()}, associations)


def joined(name: str, number: int, identity: Identity | None = None, **changes: Any) -> Association:
    """An association, with this identity applied to it."""
    comment = with_marker("", identity) if identity else ""
    return replace(Association(number, name, "", comment), **changes)


def applied(name: str, number: int, identity: Identity) -> Applied:
    return Applied(number, ENTRY[name], PARTY[name], identity)


def slurm(*accounts: SlurmAccount, **changes: Any) -> Slurm:
    tree = {
        item.name.lower(): item
        for item in (account(name="root", parent=""), account(name="pharos", parent="root"), *accounts)
    }
    return replace(Slurm(tree, (NODE,), {}, KNOWN), **changes)


def member(name: str, identity: Identity, *, active: bool = True) -> Member:
    return Member(name, PARTY[name], identity, active)


def sources(**changes: Any) -> Sources:
    """alice and bob are members, and both are applied."""
    usual = Sources(
        Listing((ROW,)),
        slurm(account(joined("alice", 41, ALICE), joined("bob", 42, BOB))),
        Directory({name: (person(name),) for name in ENTRY}, {}, {5500000: GROUP}),
        {REF: Project(PROJECT, (member("alice", ALICE), member("bob", BOB)))},
        (),
        {41: applied("alice", 41, ALICE), 42: applied("bob", 42, BOB)},
    )
    return replace(usual, **changes)


def decided(**changes: Any) -> Decision:
    return decide(sources(**changes), POLICY)


def states(decision: Decision) -> dict[str, tuple[str, int]]:
    """State and generation by name of the one set."""
    (found,) = decision.sets
    return {
        row.name: ("ready" if row.ready else "incomplete", row.identity.generation)
        for row in found.decided.accounts
    }


def notes(decision: Decision) -> dict[str, str]:
    (found,) = decision.sets
    return {note.name: note.code for note in found.decided.notes}


def faults(decision: Decision) -> list[str]:
    return [fault.code for fault in decision.faults]

"""Hidden or gone: what is asked, in which order, and what an answer is worth (X1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from site_bundle.directory.errors import DirectoryUnavailableError
from site_bundle.kernel.journal import open_journal
from site_bundle.reporter.adapters.sqlite_journal import open_report_journal, statements
from site_bundle.reporter.application.prove_absence import ProveAbsence
from site_bundle.reporter.domain.presence import (
    ENTRY_HIDDEN,
    GROUP_HIDDEN,
    UNPROVEN,
    Claim,
    Concern,
    Known,
    Presence,
    concern,
)
from site_bundle.reporter.domain.sources import Directory, Project, Retained
from tests.unit.site_bundle.reporter.scenes import (
    ALICE,
    BOB,
    GROUP,
    PARTY,
    PROJECT,
    REF,
    account,
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

NOW = datetime(2026, 11, 30, tzinfo=UTC)
GONE, THERE, UNKNOWN = Presence.GONE, Presence.THERE, Presence.UNKNOWN
BOTH = frozenset({"alice", "bob"})
ALL = Concern(BOTH, BOTH)


class Journal:
    """Rows by name, as the journal keeps them."""

    def __init__(self, *rows: Known) -> None:
        self.rows = {row.name: row for row in rows}
        self.writes = 0

    def seen(self) -> Iterable[Known]:
        return iter(tuple(self.rows.values()))

    def record_seen(self, changed: Sequence[Known], forgotten: Sequence[str], _now: datetime) -> None:
        self.writes += 1
        self.rows.update((row.name, row) for row in changed)
        for name in forgotten:
            self.rows.pop(name, None)


class Asked:
    """Answers by name; whoever is not among them is gone."""

    def __init__(self, **answers: Presence) -> None:
        self.answers = answers
        self.claims: list[Claim] = []

    def __call__(self, claims: Sequence[Claim]) -> tuple[Presence, ...]:
        self.claims += claims
        return tuple(self.answers.get(claim.name, GONE) for claim in claims)


def shown(*names: str, **changes: Any) -> Directory:
    people = {name: (person(name),) for name in names}
    return replace(Directory(people, {}, {5500000: GROUP}, usual=bool(names)), **changes)


def prove(
    directory: Directory,
    journal: Journal,
    asked: Asked,
    of: Concern = ALL,
    *,
    limit: int = 200,
    whole: bool = True,
) -> Directory:
    found = ProveAbsence(asked, journal, limit).run(directory, of, whole=whole, now=NOW)  # type: ignore[arg-type]
    assert isinstance(found, Directory)
    return found


ROWS = (Known("alice", "", GROUP, 5500000), Known("bob", "", GROUP, 5500000))


def test_x1_whoever_is_shown_is_asked_for_by_nobody_and_written_once() -> None:
    journal, asked = Journal(), Asked()
    for _ in range(3):
        assert prove(shown("alice", "bob"), journal, asked).doubts == {}
    assert tuple(journal.rows.values()) == ROWS and journal.writes == 1 and asked.claims == []


@pytest.mark.parametrize(
    ("answer", "doubts"), [(GONE, {}), (THERE, {"bob": ENTRY_HIDDEN}), (UNKNOWN, {"bob": UNPROVEN})]
)
def test_x1_a_missing_entry_is_what_its_answer_says(answer: Presence, doubts: dict[str, str]) -> None:
    journal = Journal(*ROWS)
    assert prove(shown("alice"), journal, Asked(bob=answer)).doubts == doubts
    assert journal.rows["bob"].gone is (answer is GONE)


def test_x1_a_doubt_of_one_keeps_the_whole_set_back_and_names_whom() -> None:
    decision = decided(directory=shown("alice", doubts={"bob": ENTRY_HIDDEN}))
    assert not decision.sets and [(fault.code, fault.name) for fault in decision.faults] == [
        (ENTRY_HIDDEN, "bob")
    ]
    assert len(decision.resources) == 1
    proven = decided(directory=shown("alice"))
    assert states(proven).keys() == {"alice"} and notes(proven)["bob"] == "entry_absent"


def test_x1_a_doubt_about_somebody_without_a_report_holds_up_nobody() -> None:
    decision = decided(directory=shown("alice", "bob", doubts={"carol": ENTRY_HIDDEN}))
    assert states(decision).keys() == BOTH and faults(decision) == []


def test_x1_an_entry_that_came_back_is_doubted_no_more() -> None:
    journal = Journal(ROWS[0], replace(ROWS[1], gone=True, accepted=True))
    assert prove(shown("alice", "bob"), journal, Asked()).doubts == {}
    assert journal.rows["bob"] == ROWS[1]


def test_x1_what_was_proven_gone_is_asked_for_again_and_last() -> None:
    journal = Journal(replace(ROWS[0], gone=True), ROWS[1])
    asked = Asked(alice=THERE)
    assert prove(shown(), journal, asked).doubts == {"alice": ENTRY_HIDDEN}
    assert [claim.name for claim in asked.claims] == ["bob", "alice"]
    assert not journal.rows["alice"].gone


def test_x1_questions_are_bounded_and_what_was_not_asked_is_no_absence() -> None:
    """Pass by pass all are proven; meanwhile whoever was not asked for is doubted."""
    names = [f"m{number}" for number in range(10)]
    journal = Journal(*(Known(name) for name in names))
    of, asked = Concern(frozenset(names), frozenset(names)), Asked()
    left = [len(prove(shown(), journal, asked, of, limit=4).doubts) for _ in range(4)]
    assert left == [6, 2, 0, 0] and len(asked.claims) == 16


def test_x1_only_whose_presence_would_change_a_report_is_asked_for() -> None:
    journal, asked = Journal(*ROWS), Asked(bob=THERE)
    assert prove(shown("alice"), journal, asked, Concern(frozenset({"alice"}), BOTH)).doubts == {}
    assert asked.claims == [] and "bob" in journal.rows


def test_x1_who_concerns_nobody_is_forgotten_once_everything_was_read() -> None:
    journal, alone = Journal(*ROWS), Concern(frozenset({"alice"}), frozenset({"alice"}))
    prove(shown("alice"), journal, Asked(), alone, whole=False)
    assert "bob" in journal.rows
    prove(shown("alice"), journal, Asked(), alone)
    assert "bob" not in journal.rows


def test_x1_without_a_journal_an_association_is_the_witness() -> None:
    asked = Asked(bob=THERE)
    assert prove(shown("alice"), Journal(), asked).doubts == {"bob": ENTRY_HIDDEN}
    assert [(claim.name, claim.dn) for claim in asked.claims] == [("bob", "")]
    assert prove(shown("alice"), Journal(), Asked(), Concern(BOTH, frozenset({"alice"}))).doubts == {}


def test_x1_without_a_journal_silence_at_the_usual_place_proves_only_where_all_stand_there() -> None:
    assert prove(shown("alice"), Journal(), Asked()).doubts == {}
    assert prove(shown("alice", usual=False), Journal(), Asked()).doubts == {"bob": UNPROVEN}
    assert prove(shown(), Journal(), Asked()).doubts == {"alice": UNPROVEN, "bob": UNPROVEN}
    assert prove(shown("alice", usual=False), Journal(*ROWS), Asked()).doubts == {}, "where it was shown"


@pytest.mark.parametrize("gid", [None, 5500009])
@pytest.mark.parametrize(
    ("answer", "doubts"), [(GONE, {}), (THERE, {"bob": GROUP_HIDDEN}), (UNKNOWN, {"bob": UNPROVEN})]
)
def test_x1_a_missing_group_is_asked_for_where_it_was(
    gid: int | None, answer: Presence, doubts: dict[str, str]
) -> None:
    row = Known("bob", "", "cn=other", gid)
    journal, asked = Journal(ROWS[0], row), Asked(bob=answer)
    directory = shown("alice", people={"alice": (person(),), "bob": (person("bob", gid_number=gid or 100),)})
    found = prove(directory, journal, asked)
    assert found.doubts == doubts
    value = ("memberUid", "bob") if gid is None else ("gidNumber", "5500009")
    assert asked.claims == [Claim("bob", "cn=other", (value, ("objectClass", "posixGroup")))]
    assert journal.rows["bob"] == (Known("bob") if answer is GONE else row)
    decision = decided(directory=found)
    if doubts:
        assert faults(decision) == list(doubts.values())
    else:
        assert states(decision)["bob"] == ("incomplete", 1) and notes(decision)["bob"] == "group_missing"


def test_x1_an_accepted_absence_is_not_asked_for() -> None:
    journal, asked = Journal(ROWS[0], Known("bob", accepted=True)), Asked(bob=THERE)
    assert prove(shown("alice"), journal, asked).doubts == {} and asked.claims == []


def test_x1_a_directory_that_cannot_be_asked_again_is_unavailable() -> None:
    error = DirectoryUnavailableError("directory_unreachable", found="gone")

    def down(_claims: Sequence[Claim]) -> tuple[Presence, ...]:
        raise error

    journal = Journal(*ROWS)
    found = ProveAbsence(down, journal).run(shown("alice"), ALL, whole=True, now=NOW)  # type: ignore[arg-type]
    assert found is error and journal.writes == 0


def test_x1_concern_is_of_members_holders_and_applied_associations() -> None:
    usual = sources(
        slurm=slurm(account(joined("Alice", 41, ALICE), joined("bob", 42, BOB), joined("operator", 43))),
        projects={REF: Project(PROJECT, (member("bob", BOB, active=False),))},
    )
    kept = Retained(PROJECT, "kept", PARTY["bob"], BOB)
    found = concern(usual.listing, usual.slurm, usual.projects, (kept,), (41,))
    assert found == Concern(frozenset({"alice", "kept"}), frozenset({"alice", "bob", "operator"}))
    odd = Retained(PROJECT, "No Name", PARTY["bob"], BOB)
    assert concern(usual.listing, usual.slurm, {REF: None}, (odd,), ()).relevant == frozenset()


def test_x1_the_journal_gives_every_row_back_page_by_page(tmp_path: Path) -> None:
    rows = [
        Known(f"m{n:04}", "" if n % 2 else f"cn={n}", GROUP, n % 3 or None, n % 5 == 0) for n in range(1201)
    ]
    journal = open_report_journal(tmp_path / "journal.sqlite")
    journal.record_seen(rows, (), NOW)
    journal.record_seen((replace(rows[7], gone=True),), ("m0000", "nobody"), NOW)
    assert list(journal.seen()) == [*rows[1:7], replace(rows[7], gone=True), *rows[8:]]
    journal.accept_absence("m0008", by="operator", reason="ticket", now=NOW)
    journal.accept_absence("new", by="operator", reason="ticket", now=NOW)
    found = {row.name: row for row in journal.seen()}
    assert found["m0008"] == replace(rows[8], accepted=True) and found["new"] == Known("new", accepted=True)
    assert [(name, by) for name, by, _, _ in journal.acceptances()] == [
        ("m0008", "operator"),
        ("new", "operator"),
    ]
    journal.close()


def test_i11_a_journal_of_the_release_before_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    open_journal(path, migrations=statements()[1][:1]).close()
    journal = open_report_journal(path)
    assert list(journal.seen()) == [] and journal.applied() == {} and journal.waiting() == (0, None)
    journal.close()

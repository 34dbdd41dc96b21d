"""What a rule hides from the agent is not taken for gone, and what is gone is reported at once (X1)."""

from __future__ import annotations

import os
import sqlite3
from pwd import getpwuid

import pytest

from site_bundle.reporter.adapters.sqlite_journal import JOURNAL_NAME, open_report_journal
from tests.site.reporter import GROUPS, Scene
from tests.site.slapd import PEOPLE, SUFFIX

pytestmark = pytest.mark.slapd

BOB = f"uid=bob,{PEOPLE}"
GROUP = f"cn=pharos-users,{GROUPS}"


def rules(scene: Scene, *hiding: str) -> None:
    """An administrator puts these rules before the usual ones."""
    scene.slapd.stop()
    scene.slapd.set_access("to attrs=userPassword by anonymous auth by * none", *hiding, "to * by * read")
    scene.slapd.start()


def faults(scene: Scene) -> list[tuple[str, str]]:
    """A pass; the faults of the allocation."""
    observed, _ = scene.once()
    assert not observed.failed
    assert bool(observed.decision.sets) is not bool(observed.decision.faults)
    return [(fault.code, fault.name) for fault in observed.decision.faults]


def rest_of_journal(scene: Scene) -> list[tuple[str, int, int]]:
    with sqlite3.connect(scene.folder / "state" / "journal.sqlite") as journal:
        return list(journal.execute("SELECT username, gone, accepted FROM people ORDER BY username"))


def forget_journal(scene: Scene) -> None:
    for path in (scene.folder / "state").iterdir():
        path.unlink()


@pytest.mark.parametrize(
    "hiding",
    [
        f'to dn.exact="{BOB}" by * none',
        f'to dn.exact="{BOB}" by * disclose',
        f'to dn.exact="{BOB}" by * search',
        f'to dn.exact="{BOB}" attrs=entry by * none',
        f'to dn.exact="{BOB}" attrs=uid by * none',
        f'to dn.exact="{BOB}" attrs=objectClass by * none',
        f'to dn.subtree="{PEOPLE}" filter="(uid=bob)" by * none',
    ],
)
def test_x1_one_hidden_entry_of_several_is_not_absence(scene: Scene, hiding: str) -> None:
    scene.once()
    before = scene.accounts()
    rules(scene, hiding)
    for _ in range(2):
        assert faults(scene) == [("entry_hidden", "bob")]
    assert scene.accounts() == before
    rules(scene)
    assert faults(scene) == [] and scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}


@pytest.mark.parametrize("attribute", ["uidNumber", "gidNumber", "entryUUID"])
def test_x1_one_hidden_attribute_of_one_is_not_incompleteness(scene: Scene, attribute: str) -> None:
    scene.once()
    before = scene.accounts()
    rules(scene, f'to dn.exact="{BOB}" attrs={attribute} by * none')
    assert faults(scene) == [("entry_unreadable", "bob")]
    assert scene.accounts() == before


@pytest.mark.parametrize(
    "hiding",
    [
        f'to dn.exact="{GROUP}" attrs=memberUid by * none',
        f'to dn.exact="{GROUP}" attrs=memberUid val=bob by * none',
        f'to dn.exact="{GROUP}" attrs=memberUid by * search',
    ],
)
def test_x1_hidden_member_uid_is_not_a_missing_group(scene: Scene, hiding: str) -> None:
    with scene.slapd.administrator() as admin:
        admin.modify(BOB, {"gidNumber": [("MODIFY_REPLACE", ["100"])]})
    scene.once()
    before = scene.accounts()
    assert scene.states()["bob"] == ("ready", 1)
    rules(scene, hiding)
    for _ in range(2):
        assert faults(scene) == [("group_hidden", "bob")]
    assert scene.accounts() == before


def test_x1_hidden_group_of_a_gid_is_not_a_missing_group(scene: Scene) -> None:
    with scene.slapd.administrator() as admin:
        admin.add(f"cn=other,{GROUPS}", ["posixGroup"], {"cn": "other", "gidNumber": "5500007"})
        admin.modify(BOB, {"gidNumber": [("MODIFY_REPLACE", ["5500007"])]})
        admin.modify(GROUP, {"memberUid": [("MODIFY_DELETE", ["bob"])]})
    scene.once()
    before = scene.accounts()
    rules(scene, f'to dn.exact="cn=other,{GROUPS}" by * none')
    assert faults(scene) == [("group_hidden", "bob")]
    assert scene.accounts() == before


def test_x1_a_leaver_of_the_group_is_incomplete_at_once(scene: Scene) -> None:
    with scene.slapd.administrator() as admin:
        admin.modify(BOB, {"gidNumber": [("MODIFY_REPLACE", ["100"])]})
    scene.once()
    with scene.slapd.administrator() as admin:
        admin.modify(GROUP, {"memberUid": [("MODIFY_DELETE", ["bob"])]})
    for _ in range(2):
        assert faults(scene) == []
        assert scene.states() == {"alice": ("ready", 1), "bob": ("incomplete", 1)}


def test_x1_a_deleted_entry_is_proven_absent_in_the_same_pass(scene: Scene) -> None:
    """His association stands, and he is still a member: only the directory can say it."""
    scene.once()
    scene.slapd.delete_person("bob")
    for _ in range(2):
        assert faults(scene) == [] and scene.states() == {"alice": ("ready", 1)}
    assert ("bob", 1, 0) in rest_of_journal(scene)
    scene.slapd.add_person("bob", 5000002)
    assert faults(scene) == [] and scene.states()["bob"] == ("ready", 1)
    assert ("bob", 0, 0) in rest_of_journal(scene)


def test_x1_another_entry_made_and_hidden_is_seen_where_the_first_was(scene: Scene) -> None:
    scene.once()
    scene.slapd.delete_person("bob")
    scene.once()
    scene.slapd.add_person("bob", 5000002)
    rules(scene, f'to dn.exact="{BOB}" by * none')
    assert faults(scene) == [("entry_hidden", "bob")]


def test_x1_a_leaver_is_reported_and_forgotten(scene: Scene) -> None:
    scene.once()
    scene.join("bob", state="retired")
    scene.cluster.remove(scene.associations["bob"])
    scene.slapd.delete_person("bob")
    assert faults(scene) == [] and scene.states() == {"alice": ("ready", 1)}
    assert "bob" not in {name for name, _, _ in rest_of_journal(scene)}


def test_x1_an_entry_at_another_place_is_asked_for_there(scene: Scene) -> None:
    place = f"cn=Bob Member,ou=guests,{PEOPLE}"
    scene.slapd.delete_person("bob")
    with scene.slapd.administrator() as admin:
        admin.add(f"ou=guests,{PEOPLE}", ["organizationalUnit"], {"ou": "guests"})
    scene.slapd.add_person("bob", 5000002, dn=place, cn="Bob Member")
    scene.once()
    assert scene.states()["bob"] == ("ready", 1)
    rules(scene, f'to dn.exact="{place}" by * none')
    assert faults(scene) == [("entry_hidden", "bob")]
    rules(scene)
    with scene.slapd.administrator() as admin:
        admin.delete(place)
    assert faults(scene) == [] and scene.states() == {"alice": ("ready", 1)}


# The journal lost: Slurm's association is what is left of the evidence.


def test_x1_journal_lost_and_an_entry_hidden_is_not_absence(scene: Scene) -> None:
    scene.once()
    before = scene.accounts()
    forget_journal(scene)
    rules(scene, f'to dn.exact="{BOB}" by * none')
    assert faults(scene) == [("entry_hidden", "bob")]
    assert scene.accounts() == before


def test_x1_journal_lost_and_everybody_hidden_is_not_absence(scene: Scene) -> None:
    scene.once()
    before = scene.accounts()
    forget_journal(scene)
    rules(scene, f'to dn.children="{PEOPLE}" by * none')
    assert faults(scene) == [("entry_hidden", "alice")]
    assert scene.accounts() == before


def test_x1_journal_lost_and_an_entry_deleted_is_absence(scene: Scene) -> None:
    """Everybody who is shown stands at the usual place, and there he is not."""
    scene.once()
    forget_journal(scene)
    scene.slapd.delete_person("bob")
    assert faults(scene) == [] and scene.states().keys() == {"alice"}


def test_x1_journal_lost_where_entries_stand_anywhere_proves_nothing(scene: Scene) -> None:
    scene.once()
    before = scene.accounts()
    scene.slapd.add_person("carol", 5000003, dn=f"cn=carol,{PEOPLE}")
    forget_journal(scene)
    scene.slapd.delete_person("bob")
    assert faults(scene) == [("absence_unproven", "bob")] and scene.accounts() == before


def test_x1_a_member_nobody_ever_saw_is_awaited(scene: Scene) -> None:
    """Neither Slurm nor the journal knows her: nothing is asked, nobody is held up."""
    scene.join("carol")
    scene.once()
    before = scene.slapd.folder.joinpath("log").read_text().count(" MOD dn=")
    assert faults(scene) == [] and scene.states().keys() == {"alice", "bob"}
    assert scene.slapd.folder.joinpath("log").read_text().count(" MOD dn=") == before


def test_x1_a_server_that_takes_no_changes_proves_nothing(scene: Scene) -> None:
    """Read-only, it neither tells hidden from gone, nor is taken at its word."""
    scene.once()
    before = scene.accounts()
    scene.slapd.delete_person("bob")
    scene.slapd.stop()
    scene.slapd.set_read_only()
    scene.slapd.start()
    assert faults(scene) == [("absence_unproven", "bob")] and scene.accounts() == before


def test_x1_asking_changes_nothing(scene: Scene) -> None:
    """The question is a change that cannot be made, also for whoever may make it."""
    scene.once()
    agent = f'by dn.exact="cn=pharos-agent,ou=services,{SUFFIX}"'
    rules(
        scene, f'to dn.exact="{BOB}" attrs=entry {agent} =w by * read', f'to dn.exact="{BOB}" {agent} write'
    )

    def stored() -> object:
        with scene.slapd.administrator() as admin:
            admin.search(BOB, "(objectClass=*)", "BASE", attributes=["*", "modifyTimestamp", "entryCSN"])
            return admin.response[0]["raw_attributes"]

    before = stored()
    assert faults(scene) == [("entry_hidden", "bob")]
    assert stored() == before


# An administrator's word.


def accept(scene: Scene, name: str, reason: str = "ticket 4711") -> tuple[int, str]:
    done = scene.ask("accept-absence", name, "--reason", reason)
    return done.returncode, done.stdout + done.stderr


def test_x1_an_accepted_absence_is_reported_until_the_entry_is_shown(scene: Scene) -> None:
    scene.once()
    rules(scene, f'to dn.exact="{BOB}" by * none')
    assert faults(scene) == [("entry_hidden", "bob")]
    code, said = accept(scene, "bob")
    assert code == 0 and "bob is absent, until the directory shows it again" in said
    for _ in range(2):
        assert faults(scene) == [] and scene.states() == {"alice": ("ready", 1)}
    rules(scene)
    assert faults(scene) == [] and scene.states()["bob"] == ("ready", 1)
    rules(scene, f'to dn.exact="{BOB}" by * none')
    assert faults(scene) == [("entry_hidden", "bob")], "the word was for what was not shown then"
    journal = open_report_journal(scene.folder / "state" / JOURNAL_NAME)
    ((name, by, reason, _),) = journal.acceptances()
    journal.close()
    assert (name, by, reason) == ("bob", getpwuid(os.getuid()).pw_name, "ticket 4711")


def test_x1_an_accepted_loss_of_the_group_is_incompleteness(scene: Scene) -> None:
    with scene.slapd.administrator() as admin:
        admin.modify(BOB, {"gidNumber": [("MODIFY_REPLACE", ["100"])]})
    scene.once()
    rules(scene, f'to dn.exact="{GROUP}" attrs=memberUid by * none')
    assert faults(scene) == [("group_hidden", "bob")]
    assert accept(scene, "bob")[0] == 0
    for _ in range(2):
        assert faults(scene) == []
        assert scene.states() == {"alice": ("ready", 1), "bob": ("incomplete", 1)}


def test_x1_journal_lost_and_an_unproven_absence_accepted(scene: Scene) -> None:
    scene.once()
    scene.slapd.add_person("carol", 5000003, dn=f"cn=carol,{PEOPLE}")
    forget_journal(scene)
    scene.slapd.delete_person("bob")
    assert faults(scene) == [("absence_unproven", "bob")]
    assert accept(scene, "bob")[0] == 0
    assert faults(scene) == [] and scene.states().keys() == {"alice"}


@pytest.mark.parametrize(
    ("name", "reason", "code"),
    [("Bob Member", "ticket", "username_malformed"), ("bob", " ", "acceptance_unexplained")],
)
def test_x1_an_acceptance_has_a_name_and_a_reason(scene: Scene, name: str, reason: str, code: str) -> None:
    returned, said = accept(scene, name, reason)
    assert returned == 2 and code in said

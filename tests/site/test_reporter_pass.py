"""A pass against real sources: what is proven is reported, what is not whole is not (S8, P21–P23, P36)."""

from __future__ import annotations

import pytest

from tests.site.reporter import BIND_DN, CAPACITY, Scene
from tests.site.slapd import PEOPLE

pytestmark = pytest.mark.slapd


def test_s8_members_are_applied_and_reported_ready_in_one_pass(scene: Scene) -> None:
    observed, sent = scene.once()
    assert not observed.failed and not observed.decision.faults and sent.error is None
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}
    number = scene.associations["alice"]
    alice = scene.account("alice")
    assert alice["nativeUid"] == f"{scene.slapd.target('alice').entry_uuid}/{number}"
    assert alice["uidNumber"] == 5000001
    assert scene.cluster.comment(number) == f"pharos:1:{scene.alice}:1"
    seen, report = scene.platform.resources[scene.resource]
    assert seen == observed.observed_at, "the time of the pass, taken before its first read"
    assert report["applied"] == report["configured"] == dict(sorted(CAPACITY.items()))
    assert report["used"] == dict.fromkeys(sorted(CAPACITY), 0)
    assert (report["state"], report["paused"], report["nativeName"]) == ("ok", False, "proj_a")


def test_s14_observe_writes_nothing_and_says_what_it_would(scene: Scene) -> None:
    observed, _ = scene.once(PHAROS_REPORTER_MODE="observe")
    assert [item.result for item in observed.differences] == ["would", "would"]
    assert scene.states() == {"alice": ("incomplete", 1), "bob": ("incomplete", 1)}
    assert not any("--immediate" in call for call in scene.cluster.calls())
    shown = scene.ask("once", PHAROS_REPORTER_MODE="observe")
    assert "would: alice in proj_a, generation 1" in shown.stdout, shown.stderr
    assert scene.cluster.comment(scene.associations["alice"]) == ""


def test_s8_a_new_generation_is_pending_until_it_is_applied(scene: Scene) -> None:
    scene.once()
    scene.join("alice", generation=2)
    observed, _ = scene.once(PHAROS_REPORTER_MODE="observe")
    assert scene.states()["alice"] == ("ready", 1)
    notes = [note.code for found in observed.decision.sets for note in found.decided.notes]
    assert notes == ["generation_pending"]
    scene.once()
    assert scene.states()["alice"] == ("ready", 2)
    assert scene.cluster.comment(scene.associations["alice"]) == f"pharos:1:{scene.alice}:2"


def test_s8_neither_comment_nor_journal_alone_is_evidence(scene: Scene) -> None:
    """Another's comment, or a comment that is gone: applied anew, and not ready in between."""
    scene.once()
    number = scene.associations["alice"]
    scene.cluster.change(number, comment="")
    scene.once(PHAROS_REPORTER_MODE="observe")
    assert scene.states()["alice"] == ("incomplete", 1)
    (scene.folder / "state" / "journal.sqlite").unlink()
    scene.cluster.change(number, comment=f"pharos:1:{scene.alice}:1")
    scene.once(PHAROS_REPORTER_MODE="observe")
    assert scene.states()["alice"] == ("incomplete", 1)
    scene.once()
    assert scene.states()["alice"] == ("ready", 1)


def test_p23_recreated_entry_is_another_account(scene: Scene) -> None:
    scene.once()
    before = scene.account("alice")["nativeUid"]
    scene.slapd.delete_person("alice")
    scene.slapd.add_person("alice", 5000001)
    scene.once(PHAROS_REPORTER_MODE="observe")
    assert scene.states()["alice"] == ("incomplete", 1)
    scene.once()
    after = scene.account("alice")["nativeUid"]
    assert scene.states()["alice"] == ("ready", 1)
    assert after != before and after.endswith(before.partition("/")[2])


def test_p23_removed_and_readded_association_is_another_account(scene: Scene) -> None:
    scene.once()
    before = scene.account("bob")["nativeUid"]
    scene.cluster.remove(scene.associations["bob"])
    number = scene.cluster.add_user("proj_a", "bob")
    scene.once()
    assert scene.account("bob")["nativeUid"] == before.partition("/")[0] + f"/{number}"


def test_a48_missing_association_is_incomplete(scene: Scene) -> None:
    scene.cluster.remove(scene.associations["bob"])
    observed, _ = scene.once()
    assert scene.states() == {"alice": ("ready", 1), "bob": ("incomplete", 1)}
    notes = [(note.code, note.name) for found in observed.decision.sets for note in found.decided.notes]
    assert notes == [("association_missing", "bob")]


def test_s8_other_words_in_a_comment_stay(scene: Scene) -> None:
    scene.cluster.change(scene.associations["alice"], comment="ticket 4711, see wiki")
    scene.once()
    assert scene.cluster.comment(scene.associations["alice"]) == (
        f"ticket 4711, see wiki pharos:1:{scene.alice}:1"
    )


@pytest.mark.parametrize("comment", ["line one\nicarus|line two", "caf\ufffd, bytes of another charset"])
def test_a02_a04_comment_that_could_not_be_kept_is_not_touched(scene: Scene, comment: str) -> None:
    """The member waits, and is named; everybody else goes on."""
    number = scene.associations["alice"]
    scene.cluster.change(number, comment=comment)
    observed, _ = scene.once()
    assert [(item.act.association.user, item.result) for item in observed.differences] == [
        ("bob", "applied"), ("alice", "unwritable"),
    ]  # fmt: skip
    assert scene.states() == {"alice": ("incomplete", 1), "bob": ("ready", 1)}
    assert scene.cluster.comment(number) == comment


def test_a48_what_sacctmgr_did_is_read_back(scene: Scene) -> None:
    """Exit status and words are no evidence; the other line of the same command is."""
    scene.cluster.set(refuses=[scene.associations["alice"]])
    observed, _ = scene.once()
    assert {item.act.association.user: item.result for item in observed.differences} == {
        "alice": "unwritten", "bob": "applied",
    }  # fmt: skip
    assert scene.states() == {"alice": ("incomplete", 1), "bob": ("ready", 1)}


def test_a29_w17_slurmdbd_down_sends_nothing(scene: Scene) -> None:
    scene.once()
    arrived = len(scene.platform.arrived)
    scene.cluster.down("sacctmgr")
    with pytest.raises(Exception, match="slurm_unavailable") as caught:
        scene.once()
    assert "Connection refused" in str(caught.value)
    assert len(scene.platform.arrived) == arrived and scene.outbox() == []
    scene.cluster.down()
    scene.once()
    assert scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}


def test_a50_unknown_cluster_is_unavailable(scene: Scene) -> None:
    """sacctmgr answers nothing, with exit 0, for a cluster it does not know."""
    with pytest.raises(Exception, match="slurm_parent_missing"):
        scene.once(PHAROS_REPORTER_CLUSTER="elsewhere")
    assert scene.platform.arrived == []


def limited(scene: Scene, limit: str) -> None:
    scene.slapd.stop()
    scene.slapd.set_limit(f'dn.exact="{BIND_DN}" {limit}')
    scene.slapd.start()


def test_b05_size_limit_makes_no_account_report(scene: Scene) -> None:
    """Paged reading goes past the limit only where the server allows it (RFC 2696)."""
    scene.once()
    for number in range(20):
        scene.slapd.add_person(f"m{number}", 5010000 + number)
    before = scene.accounts()
    limited(scene, "size=10")
    observed, _ = scene.once()
    assert observed.failed["directory"].code == "directory_size_limit"
    assert not observed.decision.sets and scene.accounts() == before
    assert {fault.code for fault in observed.decision.faults} == {"directory_unavailable"}
    limited(scene, "size.soft=10 size.hard=10 size.prtotal=unlimited")
    observed, _ = scene.once()
    assert not observed.failed and scene.states().keys() == {"alice", "bob"}


def test_b07_directory_down_keeps_every_account(scene: Scene) -> None:
    scene.once()
    before = scene.accounts()
    with scene.slapd.away():
        observed, _ = scene.once()
    assert observed.failed["directory"].code == "directory_unreachable"
    assert scene.accounts() == before


def test_b09_referral_among_the_people_makes_no_account_report(scene: Scene) -> None:
    scene.once()
    before = scene.accounts()
    with scene.slapd.administrator() as admin:
        admin.add(
            f"ou=elsewhere,{PEOPLE}",
            ["referral", "extensibleObject"],
            {"ou": "elsewhere", "ref": "ldap://other.example/dc=x"},
            controls=[("2.16.840.1.113730.3.4.2", True, None)],
        )
    observed, _ = scene.once()
    assert observed.failed["directory"].code == "directory_referral"
    assert not observed.decision.sets and scene.accounts() == before


def test_b11_b12_restarted_directory_is_bound_and_read_anew(scene: Scene) -> None:
    for _ in range(2):
        observed, _ = scene.once()
        assert not observed.failed and scene.states() == {"alice": ("ready", 1), "bob": ("ready", 1)}
        with scene.slapd.away():
            pass


@pytest.mark.parametrize(
    ("level", "code"), [("none", "directory_base_missing"), ("search", "directory_unreadable")]
)
def test_b06_lost_read_access_is_not_absence(scene: Scene, level: str, code: str) -> None:
    """With the right to search alone slapd answers success and nobody."""
    scene.once()
    before = scene.accounts()
    scene.slapd.stop()
    scene.slapd.set_access(
        "to attrs=userPassword by anonymous auth by * none",
        f'to dn.subtree="ou=people,ou=pharos,dc=icarus,dc=example" by * {level}',
        "to * by * read",
    )
    scene.slapd.start()
    observed, _ = scene.once()
    assert observed.failed["directory"].code == code
    assert scene.accounts() == before


@pytest.mark.parametrize("base", ["people", "groups"])
def test_b06_readable_base_with_nobody_below_it_is_not_absence(scene: Scene, base: str) -> None:
    scene.once()
    before = scene.accounts()
    scene.slapd.stop()
    scene.slapd.set_access(
        "to attrs=userPassword by anonymous auth by * none",
        f'to dn.children="ou={base},ou=pharos,dc=icarus,dc=example" by * none',
        "to * by * read",
    )
    scene.slapd.start()
    observed, _ = scene.once()
    assert not observed.failed and {fault.code for fault in observed.decision.faults} == {"directory_empty"}
    assert scene.accounts() == before


def test_b03_e23_entry_in_another_spelling_is_not_absence(scene: Scene) -> None:
    scene.once()
    before = scene.accounts()
    scene.slapd.delete_person("bob")
    scene.slapd.add_person("BOB", 5000002)
    observed, _ = scene.once()
    assert {fault.code for fault in observed.decision.faults} == {"entry_ambiguous"}
    assert scene.accounts() == before


def test_b06_hidden_attribute_makes_the_set_unreadable(scene: Scene) -> None:
    scene.once()
    before = scene.accounts()
    scene.slapd.stop()
    scene.slapd.set_access(
        "to attrs=userPassword by anonymous auth by * none", "to attrs=uidNumber by * none", "to * by * read"
    )
    scene.slapd.start()
    observed, _ = scene.once()
    assert {fault.code for fault in observed.decision.faults} == {"entry_unreadable"}
    assert scene.accounts() == before

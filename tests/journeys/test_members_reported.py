"""A member's account from the joining to the end, as the Site reports it and the platform knows it (S8, P17,
P21–P24, P28, P30, P36): every step is Waldur's, Beto's or an administrator's, and nothing is told by hand.
"""

import pytest

from tests.journeys.central import SITE
from tests.journeys.members import Member, MemberApiError
from tests.journeys.reporting import Allocation, Reporting
from tests.lab.processes import wait_until
from tests.lab.sshlogin import REFUSED, MemberKey, directory_keys, forget_cached, login

pytestmark = pytest.mark.lab

USER, NUMBER = "carol", 5_000_003


@pytest.fixture(scope="module")
def sold(reporting: Reporting) -> Allocation:
    """An allocation that is there at Waldur and in Slurm; nobody has joined."""
    made = reporting.sell("proj_members")
    reporting.account(made.account)
    return made


@pytest.fixture(scope="module")
def party(reporting: Reporting, sold: Allocation) -> str:
    return reporting.join(sold, USER)


@pytest.fixture(scope="module")
def member(reporting: Reporting, party: str) -> Member:
    """The member at the platform; the issuer names members by their Party."""
    return reporting.road.central.member(party)


@pytest.fixture(scope="module")
def key(reporting: Reporting) -> MemberKey:
    return reporting.road.key("carols")


def marker(binding: str, generation: int) -> str:
    return f"pharos:1:{binding}:{generation}"


def test_s8_the_unit_as_installed_reports_allocation_and_members(
    reporting: Reporting, sold: Allocation, party: str
) -> None:
    """The unit with its own minute: at each start a pass."""
    reporting.restart()
    shown = reporting.wait_allocation(sold, lifecycle="ready")
    assert shown["configured"] == shown["applied"] != {}
    assert shown["projectId"] == sold.project and shown["nativeName"] == sold.account
    assert shown["observedAt"] <= shown["lastSeenAt"] and shown["fresh"]
    assert reporting.accounts(sold) == [], "neither in the directory nor in Slurm"


def test_a48_p21_in_the_directory_without_an_association_is_incomplete(
    site: Reporting, sold: Allocation, party: str
) -> None:
    entry = site.enter(USER, NUMBER)
    account = site.wait_account(sold, USER, state="incomplete")
    assert (account["nativeUid"], account["partyId"]) == (entry, party)
    with pytest.raises(MemberApiError, match="503"):
        site.road.central.member(party).add_key(site.road.key("too-early").public)


def test_p24_in_directory_and_slurm_and_applied_is_ready(
    site: Reporting, sold: Allocation, party: str
) -> None:
    site.slurm("add", "user", USER, f"account={sold.account}")
    account = site.wait_account(sold, USER, state="ready")
    number, comment = site.associations(sold.account)[USER]
    assert account["nativeUid"] == f"{site.entry(USER)}/{number}"
    assert (account["uidNumber"], account["generation"], account["partyId"]) == (NUMBER, 1, party)
    assert comment == marker(account["bindingId"], 1)
    absent = [row for row in site.accounts(sold) if row["state"] == "absent"]
    assert [row["nativeUid"] for row in absent] == [site.entry(USER)], (
        "the row without association is another"
    )


def test_p30_a_key_goes_to_the_reported_account_and_logs_in(
    site: Reporting, member: Member, key: MemberKey
) -> None:
    added = member.add_key(key.public)
    member.wait_for(added["keyId"], "active")
    assert directory_keys(site.road.host, USER) == [key.public]
    forget_cached(site.road.host, USER)
    entered = login(site.road.host, USER, key, "id")
    assert entered.returncode == 0 and f"uid={NUMBER}({USER})" in entered.stdout, entered.stderr


def test_p30_who_left_is_eligible_no_more_and_removes_the_key(
    site: Reporting, sold: Allocation, member: Member, key: MemberKey
) -> None:
    site.leave(sold, USER)
    site.wait_pass()
    assert "LEFT" in site.explained("account", USER, "--site", SITE)
    with pytest.raises(MemberApiError, match="not_eligible"):
        member.add_key(site.road.key("after-leaving").public)
    (held,) = [held for held in member.list_keys() if held["state"] == "active"]
    member.remove_key(held["keyId"])
    member.wait_for(held["keyId"], "removed")
    forget_cached(site.road.host, USER)
    assert wait_until(lambda: login(site.road.host, USER, key).returncode == REFUSED, 60.0, every=0.5)
    # The account itself is the Site's, and is there until the Site removes it.
    assert site.wait_account(sold, USER, state="ready")["generation"] == 1


def test_p36_who_rejoins_is_pending_until_the_site_applied_the_generation(
    site: Reporting, sold: Allocation, member: Member
) -> None:
    before = site.associations(sold.account)[USER]
    site.drive(PHAROS_REPORTER_MODE="observe")
    site.join(sold, USER)
    observed = site.wait_status(
        lambda status: status["accounts"].get("notes") == {"generation_pending": 1}, "generation_pending"
    )
    assert observed["differences"] == {"would": 1}
    site.wait_pass()
    assert site.associations(sold.account)[USER] == before, "to observe is to write nothing"
    account = site.wait_account(sold, USER, state="ready")
    assert account["generation"] == 1 and account["fresh"], (
        "seen again and again, and no evidence of the second"
    )
    with pytest.raises(MemberApiError, match="503"):
        member.add_key(site.road.key("not-yet").public)
    site.drive()
    applied = site.wait_account(sold, USER, state="ready", generation=2)
    assert applied["nativeUid"] == account["nativeUid"], "the incarnation is the same"
    assert site.associations(sold.account)[USER][1] == marker(applied["bindingId"], 2)
    site.wait_account(sold, USER, state="absent", generation=1, nativeUid=account["nativeUid"])


def test_p23_an_entry_made_again_with_the_same_number_is_another_account(
    site: Reporting, sold: Allocation
) -> None:
    before = site.wait_account(sold, USER, state="ready")
    site.erase(USER)
    site.wait_account(sold, USER, nativeUid=before["nativeUid"], generation=2, state="absent")
    entry = site.enter(USER, NUMBER)
    after = site.wait_account(sold, USER, state="ready")
    assert after["nativeUid"] == f"{entry}/{site.associations(sold.account)[USER][0]}" != before["nativeUid"]
    assert (after["uidNumber"], after["generation"]) == (before["uidNumber"], before["generation"])
    site.wait_account(sold, USER, nativeUid=before["nativeUid"], generation=2, state="absent")


def test_p23_an_association_removed_and_made_again_is_another_account(
    site: Reporting, sold: Allocation
) -> None:
    before = site.wait_account(sold, USER, state="ready")
    site.slurm("remove", "user", "where", f"name={USER}", f"account={sold.account}")
    missing = site.wait_account(sold, USER, state="incomplete")
    assert missing["nativeUid"] == site.entry(USER)
    site.slurm("add", "user", USER, f"account={sold.account}")
    after = site.wait_account(sold, USER, state="ready")
    assert after["nativeUid"].startswith(site.entry(USER)) and after["nativeUid"] != before["nativeUid"]


def test_p28_accepted_work_keeps_the_account_of_who_left_until_it_is_released(
    site: Reporting, sold: Allocation
) -> None:
    work = {"owner": "execution", "project": sold.project, "site": SITE, "username": USER}
    item = site.road.central.beto("accept", **work)["item"]
    assert wait_until(lambda: USER in site.retained(), 60.0, every=0.2)
    site.leave(sold, USER)
    site.wait_pass()
    assert USER in site.retained(), "what was accepted still needs it"
    assert site.wait_account(sold, USER, state="ready")["generation"] == 2
    site.road.central.beto("release", owner="execution", item=item)
    assert wait_until(lambda: USER not in site.retained(), 60.0, every=0.2)
    # The provider's agent removes whom nobody needs; the reporter says so when it is so.
    site.slurm("remove", "user", "where", f"name={USER}", f"account={sold.account}")
    site.wait_pass()
    assert {row["state"] for row in site.accounts(sold)} == {"absent"}

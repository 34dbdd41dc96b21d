"""What Waldur must say before the reporter may run: version, role, offering, provider, component, pool (I15,
W23, W47, X1).
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from installer.domain.checks import CHECKS
from installer.domain.profile import UidRange
from installer.domain.profile_reporter import GidRange
from installer.domain.waldur import (
    Component,
    Me,
    Offering,
    Permission,
    Pool,
    Version,
    judge_component,
    judge_pool,
    judge_role,
    judge_sole,
    same_uuid,
)
from installer.host.https import Unanswered
from installer.host.ldap_agent_probe import AgentAnswer
from installer.host.ldap_probe import ProbeStep
from tests.installer.reporter_rig import CUSTOMER, OFFERING, Both, directory_answer

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DASHED = "c0000000-0000-4000-8000-000000000001"
OWNER = Permission(role_name="CUSTOMER.OWNER", scope_type="customer", scope_uuid=CUSTOMER)
MANAGER = Permission(
    role_name="CUSTOMER.MANAGER", scope_type="serviceprovider", scope_uuid="5" * 32, customer_uuid=DASHED
)
OFFERING_MANAGER = Permission(
    role_name="OFFERING.MANAGER", scope_type="offering", scope_uuid=OFFERING, customer_uuid=CUSTOMER
)


def with_end(row: Permission, end: str) -> Permission:
    return Permission(
        role_name=row.role_name,
        scope_type=row.scope_type,
        scope_uuid=row.scope_uuid,
        customer_uuid=row.customer_uuid,
        expiration_time=end,
    )


def role(name: str, scope_type: str | None = "customer", scope: str | None = CUSTOMER) -> Permission:
    return Permission(role_name=name, scope_type=scope_type, scope_uuid=scope)


@pytest.mark.parametrize(
    ("rows", "status", "told"),
    [
        ((OWNER,), "pass", "without an end"),
        ((MANAGER,), "pass", "CUSTOMER.MANAGER"),
        ((with_end(OWNER, "2026-06-01T12:00:01Z"),), "pass", "until"),
        ((with_end(OWNER, "2026-06-01T12:00:00Z"),), "fail", "ended at"),
        ((with_end(OWNER, "2026-06-01T12:00:00Z"), MANAGER), "pass", "CUSTOMER.MANAGER"),
        ((with_end(OWNER, "tomorrow"),), "unknown", "cannot be read"),
        ((OFFERING_MANAGER,), "fail", "400"),
        ((OFFERING_MANAGER, OWNER), "pass", "CUSTOMER.OWNER"),
        ((role("CUSTOMER.OWNER", scope="d" * 32),), "fail", "none of them"),
        ((role("CUSTOMER.OWNER", scope=None),), "unknown", "without the organisation"),
        ((role("CUSTOMER.MANAGER", "serviceprovider"),), "unknown", "without the organisation"),
        ((role("CUSTOMER.OWNER", "project"),), "fail", "none of them"),
        ((role("CUSTOMER.SUPPORT"),), "fail", "SUPPORT"),
        ((Permission(),), "fail", "without a name"),
        ((), "fail", "no role"),
    ],
)
def test_i15_w23_w47_the_role_is_on_the_provider(
    rows: tuple[Permission, ...], status: str, told: str
) -> None:
    judged = judge_role(Me(permissions=rows), DASHED, NOW)
    assert (judged.status, told in judged.found) == (status, True), judged


@pytest.mark.parametrize(
    ("me", "status"),
    [
        (Me(permissions=None), "unknown"),
        (Me(is_staff=True, permissions=(OWNER,)), "fail"),
        (Me(is_support=True, permissions=(OWNER,)), "fail"),
        (Me(is_active=False, permissions=(OWNER,)), "fail"),
        (Me(is_active=True, is_staff=False, is_support=False, permissions=(OWNER,)), "pass"),
    ],
)
def test_i7_i15_neither_staff_nor_support_nor_inactive(me: Me, status: str) -> None:
    assert judge_role(me, CUSTOMER, NOW).status == status


def offer(uuid: str, state: str | None = "Active") -> Offering:
    return Offering(uuid=uuid, name=f"offering {uuid[0]}", state=state)


@pytest.mark.parametrize(
    ("sold", "status"),
    [
        ((offer(OFFERING),), "pass"),
        ((offer(OFFERING), offer("a" * 32, "Archived")), "pass"),
        ((offer(OFFERING), offer("a" * 32)), "fail"),
        ((offer(OFFERING), offer("a" * 32, "Paused")), "fail"),
        ((offer(OFFERING), offer("a" * 32, "Draft")), "fail"),
        ((offer(OFFERING), offer("a" * 32, None)), "fail"),
        ((offer("a" * 32),), "fail"),
        ((), "fail"),
    ],
)
def test_i15_the_provider_sells_this_offering_alone(sold: tuple[Offering, ...], status: str) -> None:
    assert judge_sole(OFFERING, sold).status == status


@pytest.mark.parametrize(
    ("components", "status"),
    [
        ((Component(type="node", billing_type="limit", limit_period="total"),), "pass"),
        ((Component(type="node", billing_type="usage", limit_period="total"),), "fail"),
        ((Component(type="node", billing_type="limit", limit_period="month"),), "fail"),
        ((Component(type="node", billing_type="limit"),), "fail"),
        ((Component(type="cpu", billing_type="limit", limit_period="total"),), "fail"),
        ((), "fail"),
        (None, "unknown"),
    ],
)
def test_i15_node_is_limit_billed_over_the_whole_lifetime(
    components: tuple[Component, ...] | None, status: str
) -> None:
    assert judge_component(Offering(uuid=OFFERING, components=components)).status == status


@pytest.mark.parametrize(
    ("pool", "status"),
    [
        (Pool(min_uid=5000000, max_uid=5499999, min_group_gid=5500000, max_group_gid=5599999), "pass"),
        (Pool(min_uid=5000000, max_uid=5499999, min_gid=5500000, max_gid=5599999), "pass"),
        (Pool(min_uid=5000000, max_uid=5500000, min_group_gid=5500000, max_group_gid=5599999), "fail"),
        (Pool(min_uid=4999999, max_uid=5499999, min_group_gid=5500000, max_group_gid=5599999), "fail"),
        (Pool(min_uid=5000000, max_uid=5499999, min_group_gid=5500000, max_group_gid=5600000), "fail"),
        (Pool(min_uid=5499999, max_uid=5000000, min_group_gid=5500000, max_group_gid=5599999), "fail"),
        (Pool(min_uid=5000000, max_uid=5499999), "fail"),
        (Pool(), "fail"),
    ],
)
def test_i9_i15_the_pool_stays_in_the_sites_ranges(pool: Pool, status: str) -> None:
    ranges = UidRange(min=5000000, max=5499999), GidRange(min=5500000, max=5599999)
    assert judge_pool(pool, *ranges).status == status


def test_uuids_are_compared_as_uuids() -> None:
    assert same_uuid(CUSTOMER, DASHED.upper()) and not same_uuid(CUSTOMER, None) and not same_uuid(None, None)


GONE = Unanswered(why="HTTP 404: not there, or not visible to the token", definite=True)
BUSY = Unanswered(why="HTTP 503: no answer to use", definite=False)


@pytest.mark.parametrize(
    ("attribute", "answer", "check", "status"),
    [
        ("me_answer", Unanswered(why="HTTP 401: …", definite=True), "waldur.api", "fail"),
        ("me_answer", BUSY, "waldur.api", "unknown"),
        ("version_answer", Version(version="8.1.2"), "waldur.version", "fail"),
        ("version_answer", Version(version="8.1.3.dev1"), "waldur.version", "fail"),
        ("version_answer", BUSY, "waldur.version", "unknown"),
        ("offering_answer", GONE, "waldur.offering", "fail"),
        ("offering_answer", Offering(uuid=OFFERING), "waldur.offering", "unknown"),
        ("me_answer", Me(permissions=(OFFERING_MANAGER,)), "waldur.role", "fail"),
        ("sold", BUSY, "waldur.provider", "unknown"),
        ("pool", GONE, "waldur.posix-pools", "fail"),
        ("pool", BUSY, "waldur.posix-pools", "unknown"),
    ],
)
def test_i15_each_check_says_found_wanted_and_remedy(
    both: Both, attribute: str, answer: Any, check: str, status: str
) -> None:
    setattr(both.waldur, attribute, answer)
    release = both.release("0.1.0")
    (finding,) = both.findings(release)[check]
    assert finding["status"] == status and finding["subject"] == "reporter"
    assert finding["found"] and finding["wanted"] and finding["remedy"]
    assert not CHECKS[check].waivable
    assert both.rig.run("validate", "--release", release, "--components", "ssh-access").code == 0


def test_i15_all_is_well(both: Both) -> None:
    found = both.findings()
    checks = {
        name
        for name in CHECKS
        if name.startswith(("waldur.", "intake.", "slurm.", "ldap.agent-", "site-agent."))
    }
    assert {name for name in checks if {event["status"] for event in found[name]} == {"pass"}} == checks


def test_x1_an_intake_that_is_busy_is_unknown_and_one_that_refuses_the_key_fails(both: Both) -> None:
    release = both.release("0.1.0")
    both.intake = BUSY
    assert both.findings(release)["intake.key"][0]["status"] == "unknown"
    both.intake = Unanswered(why="HTTP 401: the credential is no intake key", definite=True)
    assert both.findings(release)["intake.key"][0]["status"] == "fail"


@pytest.mark.parametrize(
    ("name", "check"),
    [("intake-key", "intake.key"), ("waldur-token", "waldur.api"), ("ldap-password", "ldap.agent-bind")],
)
def test_i3_a_missing_credential_is_named_and_what_needs_it_is_unknown(
    both: Both, name: str, check: str
) -> None:
    both.rig.paths.at(f"/etc/pharos-hpc/credentials/reporter/{name}").unlink()
    found = both.findings()
    assert name in " ".join(
        event["found"] for event in found["credentials.private"] if event["status"] == "fail"
    )
    assert found[check][0]["status"] == "unknown"


def test_x1_a_refused_password_is_failed_and_a_silent_directory_unknown(both: Both) -> None:
    both.directory = AgentAnswer(identity="", bases=(), steps=(), absence=(), credentials_refused=True)
    release = both.release("0.1.0")
    (refused,) = both.findings(release)["ldap.agent-bind"]
    assert refused["status"] == "fail" and "the password" in refused["found"] + refused["remedy"]
    both.directory = "LDAPSocketOpenError: connection refused"
    assert both.findings(release)["ldap.agent-bind"][0]["status"] == "unknown"


@pytest.mark.parametrize("found", ["unwillingToPerform", "assertionFailed", "referral"])
def test_x1_a_directory_that_cannot_tell_hidden_from_absent_is_refused(both: Both, found: str) -> None:
    release = both.release("0.1.0")
    assert both.findings(release)["ldap.agent-absence"][0]["status"] == "pass"
    step = ProbeStep(name="an entry that is not", wanted="noSuchObject", found=found)
    both.directory = replace(directory_answer(), absence=(step,))
    (told,) = both.findings(release)["ldap.agent-absence"]
    assert told["status"] == "fail" and found in told["found"]


def test_preflight_asks_the_services_before_anything_is_installed(both: Both) -> None:
    plan = both.rig.run("preflight", "--plan")
    assert plan.code == 0 and "check waldur.role" in plan.stdout and "slurm." not in plan.stdout
    assert (
        "slurm.coordinator:" in both.rig.run("validate", "--plan", "--release", both.release("0.1.0")).stdout
    )
    both.rig.profile()
    assert "waldur" not in both.rig.run("preflight", "--plan").stdout


def test_s9_s11_a_mode_that_removes_is_refused_until_its_evidence_is_accepted(both: Both) -> None:
    both.profile(lambda profile: profile.update(site_agent_modes=["report", "membership_sync"]))
    found = both.findings()["site-agent.modes"][0]
    assert found["status"] == "fail" and "membership_sync" in found["found"]

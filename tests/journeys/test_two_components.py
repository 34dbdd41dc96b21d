"""Both components on a lab host: the four phases with Waldur, intake, directory and Slurm as they are, what
is refused before anything changes, and the way back together or apart (I7, I12, I13, I15; rows 4, 33).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from installer.domain.checks import CHECKS
from tests.journeys.releases import Release
from tests.journeys.road import Road, road
from tests.lab.processes import wait_until
from tests.lab.tree import HostTree

pytestmark = pytest.mark.lab

COMPONENTS = ("ssh-access", "reporter")
UNIT = "pharos-reporter.service"


@dataclass(frozen=True, slots=True)
class Handed:
    """A release that has reached the host, unpacked in ``folder``."""

    release: Release
    folder: str


@pytest.fixture(scope="module")
def both(lab_tree: HostTree) -> Iterator[Road]:
    """A fresh host that is to run both components, with central and a marketplace beside it."""
    with road(lab_tree, COMPONENTS) as walked:
        walked.start_central()
        yield walked


@pytest.fixture(scope="module")
def first(both: Road) -> Handed:
    release = both.build("0.1.0")
    both.agree(release)
    return Handed(release, both.admin.receive(release.archive))


def findings(done: Any) -> dict[str, list[dict[str, Any]]]:
    """The checks of a phase that was run with ``--json``, by id."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event.get("event") == "check" and "status" in event:
            found.setdefault(event["check"], []).append(event)
    return found


def validated(road: Road, handed: Handed) -> dict[str, list[dict[str, Any]]]:
    words = ("validate", "--config", "/etc/pharos-hpc/site.yaml", "--json")
    return findings(road.admin.phase(handed.folder, *words, check=False))


def linked(road: Road, component: str) -> str:
    link = f"/opt/pharos-hpc/components/{component}/current"
    shown = road.host.exec(["readlink", link], check=False).stdout.strip()
    return shown.split("/")[3] if shown else ""


def invocation(road: Road, component: str) -> str:
    unit = f"pharos-{component}.service"
    return road.host.exec(["systemctl", "show", unit, "--value", "--property", "InvocationID"]).stdout.strip()


def is_active(road: Road, component: str) -> bool:
    argv = ["systemctl", "is-active", f"pharos-{component}.service"]
    return road.host.exec(argv, check=False).returncode == 0


def sacctmgr(road: Road, *words: str) -> None:
    road.host.exec(["sacctmgr", "-i", *words])


def test_preflight_asks_intake_and_waldur(both: Road, first: Handed) -> None:
    done = both.admin.phase(first.folder, "preflight", "--config", "/etc/pharos-hpc/site.yaml", "--json")
    found = findings(done)
    for check in (name for name in CHECKS if name.startswith(("intake.", "waldur.", "site-agent."))):
        assert [event["status"] for event in found[check]] == ["pass"], found[check]


def test_i7_install_finds_the_administrators_user_and_keeps_it(both: Road, first: Handed) -> None:
    before = both.host.exec(["getent", "passwd", "pharos-agent"]).stdout
    both.install(first.folder)
    assert both.host.exec(["getent", "passwd", "pharos-agent"]).stdout == before
    assert linked(both, "reporter") == ""


def test_i9_validate_asks_directory_and_slurm_as_the_user(both: Road, first: Handed) -> None:
    found = validated(both, first)
    names = [name for name in found if name.startswith(("ldap.agent-", "slurm."))]
    assert len(names) == 12, names
    assert {event["status"] for name in names for event in found[name]} == {"pass"}, found


COORDINATOR = ("coordinator", "account=pharos", "names=pharos-agent")
LEVEL = ("modify", "user", "pharos-agent", "set")


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        (("remove", *COORDINATOR), ("add", *COORDINATOR), "nothing"),
        ((*LEVEL, "adminlevel=Operator"), (*LEVEL, "adminlevel=None"), "Operator"),
    ],
)
def test_i7_rights_of_the_user_that_are_too_few_or_too_many(
    both: Road, first: Handed, wrong: tuple[str, ...], right: tuple[str, ...], told: str
) -> None:
    sacctmgr(both, *wrong)
    try:
        (event,) = validated(both, first)["slurm.coordinator"]
    finally:
        sacctmgr(both, *right)
    assert event["status"] == "fail" and told in event["found"] and event["remedy"]


def test_x1_a_slurmdbd_that_is_down_is_unknown(both: Road, first: Handed) -> None:
    both.host.exec(["systemctl", "stop", "slurmdbd"])
    try:
        found = validated(both, first)
    finally:
        both.host.exec(["systemctl", "start", "slurmdbd"])
        both.host.exec(["lab-ready", "30"])
    assert found["slurm.accounting"][0]["status"] == "unknown" and "slurm.account" not in found


SPOIL = """cp -a /etc/slurm /root/slurm.kept
echo AccountingStoreFlags=job_env >>/etc/slurm/slurm.conf
echo DisableCoordDBD=yes >>/etc/slurm/slurmdbd.conf
systemctl restart slurmdbd slurmctld; lab-ready 30
"""
MEND = "cp -a /root/slurm.kept/. /etc/slurm/; systemctl restart slurmdbd slurmctld; lab-ready 30"


def test_i9_job_env_and_a_coordinator_without_rights_are_refused(both: Road, first: Handed) -> None:
    both.host.exec(["bash", "-c", SPOIL])
    try:
        found = validated(both, first)
    finally:
        both.host.exec(["bash", "-c", MEND])
    for check, told in (("slurm.store-flags", "job_env"), ("slurm.coordinator-writes", "DisableCoordDBD")):
        assert found[check][0]["status"] == "fail" and told in found[check][0]["found"], found[check]


LIMIT = """dn: olcDatabase={1}mdb,cn=config
changetype: modify
replace: olcLimits
olcLimits: dn.exact="cn=pharos-agent,ou=services,dc=icarus,dc=example" size=%s
"""


def test_s8_a_directory_that_cuts_the_agents_list_is_refused_with_the_numbers(
    both: Road, first: Handed
) -> None:
    apply = ["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"]
    both.host.exec(apply, input=LIMIT % 2)
    try:
        found = validated(both, first)["ldap.agent-limits"]
    finally:
        both.host.exec(apply, input=LIMIT % "unlimited")
    (people,) = [event for event in found if event["status"] == "fail"]
    assert "after 2 entries; there are 3" in people["found"]


@pytest.mark.parametrize(("role", "told"), [("offering_manager", "400"), ("staff", "staff")])
def test_i15_w23_another_role_is_refused_with_the_reason(
    both: Road, first: Handed, role: str, told: str
) -> None:
    assert both.marketplace is not None
    place = "/etc/pharos-hpc/credentials/reporter/waldur-token"
    both.host.put(place, both.marketplace.token(role), 0o600)
    try:
        done = both.activate(first.folder, check=False)
    finally:
        both.host.put(place, both.marketplace.token(), 0o600)
    assert done.returncode == 3 and "waldur.role" in done.stderr and told in done.stderr, done.stderr
    assert linked(both, "reporter") == linked(both, "ssh-access") == ""


def test_p11_a_key_that_does_not_open_this_site_is_refused(both: Road, first: Handed) -> None:
    place = "/etc/pharos-hpc/credentials/reporter/intake-key"
    both.host.put(place, b"another-key-of-nobody-at-all-0000", 0o600)
    try:
        (event,) = validated(both, first)["intake.key"]
    finally:
        both.host.put(place, both.central.intake_key(), 0o600)
    assert event["status"] == "fail" and "401" in event["found"]


def test_i15_nothing_of_this_was_written_to_waldur(both: Road) -> None:
    assert both.marketplace is not None
    assert both.marketplace.process.writes() == []


def test_i13_activate_switches_both_and_both_are_healthy(both: Road, first: Handed) -> None:
    done = both.activate(first.folder, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for component in COMPONENTS:
        assert linked(both, component) == first.release.release_id
        assert both.admin.agent_status(component)["release"] == first.release.release_id
    shown = both.host.exec(["systemctl", "show", UNIT, "--property", "User,ActiveState,MemoryCurrent"]).stdout
    assert "User=pharos-agent" in shown and "ActiveState=active" in shown


def test_x5_no_secret_is_readable_by_the_user_of_the_other(both: Road) -> None:
    for component, user in (("reporter", "pharos-ssh-access"), ("ssh-access", "pharos-agent")):
        read = ["cat", f"/etc/pharos-hpc/credentials/{component}"]
        assert both.host.exec(read, user=user, check=False).returncode != 0
    settings = both.host.read("/etc/pharos-hpc/reporter.env")
    assert "agentpw" not in settings and both.central.intake_key().decode().strip() not in settings


@pytest.fixture(scope="module")
def second(both: Road, first: Handed) -> Handed:
    release = both.build("0.2.0")
    handed = Handed(release, both.admin.receive(release.archive))
    both.install(handed.folder)
    return handed


def test_row_33_the_reporter_alone_is_upgraded_and_rolled_back(
    both: Road, first: Handed, second: Handed
) -> None:
    running = invocation(both, "ssh-access")
    both.activate(second.folder, components=("reporter",))
    assert (linked(both, "reporter"), linked(both, "ssh-access")) == (
        second.release.release_id,
        first.release.release_id,
    )
    both.admin.installer("rollback", "--components", "reporter")
    assert linked(both, "reporter") == first.release.release_id
    assert invocation(both, "ssh-access") == running


def test_row_4_a_reporter_that_cannot_start_takes_both_back(
    both: Road, first: Handed, second: Handed
) -> None:
    drop_in = f"/etc/systemd/system/{UNIT}.d/broken.conf"
    both.host.put(drop_in, b"[Service]\nExecStartPre=/bin/false\n")
    try:
        done = both.activate(second.folder, "--health-deadline", "15", check=False)
    finally:
        both.host.exec(["rm", "-f", drop_in])
        both.host.exec(["systemctl", "daemon-reload"])
    # The prior reporter cannot start either while the administrator's drop-in breaks it: exit 8 says so.
    assert done.returncode in {7, 8}, done.stderr[-3000:]
    assert {linked(both, component) for component in COMPONENTS} == {first.release.release_id}
    if done.returncode == 8:
        both.admin.installer("recover")
    for component in COMPONENTS:
        assert wait_until(partial(is_active, both, component), 60.0, every=0.2)


def test_i14_both_go_on_and_back_together(both: Road, first: Handed, second: Handed) -> None:
    both.activate(second.folder, "--retry-bad")
    assert {linked(both, component) for component in COMPONENTS} == {second.release.release_id}
    both.admin.installer("rollback")
    assert {linked(both, component) for component in COMPONENTS} == {first.release.release_id}

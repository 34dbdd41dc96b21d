"""What the reporter says while a source is away, cut or hidden: nothing that it does not know (S8, X1, P36).

After each: nothing was reported empty, what could not be read was not renewed, versions are gapless,
status and doctor named the cause while it lasted, and all is well again by itself.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.central import SITE
from tests.journeys.reporting import JOURNAL, UNIT, Allocation, Reporting
from tests.lab.processes import wait_until

pytestmark = pytest.mark.lab

PEOPLE_OF = ("alice", "bob")
AGENT = 'dn.exact="cn=pharos-agent,ou=services,dc=icarus,dc=example"'
TREE = "ou=pharos,dc=icarus,dc=example"
CONFIG = "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\n"
LIST = "GET /api/marketplace-provider-resources/"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What central holds of an allocation: versions of the aggregate, its last sighting, version and size of
    the set of accounts, and the observation that last confirmed it.
    """

    versions: tuple[int, ...]
    seen: datetime
    set_version: int
    accounts: int
    confirmed: datetime

    @property
    def known(self) -> tuple[object, ...]:
        """What an outage must not change."""
        return self.versions, self.set_version, self.accounts


def evidence(site: Reporting, sold: Allocation) -> Evidence:
    """As it stands now."""
    versions = site.rows(
        "SELECT version FROM provisioning.aggregate_versions WHERE id = %s ORDER BY version", sold.id
    )
    ((seen, set_version, accounts, confirmed),) = site.rows(
        "SELECT s.seen_at, a.version, a.accounts, a.observed_at FROM provisioning.allocation_sightings s"
        " JOIN provisioning.account_sets a USING (allocation_id) WHERE allocation_id = %s",
        sold.id,
    )
    kept = tuple(version for (version,) in versions)
    assert kept == tuple(range(1, len(kept) + 1)), "versions are gapless"
    return Evidence(kept, seen, set_version, accounts, confirmed)


@pytest.fixture(scope="module")
def sold(site: Reporting) -> Allocation:
    """An allocation whose two members are ready."""
    made = site.sell("proj_outages")
    site.account(made.account, *PEOPLE_OF)
    for user in PEOPLE_OF:
        site.join(made, user)
    for user in PEOPLE_OF:
        site.wait_account(made, user, state="ready")
    site.wait_pass()
    return made


# Outages: each begins in `with` and is over after it.


@contextmanager
def stopped(site: Reporting, *units: str) -> Iterator[None]:
    site.road.host.exec(["systemctl", "stop", *units])
    try:
        yield
    finally:
        site.road.host.exec(["systemctl", "start", *units])


@contextmanager
def cut(site: Reporting, entries: int) -> Iterator[None]:
    """slapd's size limit for the agent."""
    limits = f"{CONFIG}replace: olcLimits\nolcLimits: {AGENT} size=%s\n"
    site.ldap("ldapmodify", limits % entries)
    try:
        yield
    finally:
        site.ldap("ldapmodify", limits % "unlimited time=unlimited")


@contextmanager
def hidden(site: Reporting, what: str) -> Iterator[None]:
    """A first access rule that shows the agent nothing of ``what`` (slapd.access(5))."""
    rule = f'to dn.{what},{TREE}" by {AGENT} none by * break'
    site.ldap("ldapmodify", f"{CONFIG}add: olcAccess\nolcAccess: {{0}}{rule}\n")
    try:
        yield
    finally:
        site.ldap("ldapmodify", f"{CONFIG}delete: olcAccess\nolcAccess: {{0}}\n")


@contextmanager
def falsified(site: Reporting, kind: str, **how: Any) -> Iterator[None]:
    waldur = site.marketplace.process
    waldur.fault(kind, call=LIST, times=None, **how)
    try:
        yield
    finally:
        waldur.clear()


@dataclass(frozen=True, slots=True)
class Outage:
    """`check` and `code`: what the status says. `seen`: allocations can still be told. `asked`: doctor finds
    it by asking; else it only repeats the running reporter's word.
    """

    name: str
    check: str
    code: str
    begin: Callable[[Reporting], Any]
    seen: bool = False
    asked: bool = True


OUTAGES = [
    Outage("a29-w17-slurmdbd-down", "slurm", "slurm_unavailable", lambda site: stopped(site, "slurmdbd")),
    Outage("b12-slapd-down", "directory", "directory_unreachable", lambda site: stopped(site, "slapd"), True),
    Outage("b05-slapd-cuts-the-list", "directory", "directory_size_limit", lambda site: cut(site, 2), True),
    Outage(
        "b06-people-hidden-with-their-base",
        "directory",
        "directory_base_missing",
        lambda site: hidden(site, 'subtree="ou=people'),
        True,
    ),
    Outage(
        "b06-people-hidden-below-their-base",
        "directory",
        "directory_empty",
        lambda site: hidden(site, 'one="ou=people'),
        True,
    ),
    Outage(
        "b06-groups-hidden-below-their-base",
        "directory",
        "directory_empty",
        lambda site: hidden(site, 'one="ou=groups'),
        True,
    ),
    Outage(
        "x1-one-member-hidden",
        "allocations",
        "entry_hidden",
        lambda site: hidden(site, 'exact="uid=bob,ou=people'),
        True,
        asked=False,
    ),
    Outage("waldur-502", "waldur", "waldur_unavailable", lambda site: falsified(site, "status")),
    Outage("waldur-truncated", "waldur", "waldur_unreachable", lambda site: falsified(site, "truncate")),
    Outage(
        "waldur-rows-moving",
        "waldur",
        "answer_malformed",
        lambda site: falsified(site, "double"),
        asked=False,
    ),
]


# What the whole platform is: central itself, its list of retained accounts, and the reporter's own life.


def passes(site: Reporting) -> int:
    """How many passes there were since the start, whatever came of them."""
    lines = site.road.host.read("/run/pharos-reporter/metrics.prom").splitlines()
    counts = [line.split()[1] for line in lines if line.startswith("pharos_reporter_passes_total{")]
    return int(sum(map(float, counts)))


def wait_passes(site: Reporting, number: int) -> None:
    """So many more passes."""
    wanted = passes(site) + number
    assert wait_until(lambda: passes(site) >= wanted, 60, every=0.2), "no passes"


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.name)
def test_x1_a_source_that_is_away_is_not_empty(site: Reporting, sold: Allocation, outage: Outage) -> None:
    site.wait_pass()
    before = evidence(site, sold)
    with outage.begin(site):
        status = site.wait_status(lambda status: status["state"] == "degraded", "degraded")
        assert status["checks"][outage.check]["code"] == outage.code, status["checks"]
        during = evidence(site, sold)
        asked = site.doctor()
        assert asked["process"]["found"].endswith(f"failing: {outage.check}"), asked["process"]
        if outage.asked:
            own = asked[outage.check]
            assert own["status"] != "pass" and own["found"] and own["remedy"], own
        wait_passes(site, 2)
        late = evidence(site, sold)
        failing = {name for name, check in site.status()["checks"].items() if check["status"] == "fail"}
        assert failing == {outage.check}
    assert late.known == during.known == before.known
    assert late.confirmed == during.confirmed, "what could not be read was renewed"
    assert (late.seen > during.seen) == outage.seen
    status = site.wait_status(lambda status: status["state"] == "ready", "ready by itself")
    site.wait_pass()
    after = evidence(site, sold)
    assert after.known == before.known
    assert after.confirmed > late.confirmed and after.seen > late.seen


def test_p28_a_retained_list_that_does_not_stand_keeps_every_account(
    site: Reporting, sold: Allocation
) -> None:
    """Workers stand still, and the 90 s for which they are believed after it are over."""

    def warned(status: dict[str, Any]) -> bool:
        # Each time anew: a statement the stopped worker had sent may still be run by the server.
        site.execute("UPDATE retention.recovery SET alive_until = clock_timestamp()")
        return bool(status["checks"]["retained"]["status"] == "warn")

    site.wait_pass()
    before = evidence(site, sold)
    worker = site.road.central.facts()["pids"]["provisioning-worker"]
    os.kill(worker, signal.SIGSTOP)
    try:
        # The signal is taken when the process next runs; only then it sends nothing more.
        assert wait_until(lambda: stands_still(worker), 60.0)
        status = site.wait_status(warned, "a warning")
        assert status["checks"]["retained"]["code"] == "recovery_pending"
        assert "every account is kept" in site.doctor()["intake"]["found"]
        site.wait_pass()
        assert evidence(site, sold).known == before.known
    finally:
        os.kill(worker, signal.SIGCONT)
    site.wait_status(
        lambda status: status["checks"]["retained"]["status"] == "pass", "a list that stands again"
    )
    assert evidence(site, sold).known == before.known


def stands_still(pid: int) -> bool:
    """Stopped by a signal (proc_pid_stat(5), field 3)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def waiting_reports(site: Reporting) -> list[tuple[str, str, str, bool]]:
    """The outbox: report id, observation, body and whether it was tried, in its order."""
    script = (
        "import json, sqlite3, sys\nfound = sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall()\n"
    )
    script += "print(json.dumps([[a, b, bytes(c).decode(), d is not None] for a, b, c, d in found]))"
    asked = "SELECT report_id, observed_at, body, tried_at FROM outbox ORDER BY sequence"
    shown = site.road.host.exec(["python3.13", "-c", script, JOURNAL, asked]).stdout
    return [tuple(row) for row in json.loads(shown)]


def send(site: Reporting, body: str) -> dict[str, Any]:
    """A resource report's bytes once more, from the host with the Site's key (X5: not in argv)."""
    headers = b"Authorization: Bearer " + site.road.central.intake_key().strip()
    site.road.host.put("/run/replay.headers", headers, 0o600)
    url = f"{site.road.central.intake_url}/resource-provisioning/{SITE}/reports"
    given = [
        "--cacert",
        "/etc/pharos-hpc/site-api-ca.crt",
        "-H",
        "@/run/replay.headers",
        "--data-binary",
        "@-",
    ]
    more = ["-H", "Pharos-Schema: 1-1", "-H", "Content-Type: application/json"]
    answer = site.road.host.exec(["curl", "-sS", "--fail", *given, *more, url], input=body).stdout
    return dict(json.loads(answer))


def test_x7_p36_central_away_for_many_passes_and_a_replay(site: Reporting, sold: Allocation) -> None:
    """What waited arrives under its own time and its own bytes; sent once more it renews nothing."""
    site.wait_pass()
    before = evidence(site, sold)
    site.road.stop_central()
    try:
        status = site.wait_status(lambda status: status["outbox"]["waiting"] > 0, "reports that wait")
        status = site.wait_status(lambda status: status["state"] == "degraded", "degraded")
        assert status["checks"]["intake"]["status"] == "fail", status["checks"]
        assert site.doctor()["intake"]["status"] != "pass"
        wait_passes(site, 4)
        (first, *later) = waiting_reports(site)
        assert first[3] and len(later) <= 1, "of a subject one was tried, and one newer waits behind it"
        for _, observed_at, body, _ in (first, *later):
            told = json.loads(body)
            assert (told["observedAt"], bool(told["resources"])) == (observed_at, True)
    finally:
        site.road.start_central()
    site.wait_status(lambda status: status["state"] == "ready", "ready by itself")
    site.wait_pass()
    after = evidence(site, sold)
    assert after.known == before.known
    assert before.seen < after.seen and before.confirmed < after.confirmed
    received = site.rows("SELECT count(*) FROM provisioning.reports WHERE report_id = %s", first[0])
    assert received == [(1,)], "what was on its way arrived, once"
    site.road.host.exec(["systemctl", "stop", UNIT])
    stands = evidence(site, sold)
    again = send(site, first[2])
    assert again["reportId"] == first[0]
    assert evidence(site, sold) == stands, "a replay renewed something"
    assert site.rows("SELECT count(*) FROM provisioning.reports WHERE report_id = %s", first[0]) == [(1,)]
    site.drive()
    site.wait_pass()


CHECKPOINTS = {
    "before-apply": 2,
    "after-apply": 2,
    "applied-journalled": 1,
    "reports-journalled": 2,
    "report-sent": 2,
    "receipt-journalled": 2,
}
"""How often it dies there at least; what is applied and journalled is not done again."""


def restarts(site: Reporting) -> int:
    shown = site.road.host.exec(["systemctl", "show", UNIT, "--value", "--property", "NRestarts"]).stdout
    return int(shown)


@pytest.mark.parametrize("point", CHECKPOINTS)
def test_s8_killed_at_each_step_nothing_twice_and_nothing_lost(
    site: Reporting, sold: Allocation, point: str
) -> None:
    """With a rejoined member's generation to apply; it dies again after each start until let go."""
    before = evidence(site, sold)
    generation = max(row["generation"] for row in site.accounts(sold) if row["name"] == "alice") + 1
    site.drive(DRIVE=json.dumps({"die_at": point}))
    site.join(sold, "alice")
    assert wait_until(lambda: restarts(site) >= CHECKPOINTS[point], 60, every=0.2), (
        f"it did not die at {point}"
    )
    site.drive()
    account = site.wait_account(sold, "alice", state="ready", generation=generation)
    site.wait_pass()
    comment = site.associations(sold.account)["alice"][1]
    assert comment == f"pharos:1:{account['bindingId']}:{generation}", "one marker, the new one"
    after = evidence(site, sold)
    assert after.versions == before.versions, "the allocation did not change"
    assert after.accounts == before.accounts and after.set_version == before.set_version + 1
    rows = [row for row in site.accounts(sold) if row["name"] == "alice"]
    assert sorted(row["generation"] for row in rows) == list(range(1, generation + 1))
    assert [row["generation"] for row in rows if row["state"] != "absent"] == [generation]
    assert waiting_reports(site) == [] or site.status()["outbox"]["waiting"] == 0

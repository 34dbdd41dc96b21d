"""A Site that reports what it has: what its administrators and the provider's own agent do on the host, what
becomes so at Waldur and in Beto, and what the platform then knows (S8, P1–P30).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import psycopg

from site_bundle.reporter.domain.allocation import allocation_id
from tests.journeys.central import SITE
from tests.journeys.marketplace import Marketplace
from tests.journeys.releases import ROOT
from tests.journeys.road import Road
from tests.lab.processes import wait_until
from tests.lab.sshlogin import PEOPLE

UNIT = "pharos-reporter.service"
ENVIRONMENT = "/etc/pharos-hpc/reporter.journey.env"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/journey.conf"
DRIVER = "/usr/local/libexec/driven_reporter.py"
JOURNAL = "/var/lib/pharos-reporter/journal.sqlite"
WITHIN = 60.0
"""Seconds from something on the host to what the platform says of it."""
FAST = {
    "interval_seconds": 1.0,
    "first_retry_seconds": 0.5,
    "retry_seconds": 2.0,
    "refused_retry_seconds": 2.0,
}
GROUP = 5_500_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Allocation:
    """One allocation by its names: Waldur's resource and Project, Beto's Project, the Slurm account, ours."""

    resource: str
    ref: str
    project: str
    account: str
    id: str


@dataclass(slots=True)
class Reporting:
    """A Site with both components active, seen from all its sides."""

    road: Road

    def begin(self) -> None:
        """The reporter's unit goes on with a pass a second instead of a minute; all else is as installed."""
        self.road.host.put(DRIVER, (ROOT / "tests/site/driven_reporter.py").read_bytes(), 0o755)
        python = f"{self.road.admin.agent_script('reporter').rpartition('/')[0]}/python"
        lines = [
            "[Service]",
            f"EnvironmentFile={ENVIRONMENT}",
            "ExecStart=",
            f"ExecStart={python} -B {DRIVER}",
        ]
        lines += ["Restart=always", "RestartSec=200ms", ""]
        self.road.host.put(DROP_IN, "\n".join(lines).encode())
        self.drive()

    def end(self) -> None:
        """Stop the reporter and leave its unit as it was installed."""
        self.road.host.exec(["systemctl", "stop", UNIT])
        self.road.host.exec(["rm", "-f", DROP_IN, DRIVER, ENVIRONMENT])
        self.road.host.exec(["systemctl", "daemon-reload"])

    # The provider and the platform's people.

    @property
    def marketplace(self) -> Marketplace:
        """The simulated Waldur beside the host."""
        assert self.road.marketplace is not None
        return self.road.marketplace

    def waldur(self, act: str, **arguments: Any) -> Any:
        """An act behind Waldur's API (``tests/simulators/waldur/staging.py``)."""
        return self.marketplace.process.act(act, **arguments)

    def sell(self, account: str, project: tuple[str, str] | None = None, **given: Any) -> Allocation:
        """A resource at Waldur whose Slurm account is there; its Project is founded in Beto unless given as
        (Waldur's, Beto's).
        """
        made = self.marketplace.made
        if project is None:
            ref = self.waldur("add_project", name=f"Project {account}", customer=made["customer"])
            founded = self.road.central.beto("found", ref=str(UUID(ref)))["project"]
        else:
            ref, founded = project
        given = {"state": "OK", "backend_id": account} | given
        resource = self.waldur("add_resource", offering=made["offering"], project=ref, name=account, **given)
        instance = self.road.central.facts()["intake"]["waldurInstance"]
        return Allocation(resource, ref, founded, account, str(allocation_id(instance, UUID(resource))))

    def resell(self, sold: Allocation, **changes: Any) -> None:
        """Change the resource at Waldur."""
        self.waldur("change", table="resources", uuid=sold.resource, set=changes)

    def join(self, sold: Allocation, user: str) -> str:
        """Somebody joins in Beto, and is named at Waldur; returns the Party."""
        joined = self.road.central.beto("join", project=sold.project, site=SITE, username=user)
        person = self.waldur("add_user", username=f"{user}-{joined['generation']}@example.org")
        self.waldur("add_member", project=sold.ref, user=person)
        self.waldur(
            "add_offering_user",
            offering=self.marketplace.made["offering"],
            user=person,
            username=user,
            state="OK",
        )
        return str(joined["party"])

    def leave(self, sold: Allocation, user: str) -> None:
        """Somebody leaves in Beto."""
        self.road.central.beto("leave", project=sold.project, site=SITE, username=user)

    # The site's administrators, and the provider's agent.

    def slurm(self, *words: str) -> str:
        """``sacctmgr -i WORDS…`` as root."""
        return self.road.host.exec(["sacctmgr", "-i", *words]).stdout

    def account(self, name: str, *users: str) -> None:
        """The upstream agent's work in Slurm for a new allocation; no limit below what a node gives."""
        self.slurm("add", "account", name, "parent=pharos")
        if users:
            self.slurm("add", "user", ",".join(users), f"account={name}")

    def associations(self, account: str) -> dict[str, tuple[str, str]]:
        """Association id and comment of each user of an account."""
        shown = self.slurm(
            "-nP", "show", "association", "cluster=icarus", f"account={account}", "format=User,ID,Comment"
        )
        rows = (line.split("|", 2) for line in shown.splitlines() if not line.startswith("|"))
        return {user: (number, comment) for user, number, comment in rows}

    def ldap(self, verb: str, ldif: str) -> None:
        """``ldapadd`` or ``ldapmodify`` as the directory's root."""
        self.road.host.exec([verb, "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"], input=ldif)

    def enter(self, user: str, number: int) -> str:
        """A person in the directory, as the upstream agent makes one; returns the entryUUID."""
        classes = "".join(
            f"objectClass: {name}\n" for name in ("inetOrgPerson", "posixAccount", "ldapPublicKey")
        )
        names = f"uid: {user}\ncn: {user}\nsn: {user}\nhomeDirectory: /home/{user}\nloginShell: /bin/bash\n"
        numbers = f"uidNumber: {number}\ngidNumber: {GROUP}\n"
        self.ldap("ldapadd", f"dn: uid={user},{PEOPLE}\n{classes}{names}{numbers}")
        return self.entry(user)

    def erase(self, user: str) -> None:
        """The person's entry is deleted."""
        self.ldap("ldapmodify", f"dn: uid={user},{PEOPLE}\nchangetype: delete\n")

    def entry(self, user: str) -> str:
        """The entryUUID."""
        argv = ["ldapsearch", "-Q", "-LLL", "-Y", "EXTERNAL", "-H", "ldapi:///", "-s", "base"]
        shown = self.road.host.exec([*argv, "-b", f"uid={user},{PEOPLE}", "entryUUID"]).stdout
        return shown.split("entryUUID: ")[1].split()[0]

    # The reporter.

    def drive(self, **settings: str) -> None:
        """Restart the reporter with these variables beside its settings; without any, as it was."""
        drive = {"DRIVE": json.dumps({"limits": FAST})} | settings
        lines = "".join(f"{name}='{value}'\n" for name, value in drive.items())
        self.road.host.put(ENVIRONMENT, lines.encode())
        self.road.host.exec(["systemctl", "daemon-reload"])
        self.road.host.exec(["systemctl", "reset-failed", UNIT], check=False)
        self.restart()

    def status(self) -> dict[str, Any]:
        """The reporter's own word."""
        return self.road.admin.agent_status("reporter")

    def wait_status(self, fits: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """The status once it fits; AssertionError with what it says instead."""
        return self._awaited(self.status, fits, what)

    def restart(self) -> None:
        """Restart the reporter, which begins with a pass."""
        self.road.host.exec(["systemctl", "restart", UNIT])

    def wait_pass(self, begun: Callable[[], None] | None = None) -> dict[str, Any]:
        """A whole pass that began from now on, delivered; AssertionError with what it says instead."""
        now = self.road.host.exec(["date", "-u", "+%Y-%m-%dT%H:%M:%S.%6NZ"]).stdout.strip()
        if begun is not None:
            begun()
        return self.wait_status(
            lambda status: (
                str(status.get("lastObservedAt") or "") > now
                and str(status["lastReceiptAt"] or "") > status["lastObservedAt"]
                and not status["outbox"]["waiting"]
            ),
            f"a pass after {now}, delivered",
        )

    def doctor(self) -> dict[str, dict[str, Any]]:
        """Each check of ``pharos-reporter doctor``, asked now."""
        shown = self.road.host.exec(
            [self.road.admin.agent_script("reporter"), "doctor", "--json"], check=False
        )
        return {check["id"]: check for check in json.loads(shown.stdout)["checks"]}

    # What the platform knows.

    def allocation(self, sold: Allocation) -> dict[str, Any]:
        """The allocation as ``pharos-central show allocations`` has it; empty before the first report."""
        shown = json.loads(self.road.central.administer("show", "allocations", "--json").stdout)
        return next((dict(row) for row in shown["allocations"] if row["allocationId"] == sold.id), {})

    def accounts(self, sold: Allocation) -> list[dict[str, Any]]:
        """Every account ever confirmed at the allocation."""
        shown = json.loads(self.road.central.administer("show", "accounts", "--json").stdout)
        return [dict(row) for row in shown["accounts"] if row["allocationId"] == sold.id]

    def retained(self) -> list[str]:
        """Usernames of the retained accounts, asked as the Site's upstream agent would ask (P28)."""
        central = self.road.central
        # curl reads the header from a file: a key in argv shows in process lists (X5).
        place = "/run/retained.headers"
        self.road.host.put(place, b"Authorization: Bearer " + central.intake_key().strip(), 0o600)
        url = f"{central.intake_url}/resource-provisioning/{SITE}/retained-accounts"
        ask = ["curl", "-sS", "--fail", "--cacert", "/etc/pharos-hpc/site-api-ca.crt", "-H", f"@{place}"]
        answer = self.road.host.exec([*ask, "-H", "Pharos-Schema: 1-1", url])
        self.road.host.exec(["rm", place])
        return [account["username"] for account in json.loads(answer.stdout)["accounts"]]

    def explained(self, *words: str) -> str:
        """What ``pharos-central explain WORDS…`` says."""
        return self.road.central.administer("explain", *words).stdout

    def wait_allocation(self, sold: Allocation, **wanted: Any) -> dict[str, Any]:
        """The allocation once it has these values."""
        return self._awaited(
            lambda: self.allocation(sold),
            lambda row: all(row.get(name) == value for name, value in wanted.items()),
            str(wanted),
        )

    def wait_account(self, sold: Allocation, name: str, **wanted: Any) -> dict[str, Any]:
        """The one account of this name that has these values."""

        def fitting(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
            named = [row for row in rows if row["name"] == name]
            return [row for row in named if all(row[key] == value for key, value in wanted.items())]

        rows = self._awaited(
            lambda: self.accounts(sold), lambda rows: len(fitting(rows)) == 1, f"{name} with {wanted}"
        )
        return fitting(rows)[0]

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of central's database, for what no command shows."""
        url = self.road.central.facts()["brokerDatabaseUrlFile"]
        with open(url, encoding="utf-8") as file, psycopg.connect(file.read().strip()) as connection:
            return connection.execute(statement.encode(), values).fetchall()

    def execute(self, statement: str) -> None:
        """Change central's database behind its back, as the passing of time would."""
        self.rows(f"{statement} RETURNING true")

    def _awaited(self, look: Callable[[], T], fits: Callable[[T], bool], what: str) -> T:
        seen = [look()]

        def came() -> bool:
            seen[0] = look()
            return fits(seen[0])

        assert wait_until(came, WITHIN, every=0.2), (
            f"wanted {what} within {WITHIN:g} s, got {json.dumps(seen[0])}"
        )
        return seen[0]

"""What ``make demo`` shows: archive, real host, four phases, what the Site reports, real login, Runs, the
next release, the way back, all on one page.
"""

from collections.abc import Callable
from dataclasses import dataclass

import urllib3

from central.dev.steer import party_of
from tests.demo.computing import Computing
from tests.demo.leaving import leave_standing
from tests.demo.narrator import Narrator
from tests.demo.standing import end_standing, note, politely_interrupted
from tests.html import parsed
from tests.journeys.central import SITE
from tests.journeys.members import Member
from tests.journeys.observing import UNIT, each_key_once, main_pid, wait_ready
from tests.journeys.releases import Release
from tests.journeys.reporting import Allocation, Reporting
from tests.journeys.road import Road
from tests.lab.host import Completed
from tests.lab.processes import wait_until
from tests.lab.reclaim import reclaim
from tests.lab.sshlogin import (
    REFUSED,
    MemberKey,
    directory_keys,
    forget_cached,
    go_online,
    login,
)
from tests.lab.tree import ensure_tree

NAME = "icarus-hpc"
COMPONENTS = ("ssh-access", "reporter", "runtime")
MEMBERS = ("alice", "bob")


@dataclass(frozen=True, slots=True)
class Story:
    """The steps, on one road."""

    road: Road
    tell: Narrator

    def releases(self) -> tuple[Release, Release]:
        """Build both releases."""
        with self.tell.step("Build and sign releases 0.1.0 and 0.2.0 from this checkout"):
            self.tell.typed("make release VERSION=0.1.0; make release VERSION=0.2.0")
            built = self.road.build("0.1.0"), self.road.build("0.2.0")
            for release in built:
                megabytes = release.archive.path.stat().st_size / 1e6
                self.tell.fact(f"{release.archive.path.name}  {megabytes:.1f} MB  {release.release_id}")
        return built

    def platform(self, release: Release) -> None:
        """Start central and hand over."""
        with self.tell.step(
            "Start central and a marketplace; issue grant and evidence; hand over profile and credentials"
        ):
            self.tell.typed("pharos-central dev --tls-name vm.lab.test --site slurm --accounts reported …")
            self.road.start_central()
            self.road.agree(release)
            facts = self.road.central.facts()
            self.tell.fact(f"Site API {facts['siteApi']['url']}, intake {facts['intake']['url']}")

    def members(self) -> Allocation:
        """What provider, platform and the site's own agent do about an allocation, without us."""
        with self.tell.step(
            "Waldur sells an allocation, alice and bob join in Beto, Slurm gets their account"
        ):
            site = Reporting(self.road)
            sold = site.sell("proj_demo")
            site.account(sold.account, *MEMBERS)
            for user in MEMBERS:
                site.join(sold, user)
            self.tell.typed("sacctmgr add account proj_demo parent=pharos; sacctmgr add user alice,bob …")
            self.tell.fact(f"resource {sold.resource}; nobody has told the platform what the Site has")
        return sold

    def reported(self, sold: Allocation) -> None:
        """What the reporter says of it, as the platform's operators read it."""
        site = Reporting(self.road)
        with self.tell.step("The reporter tells central what the Site really has"):
            site.wait_pass(site.restart)
            site.wait_pass(site.restart)
            for user in MEMBERS:
                site.wait_account(sold, user, state="ready")
            self.tell.typed("pharos-central show allocations; pharos-central show accounts")
            for what in ("allocations", "accounts"):
                self.tell.fact(self.road.central.administer("show", what).stdout.strip())
            self.tell.fact(f"alice's association says {site.associations(sold.account)['alice'][1]}")

    def limits(self, sold: Allocation, computing: Computing) -> None:
        """A limit lowered in Slurm, and what central then knows to be in force."""
        site = Reporting(self.road)
        with self.tell.step("The site lowers a limit in Slurm; central tells what is in force"):
            words = ("modify", "account", sold.account, "set", "GrpTRES=cpu=8")
            self.tell.typed(f"sacctmgr {' '.join(words)}")
            site.slurm(*words)
            site.wait_pass(site.restart)
            shown = site.wait_allocation(sold, lifecycle="changing")
            self.tell.typed(f"pharos-central explain allocation {sold.id}")
            self.tell.fact(site.explained("allocation", sold.id).strip())
            assert shown["applied"]["cpu"] == 8000
            computing.refused()

    def member(self, user: str) -> Member:
        """Who is known by this name, at the platform: its issuer names members by their Party."""
        central = self.road.central
        return central.member(party_of(central.state, user, SITE) or user)

    def phases(self, release: Release, then: Callable[[], None] = lambda: None) -> None:
        """The four phases as an administrator types them; ``then``: a look right after."""
        folder = self.road.admin.receive(release.archive)
        steps: dict[str, Callable[[str], Completed]] = {
            "preflight": self.road.preflight,
            "install": self.road.install,
            "validate": self.road.validate,
            "activate": self.road.activate,
        }
        for phase, run in steps.items():
            with self.tell.step(f"{phase} {release.archive.version}"):
                more = (
                    f" --components {','.join(COMPONENTS)} --evidence /etc/pharos-hpc/evidence"
                    if phase == "activate"
                    else ""
                )
                self.tell.typed(f"./install.sh {phase}{more}")
                self.tell.fact(run(folder).stdout.strip())
                if phase == "activate":
                    then()

    def key_in(self, user: str, name: str) -> tuple[MemberKey, str]:
        """A key at central, then a login with it."""
        with self.tell.step(f"{user} enters a key at central and logs in"):
            key, member = self.road.key(name), self.member(user)
            added = member.add_key(key.public, name)["keyId"]
            shown = member.wait_for(added, "active")
            self.tell.fact(
                f"{shown['fingerprint']} is active, read back by the Site at {shown['reportedAt']}"
            )
            forget_cached(self.road.host, user)
            self.tell.typed(f"ssh {user}@{self.road.host.addr} id")
            entered = login(self.road.host, user, key, "id")
            assert entered.returncode == 0, entered.stderr
            self.tell.fact(entered.stdout.strip())
        return key, added

    def key_out(self, user: str, key: MemberKey, key_id: str) -> None:
        """The key removed at central, the login refused without anybody's help."""
        with self.tell.step(
            f"{user} removes the key at central; the next login after sssd's cache is refused"
        ):
            member = self.member(user)
            member.remove_key(key_id)
            member.wait_for(key_id, "removed")
            self.tell.fact("removed from the directory; sssd may answer from its cache for 5 s here")
            refused = wait_until(
                lambda: login(self.road.host, user, key).returncode == REFUSED, 60, every=0.5
            )
            assert refused, "the removed key still opens a login after 30 s"
            self.tell.typed(f"ssh {user}@{self.road.host.addr}")
            self.tell.fact(login(self.road.host, user, key).stderr.strip())

    def rollback(self, back_to: Release, user: str, key: MemberKey, then: Callable[[], None]) -> None:
        """Back to the release before, with journal and keys; ``then``: a look right after."""
        with self.tell.step("Roll back"):
            self.tell.typed("pharos-installer rollback")
            self.tell.fact(self.road.admin.installer("rollback").stdout.strip())
            wait_ready(self.road, back_to.release_id)
            assert each_key_once(self.road, user, key.public), "a key was lost or doubled"
            self.tell.fact("journal and keys are as they were, each key once in the directory")
            then()

    def page(self) -> None:
        """Where a person looks: the page answers, and what it holds."""
        with self.tell.step("One page lists what central knows, and how fresh it is"):
            url = self.road.central.facts()["overview"]["url"]
            self.tell.typed(f"curl -sS {url}")
            answer = urllib3.request("GET", url, timeout=20, retries=False)
            assert answer.status == 200, answer.data
            parts = self.tables(answer.data.decode())
            self.tell.fact("\n".join(f"{title}: {rows}" for title, rows in parts.items()))

    @staticmethod
    def tables(page: str) -> dict[str, int]:
        """How many rows each part of the page has, by its heading."""
        counted: dict[str, int] = {}
        heading = ""
        for each in parsed(page).all("h3", "tr"):
            if each.tag == "h3":
                heading = each.text.strip()
                counted[heading] = 0
            elif "tbody" in each.parents:
                counted[heading] += 1
        return counted

    def outages(self, user: str, key: MemberKey) -> None:
        """Directory and central restarted, the agent killed, with a key on its way."""
        with self.tell.step("slapd restarted, central restarted, the agent killed, with a key on its way"):
            other, host = self.road.key("in-between"), self.road.host
            host.exec(["systemctl", "stop", "slapd"])
            added = self.member(user).add_key(other.public, "in between")["keyId"]
            pid = main_pid(self.road)
            self.road.stop_central()
            host.exec(["systemctl", "kill", "--signal=SIGKILL", UNIT])
            self.road.start_central()
            host.exec(["systemctl", "start", "slapd"])
            go_online(host)
            self.member(user).wait_for(added, "active", seconds=180)
            assert each_key_once(self.road, user, key.public, other.public), directory_keys(host, user)
            self.tell.fact(f"agent {pid} is now {main_pid(self.road)}; both keys are there, each once")
            self.road.central.consent(user)
            self.tell.fact(f"the issuer's stand-in forgets its sessions when it ends: {user} consents again")


def show(tell: Narrator, *, leave_up: bool) -> None:
    """Tell the whole story; afterwards the host and central stay up unless ``leave_up`` is False."""
    with politely_interrupted():
        story = _begin(tell)
        first, second = story.releases()
        story.platform(first)
        sold = story.members()
        computing = Computing.prepare(
            story.road, tell, sold.project, bob=story.member("bob"), alice=story.member("alice")
        )
        story.phases(first)
        story.reported(sold)
        story.limits(sold, computing)
        gone, gone_id = story.key_in("alice", "laptop")
        story.key_out("alice", gone, gone_id)
        kept, _ = story.key_in("bob", "workstation")
        computing.through()
        computing.cancelled()
        run = computing.take_off()
        story.phases(second, lambda: computing.in_flight(run, second.release_id))
        story.rollback(first, "bob", kept, lambda: computing.in_flight(run, first.release_id))
        computing.land(run, kept)
        story.outages("bob", kept)
        story.page()
        if leave_up:
            leave_standing(story.road, tell, kept, computing)
        else:
            end_standing()
            tell.close("Shown, and ended again")


def _begin(tell: Narrator) -> Story:
    with tell.step("Remove what dead owners left on this machine; end an earlier demo"):
        ended = "an earlier demo was ended" if end_standing() else "no earlier demo"
        done = reclaim()
        tell.fact(f"{ended}; reclaimed: {', '.join(done.removed) or 'nothing'}")
    with tell.step("Build the HPC host's tree, once (Debian 13, OpenLDAP, SSSD, sshd, Slurm)"):
        tree = ensure_tree(tell.fact)
        tell.fact(str(tree.root))
    with tell.step("Boot a fresh HPC host"):
        road = Road.enter(
            tree,
            name=None if NAME in done.living else NAME,
            components=COMPONENTS,
            reported=True,
            runs=True,
        )
        note(road.host)
        tell.fact(f"{road.host.name}, {road.host.addr}; nothing of the product is on it")
    return Story(road, tell)

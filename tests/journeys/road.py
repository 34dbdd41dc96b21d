"""The road from an archive to a running agent and back, step by step; tests and the demo walk it.

A step does what a person would do and returns what that person would see. It judges nothing but that
the commands end with 0; the tests look closer.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.journeys import evidence, releases
from tests.journeys.administrator import SITE, Administrator
from tests.journeys.central import SITE as SITE_NAME
from tests.journeys.central import Central, account_of, stop
from tests.journeys.marketplace import OTHER_CREDENTIALS, Marketplace, laboratory_profile
from tests.lab import member_tokens
from tests.lab.handoff import CONFIGURATION, CREDENTIALS, hand_off
from tests.lab.host import Completed, LabHost
from tests.lab.processes import ProcessIdentity
from tests.lab.sshlogin import MemberKey
from tests.lab.tree import HostTree

EVIDENCE = f"{CONFIGURATION}/evidence"
PROFILE = f"{CONFIGURATION}/profile.yaml"
TOKEN = f"{evidence.COMPONENT}/site-api-token"
RUNTIME = "runtime"
MEMBERS = ("alice", "bob")


@dataclass(slots=True)
class Road:
    """What a journey has at hand. Whatever ends the host, ends and removes the rest with it."""

    host: LabHost
    central: Central
    components: tuple[str, ...] = (evidence.COMPONENT,)
    marketplace: Marketplace | None = None
    process: ProcessIdentity | None = None
    token: bytes = field(default=b"", repr=False)
    signer: evidence.Signer | None = None

    @property
    def work(self) -> Path:
        """This machine's folder for the journey."""
        return self.host.scratch

    @property
    def admin(self) -> Administrator:
        """The site's administrator on this host."""
        return Administrator(self.host)

    @classmethod
    def enter(
        cls,
        tree: HostTree | None = None,
        *,
        name: str | None = None,
        components: tuple[str, ...] = (evidence.COMPONENT,),
        reported: bool = False,
        runs: bool = False,
    ) -> "Road":
        """Boot a fresh host; nothing of the product is on it. ``components``: what the site will run.

        ``reported``: whose account a key goes to is what the reporter says, not a stand-in (P30).
        ``runs``: members' Runs are accepted; only with ``reported``.
        """
        host = LabHost.up(name, tree=tree)
        return cls(host, Central(host, host.scratch / "central", reported, runs), components)

    def leave(self) -> None:
        """End everything; done twice is no error."""
        if self.marketplace is not None:
            self.marketplace.stop()
            self.marketplace = None
        self.host.kill()

    def build(self, version: str, repository: Path = releases.ROOT) -> releases.Release:
        """Build and sign a release of this checkout, or of another."""
        return releases.build(version, self.work / "dist", repository)

    def start_central(self) -> None:
        """Start the platform's side, or start it again on the same data."""
        self.process = self.central.start()

    def stop_central(self) -> None:
        """End it."""
        if self.process is not None:
            stop(self.process)
            self.process = None

    def agree(self, release: releases.Release) -> None:
        """What platform and site agree on before: accounts, a grant, evidence, the hand-off (I3)."""
        if not self.central.reported:
            self.central.give_accounts([account_of(self.host, user) for user in MEMBERS])
        self.token = self.central.grant(self.work / "site-api-token")
        self.signer = evidence.Signer.make(self.work)
        if "reporter" in self.components:
            self.marketplace = Marketplace.open(self.host)
        keys: Sequence[str] = ()
        if RUNTIME in self.components:
            key_set = member_tokens.published(self.central.facts()["runs"]["slurmKeySets"][SITE_NAME])
            member_tokens.trust(self.host, key_set)
            keys = member_tokens.key_ids(key_set)
        self.hand_over(release, self.token)
        self.host.exec(["install", "-d", "-m", "0755", EVIDENCE])
        issued = evidence.issue(
            self.central,
            self.signer,
            release,
            self.work / "evidence",
            components=self.components,
            token_keys=keys,
        )
        for file in issued:
            self.host.put(f"{EVIDENCE}/{file.name}", file.read_bytes())

    def hand_over(self, release: releases.Release, token: bytes) -> None:
        """Write the site's configuration, credentials and accepted signers to the host."""
        assert self.signer is not None, "agree first"
        profile = laboratory_profile(self.components)
        site = {
            "schema": 1,
            "profile": PROFILE,
            "credentials": CREDENTIALS,
            "allowed_signers": f"{CONFIGURATION}/allowed_signers",
            "evidence_signers": f"{CONFIGURATION}/evidence_signers",
        }
        public = {
            "site.yaml": yaml.safe_dump(site).encode(),
            "profile.yaml": yaml.safe_dump(profile).encode(),
            "allowed_signers": release.allowed_signers,
            "evidence_signers": self.signer.allowed,
            Path(profile["site_api"]["ca_file"]).name: self.central.ca,
        }
        credentials = {TOKEN: token}
        if self.marketplace is not None:
            self.marketplace.tell(profile, self.central)
            public |= {
                "profile.yaml": yaml.safe_dump(profile).encode(),
                Path(profile["waldur"]["ca_file"]).name: self.marketplace.ca,
            }
            credentials |= {
                "reporter/intake-key": self.central.intake_key(),
                "reporter/waldur-token": self.marketplace.token(),
                **OTHER_CREDENTIALS,
            }
        if RUNTIME in self.components:
            credentials[f"{RUNTIME}/site-api-token"] = self._commands_token()
        hand_off(self.host, public=public, credentials=credentials)

    def _commands_token(self) -> bytes:
        """The Runtime's grant, which is issued once."""
        kept = self.work / "commands-token"
        return kept.read_bytes() if kept.exists() else self.central.grant(kept, "commands")

    def preflight(self, folder: str) -> Completed:
        """Phase 1."""
        return self.admin.phase(folder, "preflight", "--config", SITE)

    def install(self, folder: str, *, check: bool = True, crash_at: str = "") -> Completed:
        """Phase 2."""
        return self.admin.phase(folder, "install", "--config", SITE, check=check, crash_at=crash_at)

    def validate(self, folder: str) -> Completed:
        """Phase 3."""
        return self.admin.phase(folder, "validate", "--config", SITE)

    def activate(
        self,
        folder: str,
        *more: str,
        components: tuple[str, ...] = (),
        check: bool = True,
        crash_at: str = "",
    ) -> Completed:
        """Phase 4, of the site's components or of some."""
        names = ",".join(components or self.components)
        words = ("--config", SITE, "--components", names, "--evidence", EVIDENCE, *more)
        return self.admin.phase(folder, "activate", *words, check=check, crash_at=crash_at)

    def key(self, name: str) -> MemberKey:
        """A fresh key pair of a member."""
        return MemberKey.make(self.work / "keys", name)


@contextmanager
def road(
    tree: HostTree,
    components: tuple[str, ...] = (evidence.COMPONENT,),
    *,
    reported: bool = False,
    runs: bool = False,
) -> Iterator[Road]:
    """A road that is left whatever happens on it."""
    walked = Road.enter(tree, components=components, reported=reported, runs=runs)
    try:
        yield walked
    finally:
        walked.leave()

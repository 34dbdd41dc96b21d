"""The rig's host with a second component: hand-off, user and evidence of the reporter, and what intake,
Waldur, directory and Slurm answer when all is well; tests change one thing of it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from installer.domain.waldur import Component, Me, Offering, Permission, Pool, Version
from installer.host.commands import Completed
from installer.host.https import Unanswered
from installer.host.intake import Opened
from installer.host.ldap_agent_probe import AgentAnswer, ListedBase
from installer.host.ldap_probe import ProbeStep
from installer.phases import checks_reporter
from tests.installer.rig import AGENT, CONTRACTS, Rig, reporter_profile

COMPONENTS = ("ssh-access", "reporter")
REPORTER_UNIT = "pharos-reporter.service"
SECRETS = {
    "intake-key": "intake-key-secret",
    "waldur-token": "a" * 40,
    "ldap-password": "agent-password-secret",
}
CUSTOMER = "c0000000000040008000000000000001"
OFFERING = "0ffe0000000040008000000000000001"
RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> str:
    """Output of a native command as it was on a lab host (Slurm 24.11.5)."""
    return (RECORDED / f"{name}.txt").read_text()


@dataclass(slots=True)
class FakeWaldur:
    """Stands in ``WaldurApi``'s place."""

    version_answer: Version | Unanswered = field(default_factory=lambda: Version(version="8.1.3"))
    me_answer: Me | Unanswered = field(
        default_factory=lambda: Me(
            is_staff=False,
            permissions=(Permission(role_name="CUSTOMER.OWNER", scope_type="customer", scope_uuid=CUSTOMER),),
        )
    )
    offering_answer: Offering | Unanswered = field(
        default_factory=lambda: Offering(
            uuid=OFFERING,
            name="Icarus",
            state="Active",
            customer_uuid=CUSTOMER,
            components=(Component(type="node", billing_type="limit", limit_period="total"),),
        )
    )
    sold: tuple[Offering, ...] | Unanswered = (Offering(uuid=OFFERING, state="Active"),)
    pool: Pool | Unanswered = field(
        default_factory=lambda: Pool(
            min_uid=5000000, max_uid=5499998, min_group_gid=5500000, max_group_gid=5599999
        )
    )

    def __call__(self, **_given: object) -> "FakeWaldur":
        return self

    def version(self) -> Version | Unanswered:
        return self.version_answer

    def me(self) -> Me | Unanswered:
        return self.me_answer

    def offering(self, uuid: str) -> Offering | Unanswered:
        assert uuid.replace("-", "") == OFFERING
        return self.offering_answer

    def offerings_of(self, customer: str) -> tuple[Offering, ...] | Unanswered:
        assert customer == CUSTOMER
        return self.sold

    def pool_of(self, uuid: str) -> Pool | Unanswered:
        assert uuid == OFFERING
        return self.pool


def directory_answer() -> AgentAnswer:
    """A directory that lists everything and refuses what it should."""
    bases = (AGENT["people_base"], AGENT["groups_base"])
    return AgentAnswer(
        identity=f"dn:{AGENT['bind_dn']}",
        bases=tuple(ListedBase(name=name, outcome="complete", listed=3, held=3) for name in bases),
        steps=(ProbeStep(name="write sshPublicKey", wanted="refused", found="refused"),),
        absence=(ProbeStep(name="an entry that is not", wanted="noSuchObject", found="noSuchObject"),),
    )


@dataclass(slots=True)
class FakeSlurm:
    """``scontrol`` and ``sacctmgr`` with the recorded answers; a test replaces some by the words asked."""

    replaced: dict[str, Completed] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def scontrol(self, words: Sequence[str]) -> Completed:
        return self._answer(
            words,
            {
                "--version": "slurm-wlm 24.11.5\n",
                "show config": recorded("scontrol-config"),
                "show partition": recorded("scontrol-partition-staging")
                + recorded("scontrol-partition-compute"),
                "show slurmd": recorded("scontrol-slurmd"),
                "show node cn01": recorded("scontrol-node"),
            },
        )

    def sacctmgr(self, words: Sequence[str]) -> Completed:
        assert "--readonly" in words
        return self._answer(
            words,
            {
                "configuration": recorded("sacctmgr-configuration"),
                "show cluster": "icarus\n",
                "show association": "pharos|\npharos|alice\npharos|bob\n",
                "show user pharos-agent": "pharos-agent|None|pharos\n",
                "show user pharos-runtime": "pharos-runtime|None|pharos\n",
            },
        )

    def _answer(self, words: Sequence[str], usual: dict[str, str]) -> Completed:
        line = " ".join(words)
        self.asked.append(line)
        for key, done in self.replaced.items():
            if f" {key} " in f" {line} ":
                return done
        (text,) = [text for key, text in usual.items() if key in line]
        return Completed(code=0, stdout=text, stderr="")


@dataclass(slots=True)
class Both:
    """A host with both components handed over; nothing is installed."""

    rig: Rig
    waldur: FakeWaldur = field(default_factory=FakeWaldur)
    slurm: FakeSlurm = field(default_factory=FakeSlurm)
    intake: Opened | Unanswered = field(default_factory=Opened)
    directory: AgentAnswer | str = field(default_factory=directory_answer)

    def release(self, version: str, **more: Any) -> str:
        """A sealed release with both components."""
        return self.rig.release(version, components=COMPONENTS, **more)

    def activate(self, release: str, *components: str, more: tuple[str, ...] = ()) -> Any:
        """``activate`` of some components, both by default, with the usual evidence."""
        names = ",".join(components or COMPONENTS)
        words = ("--components", names, "--evidence", "/evidence", "--release", release, *more)
        return self.rig.run("activate", *words)

    def profile(self, change: Any = None) -> None:
        """The profile with both components, changed by ``change``."""
        document = reporter_profile()
        if change is not None:
            change(document)
        self.rig.write("/etc/pharos-hpc/profile.yaml", json.dumps(document))

    def findings(self, release: str = "") -> dict[str, list[dict[str, Any]]]:
        """What ``validate`` finds, by check."""
        chosen = release or self.release("0.1.0")
        result = self.rig.run("validate", "--release", chosen, "--json")
        found: dict[str, list[dict[str, Any]]] = {}
        for event in result.events:
            if event["event"] == "check" and "status" in event:
                found.setdefault(str(event["check"]), []).append(event)
        assert result.code in {0, 3}, result
        return found

    def snapshots(self) -> list[dict[str, object]]:
        """Of both components, in order."""
        return [self.rig.snapshot(name) for name in COMPONENTS]


def make_both(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Both:
    """The second component's part of the hand-off, and the services' answers."""
    both = Both(rig)
    both.profile()
    for path, line in (
        ("/etc/passwd", "pharos-agent:x:991:991::/:/usr/sbin/nologin\n"),
        ("/etc/group", "pharos-agent:x:991:\n"),
    ):
        rig.write(path, rig.paths.at(path).read_text() + line)
    for name, secret in SECRETS.items():
        rig.write(f"/etc/pharos-hpc/credentials/reporter/{name}", secret + "\n", 0o600)
    rig.paths.at("/etc/pharos-hpc/credentials/reporter").chmod(0o700)
    for contract in CONTRACTS:
        rig.evidence(contract, component="reporter")
    monkeypatch.setattr(checks_reporter, "WaldurApi", both.waldur)
    monkeypatch.setattr(checks_reporter, "ask_intake", lambda *_a, **_k: both.intake)
    monkeypatch.setattr(checks_reporter, "ask_agent_directory", lambda *_a, **_k: both.directory)
    rig.fake.programs |= {"scontrol": both.slurm.scontrol, "sacctmgr": both.slurm.sacctmgr}
    return both


__all__ = ["CUSTOMER", "OFFERING", "Both", "make_both", "recorded", "replace"]

"""The rig's host with the runtime alone: hand-off, user and evidence, and what Slurm, names, scratch and
sbatch answer when all is well; tests change one thing of it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from installer.domain.contracts import CONTRACTS, DELEGATION
from installer.host.commands import Completed
from installer.host.https import Answer, Unanswered
from installer.host.site_api import Grant
from installer.host.submission_probe import Submission, Submissions
from installer.phases import checks_runtime, checks_site
from tests.installer.reporter_rig import FakeSlurm
from tests.installer.rig import TOKEN, Result, Rig, runtime_profile

RUNTIME_UNIT = "pharos-runtime.service"
UID, GROUP = 992, 5500000
KEY_SET = {"keys": [{"kty": "RSA", "kid": "slurm-1", "n": "AQAB", "e": "AQAB"}]}
TOKEN_KEYS = {"keyIds": ["slurm-1"], "userClaim": "preferred_username"}
SCRATCH = f"3770 0 {GROUP} directory\n2710 {UID} {GROUP} directory\n2710 {GROUP}\n750 {GROUP}\nruns\n"
USUAL = Submission(heard=True, token=True, environment=True, words="Zero Bytes were transmitted or received")
SAFE = Submission(heard=True, token=False, environment=True, words="Zero Bytes were transmitted or received")
Change = Callable[[dict[str, Any]], object]


def said(stdout: str, code: int = 0, stderr: str = "") -> Completed:
    """What a command answers."""
    return Completed(code=code, stdout=stdout, stderr=stderr)


@dataclass(slots=True)
class Running:
    """A host the runtime is handed over to; nothing is installed."""

    rig: Rig
    slurm: FakeSlurm = field(default_factory=FakeSlurm)
    submissions: Submissions | str = field(default_factory=lambda: Submissions(usual=USUAL, safe=SAFE))
    scopes: tuple[str, ...] = ("commands",)
    asked_scopes: list[str] = field(default_factory=list)
    made: str = ""
    git: Answer | Unanswered = field(default_factory=lambda: Answer(status=404, headers={}, body=b""))
    reached: list[str] = field(default_factory=list)

    def profile(self, change: Change = lambda _: None) -> None:
        """The profile, changed by ``change``."""
        document = runtime_profile()
        change(document)
        self.rig.write("/etc/pharos-hpc/profile.yaml", json.dumps(document))

    def release(self, version: str = "0.1.0") -> str:
        """A sealed release with the runtime; 0.1.0 is made once."""
        if version != "0.1.0":
            return self.rig.release(version, components=("runtime",))
        self.made = self.made or self.rig.release(version, components=("runtime",))
        return self.made

    def activate(self, release: str, *more: str) -> Result:
        """``activate`` with the usual evidence."""
        words = ("--components", "runtime", "--evidence", "/evidence", "--release", release, *more)
        return self.rig.run("activate", *words)

    def answers(self, program: str, answer: Completed) -> None:
        """What a program says from now on, whatever is asked."""
        self.rig.fake.programs[program] = answer

    def key_set(self, document: object) -> None:
        """The controller's key set."""
        self.rig.write("/etc/slurm/jwks.json", json.dumps(document))

    def reach(self, url: str, *_given: object, **_more: object) -> Answer | Unanswered:
        """In the place of ``https.get``."""
        self.reached.append(url)
        return self.git

    def findings(self, *words: str) -> dict[str, list[dict[str, Any]]]:
        """What ``validate`` finds, by check; with evidence unless other words are given."""
        more = words or ("--evidence", "/evidence")
        result = self.rig.run("validate", "--release", self.release(), "--json", *more)
        assert result.code in {0, 3}, result
        found: dict[str, list[dict[str, Any]]] = {}
        for event in result.events:
            if event["event"] == "check" and "status" in event:
                found.setdefault(str(event["check"]), []).append(event)
        return found


def make_running(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Running:
    """The runtime's part of the hand-off, and what is answered."""
    running = Running(rig)
    running.profile()
    for path, line in (
        ("/etc/passwd", f"pharos-runtime:x:{UID}:{UID}::/:/usr/sbin/nologin\n"),
        ("/etc/group", f"pharos-runtime:x:{UID}:\n"),
    ):
        rig.write(path, rig.paths.at(path).read_text() + line)
    rig.write("/etc/pharos-hpc/credentials/runtime/site-api-token", TOKEN + "\n", 0o600)
    rig.paths.at("/etc/pharos-hpc/credentials/runtime").chmod(0o700)
    for contract in CONTRACTS:
        more: dict[str, Any] = {"tokenKeys": TOKEN_KEYS} if contract == DELEGATION else {}
        rig.evidence(contract, component="runtime", **more)
    running.key_set(KEY_SET)

    def grant(*_given: object, scope: str, **_more: object) -> Grant:
        running.asked_scopes.append(scope)
        return Grant(schema=1, site="slurm", scopes=running.scopes, grantId="g", expiresAt=None)

    monkeypatch.setattr(checks_site, "ask_grant", grant)
    monkeypatch.setattr(checks_runtime, "get", running.reach)
    monkeypatch.setattr(checks_runtime, "ask_submission", lambda *_a, **_k: running.submissions)
    rig.fake.programs |= {
        "scontrol": running.slurm.scontrol,
        "sacctmgr": running.slurm.sacctmgr,
        "getent": said(f"pharos-users:*:{GROUP}:alice,bob\n"),
        "git": said("git version 2.47.3\n"),
        "git-lfs": said("git-lfs/3.6.1 (GitHub; linux amd64; go 1.24.4)\n"),
        "sh": said(SCRATCH),
    }
    return running


__all__ = [
    "GROUP",
    "KEY_SET",
    "SAFE",
    "SCRATCH",
    "TOKEN_KEYS",
    "UID",
    "USUAL",
    "Running",
    "make_running",
    "said",
]

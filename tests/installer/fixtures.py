"""Fixtures: a fresh host, one with an active release, keys, and what directory and Site API answer."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from installer.host.https import Unanswered
from installer.host.ldap_probe import ProbeAnswer, ProbeStep
from installer.host.site_api import Grant
from installer.phases import checks_site
from tests.installer.rig import CONTRACTS, IDENTITY, TOKEN, Rig
from tests.installer.systemctl import FakeClock, FakeHost


@pytest.fixture(scope="session")
def evidence_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys of the site's evidence signer and of a stranger."""
    folder = tmp_path_factory.mktemp("evidence-keys")
    for name in ("evidence", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    return folder


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what is synced hundreds of times costs nothing there."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="pharos-rig-", dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture
def rig(memory_path: Path, evidence_keys: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A host with hand-off and evidence, nothing installed; directory and Site API answer as they should."""
    return make_rig(memory_path, evidence_keys, monkeypatch)


def make_rig(below: Path, evidence_keys: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A fresh host."""
    root = below / "host"
    root.mkdir(mode=0o755)
    clock = FakeClock()
    made = Rig(root=root, keys=evidence_keys, clock=clock, fake=FakeHost(root, clock))
    made.write(
        "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\npharos-ssh-access:x:990:990::/:/usr/sbin/nologin\n"
    )
    made.write("/etc/group", "root:x:0:\npharos-ssh-access:x:990:\nsudo:x:27:\n")
    made.write("/usr/bin/python3.13", "#!/bin/sh\nexit 1\n", 0o755)
    made.write("/etc/sssd/sssd.conf", "[domain/x]\nentry_cache_timeout = 5\n", 0o600)
    made.write(
        "/etc/pharos-hpc/site.yaml",
        "schema: 1\nprofile: /etc/pharos-hpc/profile.yaml\ncredentials: /etc/pharos-hpc/credentials\n"
        "allowed_signers: /etc/pharos-hpc/allowed_signers\n"
        "evidence_signers: /etc/pharos-hpc/evidence_signers\n",
    )
    made.profile()
    public = (evidence_keys / "evidence.pub").read_text().split()
    made.write(
        "/etc/pharos-hpc/evidence_signers",
        f'owner@pharos.invalid namespaces="pharos-hpc-evidence" {public[0]} {public[1]}\n',
    )
    made.write("/etc/pharos-hpc/credentials/ssh-access/site-api-token", TOKEN + "\n", 0o600)
    for folder in ("credentials", "credentials/ssh-access"):
        (root / "etc/pharos-hpc" / folder).chmod(0o700)
    for contract in CONTRACTS:
        made.evidence(contract)
    _answer(monkeypatch, made)
    return made


@dataclass(slots=True)
class SiteAnswers:
    """What directory and Site API answer; tests change it."""

    directory: ProbeAnswer | str
    grant: Grant | Unanswered


ANSWERS = SiteAnswers(
    directory=ProbeAnswer(
        identity=f"dn:{IDENTITY}", steps=(ProbeStep(name="add a key", wanted="allowed", found="allowed"),)
    ),
    grant=Grant(schema=1, site="slurm", scopes=("ssh-access",), grantId="g", expiresAt=None),
)


def _answer(monkeypatch: pytest.MonkeyPatch, made: Rig) -> None:
    monkeypatch.setattr(checks_site, "ask_directory", lambda *_a, **_k: ANSWERS.directory)
    monkeypatch.setattr(checks_site, "ask_grant", lambda *_a, **_k: ANSWERS.grant)
    place = made.paths.at("/run/slapd/ldapi")
    place.parent.mkdir(parents=True)
    directory = os.open(place.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{directory}/ldapi")
    os.close(directory)


@pytest.fixture
def active(rig: Rig) -> str:
    """A host on which 0.1.0 is active; its release id."""
    release = rig.release("0.1.0")
    assert rig.activate(release).code == 0
    return release


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> SiteAnswers:
    """The answers of directory and Site API, to be changed by a test and put back after it."""
    monkeypatch.setattr(ANSWERS, "directory", ANSWERS.directory)
    monkeypatch.setattr(ANSWERS, "grant", ANSWERS.grant)
    return ANSWERS

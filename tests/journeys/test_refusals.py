"""What an administrator must not get through, tried beside a running agent (I2, I4, I12, E3)."""

import pytest

from tests.journeys.administrator import DOWNLOADS
from tests.journeys.observing import linked, listing, main_pid, wait_ready
from tests.journeys.releases import Release
from tests.journeys.road import EVIDENCE, Road
from tests.lab.handoff import CREDENTIALS
from tests.lab.host import Completed

pytestmark = pytest.mark.lab

REFUSED, VERIFICATION, USAGE = 3, 4, 2


@pytest.fixture(scope="module")
def newer(active: Road) -> Release:
    """A release that is on the host, installed, and not active."""
    release = active.build("0.2.0")
    active.install(active.admin.receive(release.archive))
    return release


def activate(road: Road, release: Release) -> Completed:
    return road.activate(f"{DOWNLOADS}/{release.archive.top_folder}", check=False)


def refused_without_a_trace(road: Road, release: Release, status: int, *words: str) -> None:
    """The phase ends with ``status``, says each of ``words``, and the running agent is untouched."""
    before, pid, link = listing(road), main_pid(road), linked(road)
    done = activate(road, release)
    assert done.returncode == status, done.stderr
    for word in words:
        assert word in done.stderr + done.stdout
    assert (main_pid(road), linked(road)) == (pid, link)
    assert listing(road) == before
    wait_ready(road, link)


def test_without_evidence(active: Road, newer: Release) -> None:
    active.host.exec(["mv", EVIDENCE, f"{EVIDENCE}.away"])
    active.host.exec(["install", "-d", "-m", "0755", EVIDENCE])
    try:
        refused_without_a_trace(
            active, newer, REFUSED, "evidence", "central-bootstrap", "beto-synchronisation"
        )
    finally:
        active.host.exec(["rm", "-r", EVIDENCE])
        active.host.exec(["mv", f"{EVIDENCE}.away", EVIDENCE])


@pytest.mark.parametrize("change", ["until", "sig"])
def test_changed_or_unsigned_evidence(active: Road, newer: Release, change: str) -> None:
    file = f"{EVIDENCE}/central-bootstrap.yaml"
    active.host.exec(["cp", "-a", file, "/root/kept.yaml"])
    active.host.exec(["cp", "-a", f"{file}.sig", "/root/kept.sig"])
    if change == "until":
        active.host.exec(["sed", "-i", "s/^validUntil: .*/validUntil: '2099-01-01T00:00:00Z'/", file])
    else:
        active.host.exec(["rm", f"{file}.sig"])
    try:
        refused_without_a_trace(active, newer, REFUSED, "central-bootstrap")
    finally:
        active.host.exec(["mv", "/root/kept.yaml", file])
        active.host.exec(["mv", "/root/kept.sig", f"{file}.sig"])


def test_laboratory_evidence_in_a_production_profile(active: Road, newer: Release) -> None:
    profile = "/etc/pharos-hpc/profile.yaml"
    active.host.exec(["sed", "-i.kept", "s/^kind: laboratory$/kind: production/", profile])
    try:
        refused_without_a_trace(active, newer, REFUSED, "laboratory evidence")
    finally:
        active.host.exec(["mv", f"{profile}.kept", profile])


def test_a_credential_others_can_read(active: Road, newer: Release) -> None:
    token = f"{CREDENTIALS}/ssh-access/site-api-token"
    active.host.exec(["chmod", "0644", token])
    try:
        before, pid = linked(active), main_pid(active)
        done = activate(active, newer)
        assert done.returncode in (REFUSED, USAGE)
        assert active.token.strip().decode() not in done.stdout + done.stderr
        assert (linked(active), main_pid(active)) == (before, pid)
    finally:
        active.host.exec(["chmod", "0600", token])


def test_one_changed_byte_in_the_archive(active: Road, newer: Release) -> None:
    archive = f"/root/pharos/{newer.archive.path.name}"
    active.host.exec(["cp", "-a", archive, f"{archive}.kept"])
    script = 'printf "\\377" | dd of="$0" bs=1 seek=2000000 conv=notrunc status=none'
    active.host.exec(["sh", "-c", script, archive])
    try:
        refused_without_a_trace(active, newer, VERIFICATION)
    finally:
        active.host.exec(["mv", f"{archive}.kept", archive])


def test_one_changed_file_in_the_unpacked_folder(active: Road, newer: Release) -> None:
    file = f"/root/pharos/{newer.archive.top_folder}/installer/__init__.py"
    active.host.exec(["cp", "-a", file, "/root/kept.py"])
    active.host.exec(["sh", "-c", 'echo "import os" >>"$0"', file])
    try:
        refused_without_a_trace(active, newer, VERIFICATION)
    finally:
        active.host.exec(["mv", "/root/kept.py", file])


def test_a_revoked_grant(active: Road, newer: Release) -> None:
    """Central refuses it at once, so nothing can be activated. The last test: the agent suffers."""
    grant_id = active.token.decode().split("_")[1]
    active.central.revoke(grant_id)
    done = activate(active, newer)
    assert done.returncode == REFUSED, done.stderr
    assert "site-api" in done.stderr
    assert linked(active) != newer.release_id

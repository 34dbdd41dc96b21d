"""The installer dies, or the new release does, beside a running agent (I11, I13, I14).

Afterwards the host is in the prior or the new state, ``status`` agrees, and no key was lost or doubled.
"""

import pytest

from tests.journeys.administrator import DOWNLOADS
from tests.journeys.observing import (
    each_key_once,
    installer_status,
    linked,
    main_pid,
    wait_ready,
)
from tests.journeys.releases import Release, copy_of_checkout
from tests.journeys.road import Road
from tests.lab.sshlogin import MemberKey, forget_cached, login

pytestmark = pytest.mark.lab

KILLED, ACTIVATION_FAILED, UNFINISHED, REFUSED = -9, 7, 9, 3
MAIN = "site_bundle/ssh_access/main.py"


@pytest.fixture(scope="module")
def prior(active: Road) -> str:
    """The release that runs before each crash."""
    return linked(active)


@pytest.fixture(scope="module")
def key(active: Road) -> MemberKey:
    """A key of alice that must survive it all."""
    made, member = active.key("standing"), active.central.member("alice")
    member.wait_for(member.add_key(made.public)["keyId"], "active")
    return made


@pytest.fixture(scope="module")
def newer(active: Road) -> Release:
    release = active.build("0.2.0")
    active.admin.receive(release.archive)
    return release


def folder(release: Release) -> str:
    return f"{DOWNLOADS}/{release.archive.top_folder}"


def stands(road: Road, release: str, key: MemberKey) -> None:
    """Links, record, process and directory all say ``release``, and the member gets in."""
    wait_ready(road, release)
    said = installer_status(road)
    component = said["components"]["ssh-access"]
    assert (component["wanted"], component["linked"], component["running"]) == (release, release, release)
    assert said["openOperation"] is None
    assert each_key_once(road, "alice", key.public)
    forget_cached(road.host, "alice")
    assert login(road.host, "alice", key).returncode == 0


@pytest.mark.parametrize("point", ["install/before-seal", "install/after-seal"])
def test_install_killed_about_the_seal(
    active: Road, prior: str, key: MemberKey, newer: Release, point: str
) -> None:
    pid = main_pid(active)
    assert active.install(folder(newer), check=False, crash_at=point).returncode == KILLED
    sealed = newer.release_id in installer_status(active)["releases"]
    assert sealed == (point == "install/after-seal")
    assert main_pid(active) == pid, "an install touched the running agent"
    active.install(folder(newer))
    assert newer.release_id in installer_status(active)["releases"]
    assert installer_status(active)["unfinishedReleases"] == []
    active.host.exec(["rm", "-rf", f"/opt/pharos-hpc/releases/{newer.release_id}"])
    stands(active, prior, key)


@pytest.mark.parametrize(
    "point", ["after-intent", "after-stop", "after-links", "after-start", "before-record"]
)
def test_activate_killed_then_recovered(
    active: Road, prior: str, key: MemberKey, newer: Release, point: str
) -> None:
    active.install(folder(newer))
    done = active.activate(folder(newer), check=False, crash_at=f"activate/{point}")
    assert done.returncode == KILLED, done.stderr
    assert installer_status(active)["openOperation"] is not None
    again = active.activate(folder(newer), check=False)
    assert again.returncode == UNFINISHED, again.stderr
    active.admin.installer("recover")
    stands(active, prior, key)


def test_recovery_killed_too(active: Road, prior: str, key: MemberKey, newer: Release) -> None:
    active.activate(folder(newer), check=False, crash_at="activate/after-links")
    killed = active.admin.installer("recover", check=False, crash_at="recover/before-start:ssh-access")
    assert killed.returncode == KILLED, killed.stderr
    active.admin.installer("recover")
    stands(active, prior, key)
    active.admin.installer("recover")
    stands(active, prior, key)


def test_a_release_whose_agent_never_gets_ready(active: Road, prior: str, key: MemberKey) -> None:
    """A real broken release, built and signed like any: it is taken back and remembered."""
    copy = copy_of_checkout(active.work / "broken")
    source = (copy / MAIN).read_text()
    planted = source.replace(
        "def main(", "def main(*_: object) -> None:\n    raise SystemExit(70)\n\n\ndef _main(", 1
    )
    assert planted != source
    (copy / MAIN).write_text(planted)
    broken = active.build("0.3.0", copy)
    active.install(active.admin.receive(broken.archive))
    failed = active.activate(folder(broken), "--health-deadline", "20", check=False)
    assert failed.returncode == ACTIVATION_FAILED, failed.stderr
    stands(active, prior, key)
    assert broken.release_id in [bad["release"] for bad in installer_status(active)["bad"]]
    refused = active.activate(folder(broken), check=False)
    assert refused.returncode == REFUSED, refused.stderr
    stands(active, prior, key)


def test_after_all_that_the_newer_release_goes_in(active: Road, key: MemberKey, newer: Release) -> None:
    active.activate(folder(newer))
    stands(active, newer.release_id, key)

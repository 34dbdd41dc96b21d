"""From one archive to a real login, up to the next release, and back (issue's journey; I1, I11–I14, E6, S7).

Fresh host → the four phases as an administrator types them → a key in, a login works → the key out,
refused → the next release → rollback → journal and keys intact.
"""

from dataclasses import dataclass

import pytest

from tests.journeys.observing import (
    JOURNAL,
    UNIT,
    each_key_once,
    installer_status,
    linked,
    listing,
    main_pid,
    unit,
    wait_for_keys,
    wait_ready,
)
from tests.journeys.releases import Release
from tests.journeys.road import Road
from tests.lab.processes import wait_until
from tests.lab.sshlogin import (
    REFUSED,
    MemberKey,
    directory_keys,
    forget_cached,
    login,
    replace_directory_keys,
)

pytestmark = pytest.mark.lab

FOREIGN = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0000000000000000000000000000000000000000000"
"""A key the site's administrators put there by hand: the agent must leave it (S7)."""


@dataclass(frozen=True, slots=True)
class Handed:
    """A release that has reached the host, unpacked in ``folder``."""

    release: Release
    folder: str


@pytest.fixture(scope="module")
def first(fresh: Road) -> Handed:
    release = fresh.build("0.1.0")
    fresh.agree(release)
    return Handed(release, fresh.admin.receive(release.archive))


@pytest.fixture(scope="module")
def second(fresh: Road) -> Handed:
    release = fresh.build("0.2.0")
    return Handed(release, fresh.admin.receive(release.archive))


@pytest.fixture(scope="module")
def laptop(fresh: Road) -> MemberKey:
    return fresh.key("laptop")


@pytest.fixture(scope="module")
def desk(fresh: Road) -> MemberKey:
    return fresh.key("desk")


def key_id(road: Road, user: str, key: MemberKey) -> str:
    """The id under which central keeps a key that is not removed."""
    member = road.central.member(user)
    (found,) = [k for k in member.list_keys() if k["publicKey"] == key.public and k["state"] != "removed"]
    return str(found["keyId"])


def test_preflight_looks_and_changes_nothing(fresh: Road, first: Handed) -> None:
    before = listing(fresh)
    done = fresh.preflight(first.folder)
    assert first.release.release_id in done.stdout
    changed = {line for line in listing(fresh) ^ before if not line.startswith("/opt/pharos-hpc d ")}
    assert changed == set()


def test_install_starts_nothing_and_switches_nothing(fresh: Road, first: Handed) -> None:
    fresh.install(first.folder)
    assert unit(fresh, "LoadState", "ActiveState") == {"LoadState": "not-found", "ActiveState": "inactive"}
    assert linked(fresh) == ""
    release = f"/opt/pharos-hpc/releases/{first.release.release_id}"
    assert (
        fresh.host.exec(["stat", "-c", "%U %a", release, f"{release}/SEAL"]).stdout.splitlines()[0]
        == "root 755"
    )


def test_install_again_changes_nothing(fresh: Road, first: Handed) -> None:
    before = listing(fresh)
    fresh.install(first.folder)
    assert listing(fresh) == before


def test_validate_undoes_what_it_tries(fresh: Road, first: Handed) -> None:
    before = listing(fresh)
    fresh.validate(first.folder)
    assert directory_keys(fresh.host, "pharos-probe") == []
    assert listing(fresh) == before
    assert unit(fresh, "ActiveState")["ActiveState"] == "inactive"


def test_activate_starts_the_agent_and_records_it(fresh: Road, first: Handed) -> None:
    fresh.activate(first.folder)
    release = first.release.release_id
    assert linked(fresh) == release
    assert unit(fresh, "ActiveState", "UnitFileState", "User", "NRestarts") == {
        "ActiveState": "active",
        "UnitFileState": "enabled",
        "User": "pharos-ssh-access",
        "NRestarts": "0",
    }
    wait_ready(fresh, release)
    component = installer_status(fresh)["components"]["ssh-access"]
    assert (component["wanted"], component["linked"], component["running"]) == (release, release, release)


def test_activate_again_is_no_change(fresh: Road, first: Handed) -> None:
    before = main_pid(fresh)
    fresh.activate(first.folder)
    assert main_pid(fresh) == before


def test_a_key_entered_at_central_opens_a_login(fresh: Road, laptop: MemberKey) -> None:
    assert login(fresh.host, "alice", laptop).returncode == REFUSED
    member = fresh.central.member("alice")
    added = member.add_key(f"{laptop.public} alice@her-laptop")
    key = member.wait_for(added["keyId"], "active")
    assert key["reportedAt"] is not None
    assert directory_keys(fresh.host, "alice") == [laptop.public]
    forget_cached(fresh.host, "alice")
    entered = login(fresh.host, "alice", laptop, "id", "-u")
    assert (entered.returncode, entered.stdout) == (0, "5000001\n"), entered.stderr
    assert login(fresh.host, "bob", laptop).returncode == REFUSED


def test_a_removed_key_is_refused_at_once_when_the_cache_is_invalidated(
    fresh: Road, laptop: MemberKey
) -> None:
    member = fresh.central.member("alice")
    removed = key_id(fresh, "alice", laptop)
    assert member.remove_key(removed)["state"] == "removing"
    member.wait_for(removed, "removed")
    assert directory_keys(fresh.host, "alice") == []
    forget_cached(fresh.host, "alice")
    assert login(fresh.host, "alice", laptop).returncode == REFUSED


def test_a_removed_key_is_refused_by_waiting(fresh: Road, laptop: MemberKey) -> None:
    """Nobody invalidates anything: the site's own cache time (5 s here) is the delay."""
    member = fresh.central.member("alice")
    added = member.add_key(laptop.public)["keyId"]
    member.wait_for(added, "active")
    assert wait_until(lambda: login(fresh.host, "alice", laptop).returncode == 0, 60.0, every=0.5)
    member.remove_key(added)
    member.wait_for(added, "removed")
    assert wait_until(lambda: login(fresh.host, "alice", laptop).returncode == REFUSED, 60.0, every=0.5)


def test_the_next_release_takes_over_and_keeps_everything(
    fresh: Road, first: Handed, second: Handed, desk: MemberKey
) -> None:
    member = fresh.central.member("alice")
    member.wait_for(member.add_key(desk.public)["keyId"], "active")
    replace_directory_keys(fresh.host, "alice", [desk.public, FOREIGN])
    before, pid = wait_ready(fresh, first.release.release_id), main_pid(fresh)
    fresh.install(second.folder)
    assert (main_pid(fresh), linked(fresh)) == (pid, first.release.release_id), "install switched something"
    fresh.validate(second.folder)
    fresh.activate(second.folder)
    after = wait_ready(fresh, second.release.release_id)
    assert main_pid(fresh) != pid
    assert (linked(fresh), linked(fresh, "previous")) == (second.release.release_id, first.release.release_id)
    assert after["feed"]["accepted"] == before["feed"]["accepted"]
    assert after["sequence"] == before["sequence"]
    assert each_key_once(fresh, "alice", desk.public, FOREIGN)
    forget_cached(fresh.host, "alice")
    assert login(fresh.host, "alice", desk).returncode == 0


def test_rollback_brings_the_first_back_with_journal_and_keys(
    fresh: Road, first: Handed, second: Handed, desk: MemberKey, laptop: MemberKey
) -> None:
    before = wait_ready(fresh, second.release.release_id)
    inode = fresh.host.exec(["stat", "-c", "%i", JOURNAL]).stdout
    fresh.admin.installer("rollback")
    after = wait_ready(fresh, first.release.release_id)
    assert linked(fresh) == first.release.release_id
    component = installer_status(fresh)["components"]["ssh-access"]
    assert component["wanted"] == component["running"] == first.release.release_id
    assert fresh.host.exec(["stat", "-c", "%i", JOURNAL]).stdout == inode
    assert after["sequence"] == before["sequence"]
    assert each_key_once(fresh, "alice", desk.public, FOREIGN)
    member = fresh.central.member("alice")
    member.wait_for(member.add_key(laptop.public)["keyId"], "active")
    wait_for_keys(fresh, "alice", desk.public, laptop.public, FOREIGN)
    forget_cached(fresh.host, "alice")
    assert login(fresh.host, "alice", desk).returncode == 0
    assert login(fresh.host, "alice", laptop).returncode == 0


def test_the_token_is_where_it_belongs_and_nowhere_else(fresh: Road) -> None:
    """X5: not in settings, units, plans, journals, logs, arguments, nor in systemd's journal."""
    token = fresh.token.strip()
    places = ["/etc", "/opt", "/var", "/run", "/usr/lib/systemd", "/root", "/tmp"]
    found = fresh.host.exec(["grep", "-rlF", "-f", "-", "--", *places], input=token, check=False)
    allowed = ("/etc/pharos-hpc/credentials/ssh-access/", "/run/credentials/")
    assert found.stdout, "grep did not even find the credential itself"
    assert [path for path in found.stdout.splitlines() if not path.startswith(allowed)] == []
    script = "cat >/dev/shm/t; journalctl --no-pager -o export | grep -cF -f /dev/shm/t; rm /dev/shm/t"
    assert fresh.host.exec(["sh", "-c", script], input=token).stdout.strip() == "0"
    arguments = fresh.host.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'"], check=False).stdout
    assert token.decode() not in arguments


def test_uninvolved_services_never_noticed(fresh: Road) -> None:
    assert fresh.host.exec(["systemctl", "--failed", "--plain", "--no-legend"]).stdout == ""
    assert fresh.host.exec(["systemctl", "is-enabled", UNIT]).stdout == "enabled\n"

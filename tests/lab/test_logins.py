"""Real logins with a key in the directory, and their end (lab.md §3)."""

from pathlib import Path

import pytest

from tests.lab.host import LabHost
from tests.lab.processes import wait_until
from tests.lab.sshlogin import REFUSED, MemberKey, forget_cached, login, replace_directory_keys

pytestmark = pytest.mark.lab
AGENT = "pharos-ssh-access"


@pytest.fixture
def key(tmp_path: Path, lab_host: LabHost) -> MemberKey:
    """A fresh key, and alice without any."""
    replace_directory_keys(lab_host, "alice", [], by=AGENT)
    forget_cached(lab_host, "alice")
    return MemberKey.make(tmp_path)


def test_a_key_opens_a_login_and_its_removal_ends_it(lab_host: LabHost, key: MemberKey) -> None:
    assert login(lab_host, "alice", key).returncode == REFUSED
    replace_directory_keys(lab_host, "alice", [key.public], by=AGENT)
    forget_cached(lab_host, "alice")
    assert login(lab_host, "alice", key, "id", "-u").stdout == "5000001\n"
    replace_directory_keys(lab_host, "alice", [], by=AGENT)
    forget_cached(lab_host, "alice")
    refused = login(lab_host, "alice", key)
    assert refused.returncode == REFUSED
    assert "Permission denied" in refused.stderr


def test_without_invalidation_the_cache_decides_the_delay(lab_host: LabHost, key: MemberKey) -> None:
    """entry_cache_timeout is 5 s here: "removed from directory" is not yet "login impossible" (S7)."""
    replace_directory_keys(lab_host, "alice", [key.public], by=AGENT)
    forget_cached(lab_host, "alice")
    assert login(lab_host, "alice", key).returncode == 0
    replace_directory_keys(lab_host, "alice", [], by=AGENT)
    assert login(lab_host, "alice", key).returncode == 0
    assert wait_until(lambda: login(lab_host, "alice", key).returncode == REFUSED, 60.0, every=0.3)


def test_a_members_own_file_opens_nothing(lab_host: LabHost, key: MemberKey) -> None:
    script = (
        "umask 077; install -d -m 700 -o alice ~alice ~alice/.ssh;"
        "cat >~alice/.ssh/authorized_keys; chown alice ~alice/.ssh/*"
    )
    lab_host.exec(["bash", "-c", script], input=f"{key.public}\n")
    assert login(lab_host, "alice", key).returncode == REFUSED


def test_the_key_must_be_the_members_own(lab_host: LabHost, key: MemberKey, tmp_path: Path) -> None:
    other = MemberKey.make(tmp_path, "other")
    replace_directory_keys(lab_host, "alice", [other.public], by=AGENT)
    forget_cached(lab_host, "alice")
    assert login(lab_host, "alice", key).returncode == REFUSED
    assert login(lab_host, "bob", other).returncode == REFUSED

"""`pharos-central dev`: one command up, everything down again, data kept, also after SIGKILL (X8)."""

import json
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import urllib3

from tests.html import faults, words
from tests.ports import free_port
from tests.postgres.dev.rig import ROOT, Dev, fresh, member, running
from tests.postgres.kernel.waiting import until
from tests.postgres.ssh_access.conftest import add_body


@pytest.fixture
def dev() -> Iterator[Dev]:
    with fresh() as stack:
        yield stack


@pytest.fixture(scope="module")
def up() -> Iterator[Dev]:
    """A running one, for tests that leave it as it was."""
    with fresh() as stack:
        stack.start()
        yield stack


def test_up_down_and_up_again_with_its_data(dev: Dev) -> None:
    """A key through the whole stack; SIGTERM ends everything; the second start has the same URLs and keys."""
    first = dev.start()
    token = dev.helper("token", "--member", "alice")
    assert member(first, token, "POST", add_body(1))[0] == 201
    output = dev.state / "grant"
    dev.helper("grant", "--output", str(output))
    assert output.stat().st_mode & 0o777 == 0o600
    assert dev.end(signal.SIGTERM) == 0
    assert dev.left() == []
    assert not (dev.state / "dev.json").exists()

    second = dev.start()
    assert [first[part]["url"] for part in ("siteApi", "memberApi")] == [
        second[part]["url"] for part in ("siteApi", "memberApi")
    ]
    status, keys = member(second, token, "GET")
    assert (status, len(keys["keys"])) == (200, 1)
    changes = urllib3.request(
        "GET",
        f"{second['siteApi']['url']}/v1/site/ssh-access/changes?after=0",
        headers={"Authorization": f"Bearer {output.read_text().strip()}", "Pharos-Schema": "1-1"},
    )
    assert [change["target"]["username"] for change in json.loads(changes.data)["changes"]] == ["alice"]
    assert dev.end(signal.SIGINT) == 0
    assert dev.left() == []


def test_a_killed_stack_leaves_nothing_that_stops_the_next(dev: Dev) -> None:
    document = dev.start()
    dev.end(signal.SIGKILL)
    # PostgreSQL may still be ending: the next start sees to it first
    until(lambda: set(dev.left()) <= {document["pids"]["postgres"]})
    old = dev.left()
    dev.start()
    assert not any(running(pid) for pid in old)
    assert dev.end(signal.SIGTERM) == 0


def test_a_part_that_dies_ends_the_stack_with_its_reason(dev: Dev) -> None:
    document = dev.start()
    assert dev.process is not None
    os.kill(document["pids"]["site-api"], signal.SIGKILL)
    output, _ = dev.process.communicate(timeout=60)
    assert dev.process.returncode == 1
    assert "site-api ended" in output
    assert dev.left() == []


def test_o1_the_page_of_what_is_known_is_served_and_named(up: Dev) -> None:
    address = json.loads((up.state / "dev.json").read_text())["overview"]["url"]
    assert address.startswith("http://127.0.0.1:")
    answer = urllib3.request("GET", address)
    assert (answer.status, faults(answer.data.decode())) == (200, [])
    assert "SSH keys at slurm" in words(answer.data.decode())
    assert urllib3.request("GET", f"{address}readyz").status == 200


def test_one_stack_a_folder(up: Dev) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "central.cli", "dev", "--state", str(up.state)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert second.returncode == 3
    assert "already" in second.stderr
    assert up.left() == up.pids


def test_over_tls_with_its_own_ca(dev: Dev) -> None:
    """The Site API under its DNS name, as an agent on the HPC host reaches it; strict X.509."""
    port = free_port()
    document = dev.start("--site-listen", f"127.0.0.1:{port}", "--tls-name", "vm.lab.test", "--site", "k8s")
    assert document["siteApi"]["url"] == f"https://vm.lab.test:{port}"
    token = dev.helper("grant", "--site", "k8s")
    context = ssl.create_default_context(cafile=document["siteApi"]["caFile"])
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    pool = urllib3.HTTPSConnectionPool(
        "127.0.0.1", port, ssl_context=context, server_hostname="vm.lab.test", assert_hostname="vm.lab.test"
    )
    answer = pool.request(
        "GET",
        "/v1/site/ssh-access/grant",
        headers={"Authorization": f"Bearer {token}", "Pharos-Schema": "1-1", "Host": "vm.lab.test"},
    )
    assert (answer.status, json.loads(answer.data)["site"]) == (200, "k8s")
    intake = urllib3.HTTPSConnectionPool(
        "127.0.0.1",
        int(document["intake"]["listen"].rpartition(":")[2]),
        ssl_context=context,
        server_hostname="vm.lab.test",
        assert_hostname="vm.lab.test",
    )
    key = Path(document["intake"]["keyFiles"]["k8s"])
    assert key.stat().st_mode & 0o777 == 0o600
    answer = intake.request(
        "GET",
        "/resource-provisioning/k8s/retained-accounts",
        headers={
            "Authorization": f"Bearer {key.read_text().strip()}",
            "Pharos-Schema": "1-1",
            "Host": "vm.lab.test",
        },
    )
    assert answer.status in (200, 503), answer.data


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become somebody else; as a user, every test here is it"
)
def test_without_root(dev: Dev) -> None:
    """The same as `nobody`, who may read this checkout and its libraries but not the home it stands in."""
    python = shutil.which("python3", path="/usr/bin")
    site_packages = next(path for path in sys.path if path.endswith("site-packages"))
    if python is None or not same_version(python) or not readable_by_nobody(Path(site_packages), ROOT):
        pytest.skip("no interpreter and libraries here that another user may read")
    home = dev.state.parent
    os.chown(home, 65534, 65534)
    (home / "tmp").mkdir()
    process = subprocess.Popen(
        [python, "-m", "central.cli", "dev", "--state", str(dev.state)],
        cwd=home,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{site_packages}:{ROOT}",
        },
        user=65534,
        group=65534,
        extra_groups=[],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    dev.process = process
    document = dev.up()
    assert urllib3.request("GET", f"{document['memberApi']['url']}/readyz").status == 200
    assert dev.end(signal.SIGTERM) == 0
    assert dev.left() == []


def same_version(python: str) -> bool:
    shown = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True, check=True
    )
    return shown.stdout.strip() == str(sys.version_info[:2])


def readable_by_nobody(*paths: Path) -> bool:
    return all(
        subprocess.run(["test", "-r", path], user=65534, group=65534, extra_groups=[]).returncode == 0
        for path in paths
    )


def test_helpers_need_a_running_stack(dev: Dev) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "central.cli", "dev", "token", "--state", str(dev.state), "--member", "alice"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "no stack runs" in done.stderr


def test_a_token_file_is_private(up: Dev) -> None:
    output = up.state / f"token-{secrets.token_hex(4)}"
    assert up.helper("token", "--member", "alice", "--output", str(output)) == ""
    assert output.stat().st_mode & 0o777 == 0o600


def test_supervised_processes_of_centrals_come_back_and_stand_ins_do_not() -> None:
    with fresh() as stack:
        document = stack.start("--supervise")
        ready = f"{document['memberApi']['url']}/readyz"
        os.killpg(document["pids"]["member-api"], signal.SIGKILL)
        until(lambda: not running(document["pids"]["member-api"]))
        until(lambda: answers(ready))
        os.kill(document["pids"]["beto"], signal.SIGKILL)
        assert stack.process is not None
        said = stack.process.communicate(timeout=60)[0]
        assert stack.process.returncode == 1
        assert "member-api was started again" in said and "beto ended with -9" in said


def answers(url: str) -> bool:
    with suppress(urllib3.exceptions.HTTPError):
        return bool(urllib3.request("GET", url, timeout=5, retries=False).status == 200)
    return False

"""Boot, enter, reset, reboot, end: on real hosts (lab.md §0, §6, §7)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.erase import traces
from tests.lab.errors import CommandFailedError
from tests.lab.fixtures import HostMaker
from tests.lab.handoff import CREDENTIALS, hand_off
from tests.lab.host import LabHost
from tests.lab.processes import identify, run, wait_until
from tests.lab.reclaim import reclaim
from tests.lab.registry import Registry
from tests.lab.tree import HostTree

pytestmark = pytest.mark.lab

OWNER = (
    "import subprocess, time; from tests.lab import LabHost; host = LabHost.up();"
    "(host.scratch / 'mark').write_text('1'); beside = subprocess.Popen(host.beside(['sleep', '601']));"
    "print(host.name, beside.pid, flush=True); time.sleep(600)"
)


def test_all_services_answer(lab_host: LabHost) -> None:
    assert lab_host.exec(["systemctl", "--failed", "--plain", "--no-legend"]).stdout == ""
    assert lab_host.exec(["id", "-u", "alice"]).stdout == "5000001\n"
    assert lab_host.exec(["hostname"]).stdout.strip() == lab_host.name
    assert lab_host.exec(["python3.13", "-c", "print(1)"]).stdout == "1\n"


def test_a_command_runs_inside_and_tells_its_status(lab_host: LabHost) -> None:
    assert lab_host.exec(["cat"], input="over stdin").stdout == "over stdin"
    assert lab_host.exec(["id", "-un"], user="pharos-ssh-access").stdout == "pharos-ssh-access\n"
    assert lab_host.exec(["sh", "-c", "exit 7"], check=False).returncode == 7
    with pytest.raises(CommandFailedError, match="no such thing"):
        lab_host.exec(["sh", "-c", "echo no such thing >&2; exit 3"])


def test_a_visitor_belongs_to_the_host(lab_host: LabHost) -> None:
    """Whatever a command leaves running ends with the host."""
    with subprocess.Popen(lab_host.command(["sleep", "600"]), stdin=subprocess.DEVNULL) as visitor:
        folder = lab_host.record.slot.cgroup / "visitors"
        assert wait_until(lambda: str(visitor.pid) in (folder / "cgroup.procs").read_text().split(), 60.0)
        visitor.kill()


def test_a_file_put_has_mode_and_owner(lab_host: LabHost) -> None:
    lab_host.put("/etc/deep/er/file", b"\x00\xff", 0o640, "root:slurm")
    assert lab_host.exec(["stat", "-c", "%a %U:%G %s", "/etc/deep/er/file"]).stdout == "640 root:slurm 2\n"


def test_the_hand_off_is_private(lab_host: LabHost) -> None:
    hand_off(lab_host, public={"site.yaml": b"schema: 1\n"}, credentials={"ssh-access/site-api-token": b"s"})
    shown = lab_host.exec(
        [
            "stat",
            "-c",
            "%a %U",
            CREDENTIALS,
            f"{CREDENTIALS}/ssh-access",
            f"{CREDENTIALS}/ssh-access/site-api-token",
        ]
    )
    assert shown.stdout == "700 root\n700 root\n600 root\n"


def test_both_sides_reach_each_other_and_nothing_else(lab_host: LabHost) -> None:
    assert lab_host.exec(["getent", "hosts", "vm.lab.test"]).stdout.split()[0] == lab_host.host_side_addr
    code = (
        "import socket, sys; server = socket.create_server((sys.argv[1], 0));"
        "print(server.getsockname()[1], flush=True); server.accept()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, lab_host.host_side_addr], stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        lab_host.exec(["bash", "-c", f": </dev/tcp/vm.lab.test/{port}"])
        server.wait(60)
    assert lab_host.exec(["getent", "hosts", "example.org"], check=False).returncode == 2
    assert lab_host.exec(["ip", "route", "show", "default"]).stdout == ""


def test_reset_throws_the_disk_away_and_reboot_keeps_it(lab_host: LabHost) -> None:
    lab_host.put("/root/mark", b"1")
    lab_host.reboot()
    assert lab_host.read("/root/mark") == "1"
    lab_host.reset()
    assert lab_host.exec(["test", "-e", "/root/mark"], check=False).returncode == 1


def test_a_reboot_from_inside_comes_back(lab_host: LabHost) -> None:
    before = lab_host.exec(["stat", "-c", "%z", "/proc/1"]).stdout
    lab_host.put("/root/mark", b"1")
    lab_host.exec(["systemctl", "reboot"], check=False)
    assert wait_until(lambda: not lab_host.running, 60.0)
    assert wait_until(lambda: lab_host.running, 60.0)
    assert lab_host.read("/root/mark") == "1"
    assert lab_host.exec(["stat", "-c", "%z", "/proc/1"]).stdout != before


def test_what_runs_beside_a_host_outlives_its_reset_and_ends_with_it(new_lab_host: HostMaker) -> None:
    host = new_lab_host()
    with subprocess.Popen(host.beside(["sleep", "602"])) as beside:
        folder = host.scratch
        host.reset()
        assert beside.poll() is None
        assert folder.is_dir()
        host.kill()
        assert beside.wait(60) == -signal.SIGTERM, "it was not asked politely"
    assert not folder.exists()


def test_two_hosts_at_once_share_nothing(new_lab_host: HostMaker) -> None:
    one, two = new_lab_host(), new_lab_host()
    one.put("/root/mark", b"1")
    assert two.exec(["test", "-e", "/root/mark"], check=False).returncode == 1
    assert one.exec(["bash", "-c", f": </dev/tcp/{two.addr}/22"], check=False, timeout=10).returncode != 0
    two.kill()
    assert one.exec(["id", "-u", "alice"]).stdout == "5000001\n"


@pytest.mark.parametrize("how", ["down", "kill"])
def test_an_ended_host_leaves_no_trace(new_lab_host: HostMaker, how: str) -> None:
    host = new_lab_host()
    locks = Path("/run/systemd/nspawn/locks")
    before = {path.name for path in locks.iterdir()}
    assert traces(host.record.slot)
    getattr(host, how)()
    assert traces(host.record.slot) == []
    assert not {path.name for path in locks.iterdir()} - before
    host.kill()


def test_reclaim_after_sigkill_of_the_owner_spares_the_living(
    lab_tree: HostTree, new_lab_host: HostMaker
) -> None:
    living = new_lab_host()
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        name, beside = owner.stdout.readline().split()
        record = Registry().find(name)
        assert record.scratch is not None
        assert (record.scratch / "mark").exists()
        assert identify(int(beside)) is not None
        assert name not in reclaim().removed
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
        done = reclaim()
    assert name in done.removed
    assert living.name in done.living
    assert traces(record.slot) == []
    assert identify(int(beside)) is None, "what ran beside the host still runs"
    assert not record.scratch.exists()
    assert living.exec(["id", "-u", "alice"]).stdout == "5000001\n"


def test_reclaim_after_sigkill_of_supervisor_and_nspawn(lab_tree: HostTree) -> None:
    """A detached host is its own owner: dead supervisor, dead host (lab.md §9)."""
    host = LabHost.up(detached=True, tree=lab_tree)
    try:
        supervisor = int((host.record.slot.folder / "supervisor.pid").read_text())
        nspawn = [int(pid) for pid in run(["ps", "-o", "pid=", "--ppid", str(supervisor)]).stdout.split()]
        for pid in (supervisor, *nspawn):
            os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: host.name in reclaim().removed, 60.0)
        assert traces(host.record.slot) == []
    finally:
        host.kill()


def test_reclaim_removes_traces_without_a_record(lab_tree: HostTree, new_lab_host: HostMaker) -> None:
    host = new_lab_host()
    (host.record.slot.folder / "record.json").unlink()
    assert host.record.slot.machine in reclaim().removed
    assert traces(host.record.slot) == []


def test_a_detached_host_outlives_its_command(lab_tree: HostTree) -> None:
    name = run([sys.executable, "-m", "tests.lab", "up"], timeout=60).stdout.strip()
    host = LabHost.attach(name)
    try:
        assert name in reclaim().living
        lab = [sys.executable, "-m", "tests.lab"]
        assert run([*lab, "exec", name, "-u", "alice", "id", "-un"]).stdout == "alice\n"
        assert run([*lab, "exec", name, "--", "sh", "-c", "exit 9"], check=False).returncode == 9
        assert run([*lab, "addr", name]).stdout.split() == [host.host_side_addr, host.addr]
        assert f"{name}\t" in run([*lab, "list"]).stdout
        run([*lab, "reset", name])
        assert name in reclaim().living
    finally:
        run([sys.executable, "-m", "tests.lab", "down", name])
    assert traces(host.record.slot) == []

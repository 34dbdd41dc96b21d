"""The tree's building, interrupted and refused."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.disk import mounts_below
from tests.lab.erase import traces
from tests.lab.errors import LabError
from tests.lab.fixtures import HostMaker
from tests.lab.processes import is_alive, run, wait_until
from tests.lab.registry import HostRecord, Registry
from tests.lab.tree import HostTree, ensure_tree

pytestmark = pytest.mark.lab
LAB = [sys.executable, "-m", "tests.lab"]


def test_a_tree_in_use_is_not_built_again(lab_tree: HostTree, new_lab_host: HostMaker) -> None:
    host = new_lab_host()
    with pytest.raises(LabError, match=f"in use by .*{host.name}"):
        ensure_tree(rebuild=True)
    assert lab_tree.root.is_dir()


def test_a_killed_build_leaves_nothing(lab_tree: HostTree, tmp_path: Path) -> None:
    """SIGKILL amid mmdebstrap: no process, mount, half a tree or record stays after reclaim."""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    before = set(Path("/tmp").glob("mmdebstrap*"))
    cache = tmp_path / "pharos-lab"
    with subprocess.Popen([*LAB, "build"], env=env, stderr=subprocess.DEVNULL) as builder:
        assert wait_until(lambda: any(cache.glob("building-*/tree/var/lib/dpkg/status")), 120)
        (record,) = [record for record in Registry().records() if record.owner.pid == builder.pid]
        os.kill(builder.pid, signal.SIGKILL)
        builder.wait()
    assert members(record)
    assert record.name in run([*LAB, "reclaim"], env=env).stdout
    assert not is_alive(record.owner)
    assert traces(record.slot) == []
    assert [path.name for path in cache.iterdir()] == ["lock"]
    assert mounts_below(tmp_path) == []
    assert set(Path("/tmp").glob("mmdebstrap*")) <= before


def members(record: HostRecord) -> list[str]:
    """Processes of the record's cgroup."""
    return (record.slot.cgroup / "visitors/cgroup.procs").read_text().split()

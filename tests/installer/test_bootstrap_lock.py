"""One installer at a time (row 25), also past a killed one (row 43)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from installer.bootstrap.lock import hold
from installer.domain.refusal import Refusal

HOLDER = """
import sys, time, subprocess
from pathlib import Path
from installer.bootstrap.lock import hold
with hold(Path(sys.argv[1]), verb="install") as descriptor:
    child = subprocess.Popen(["sleep", "60"], pass_fds=(descriptor,)) if sys.argv[2] == "child" else None
    print(child.pid if child else 0, flush=True)
    time.sleep(60)
"""


def start(path: Path, kind: str) -> tuple[subprocess.Popen[str], int]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, os.fspath(path), kind], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    return holder, int(holder.stdout.readline())


def end(holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    assert holder.stdout is not None
    holder.stdout.close()


def test_row25_second_installer_names_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lib" / "lock"
    holder, _ = start(path, "alone")
    try:
        with pytest.raises(Refusal) as caught, hold(path, verb="activate"):
            pass
        assert (caught.value.code, caught.value.exit_code) == ("locked", 5)
        assert f"process {holder.pid} " in caught.value.found
        assert "install" in caught.value.found
    finally:
        end(holder)
    with hold(path, verb="activate") as descriptor:
        assert not os.get_inheritable(descriptor)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_row43_a_child_that_outlives_a_killed_installer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder, child = start(path, "child")
    end(holder)
    try:
        with pytest.raises(Refusal) as caught, hold(path, verb="install"):
            pass
        assert f"process {child} (sleep)" in caught.value.found
    finally:
        os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with hold(path, verb="install"):
                return
        except Refusal:
            time.sleep(0.02)
    pytest.fail("the lock of a dead child stayed")


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "fifo", "above"])
def test_row25_a_lock_that_is_no_regular_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lock"
    victim = tmp_path / "victim"
    if kind in {"link", "dangling"}:
        path.symlink_to("victim")
        if kind == "link":
            victim.write_bytes(b"precious")
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_bytes(b"")
        path = path / "below"
    with pytest.raises(Refusal) as caught, hold(path, verb="install"):
        pass
    assert (caught.value.code, caught.value.exit_code) == ("lock_unusable", 3)
    assert victim.exists() == (kind == "link")
    assert kind != "link" or victim.read_bytes() == b"precious"

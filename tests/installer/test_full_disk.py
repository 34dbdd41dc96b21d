"""A full disk below /var/lib/pharos-installer, on a real file system of its own (rows 9 and 11, I13)."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from installer.bootstrap.lock import hold
from tests.installer.rig import Rig

KILLED = -signal.SIGKILL
ACTIVATE = ("activate", "--components", "ssh-access", "--evidence", "/evidence", "--release")


@pytest.fixture
def small(rig: Rig) -> Iterator[Path]:
    """The installer's folder as a file system of 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("a mount needs root")
    memory = rig.paths.memory
    memory.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "none", os.fspath(memory)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount is allowed here")
    try:
        yield memory
    finally:
        subprocess.run(["umount", "--lazy", memory], check=True)


def fill(folder: Path) -> Path:
    """Use up every byte of the file system; the file that did."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 4096, 1):
            with suppress(OSError):
                while file.write(b"x" * size):
                    pass
    return ballast


def test_row_9_recover_brings_the_links_back_on_a_full_disk(rig: Rig, small: Path) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    before = rig.snapshot()
    assert rig.killed("activate/after-links", *ACTIVATE, new) == KILLED
    assert rig.link() == new
    ballast = fill(small)
    result = rig.run("recover")
    assert rig.link() == old, result
    assert "nothing was switched" not in result.stderr
    if result.code != 0:  # whether the closing record fits into the journal's last page is chance
        assert result.code == 8 and "the journal could not be closed" in result.stderr
    ballast.unlink()
    assert rig.run("recover").code == 0
    rig.clock.sleep(1)
    assert rig.snapshot() == before and rig.status()["agrees"] is True
    assert not rig.paths.journal.exists()


def test_row_9_activate_on_a_full_disk_is_refused_in_words(rig: Rig, small: Path) -> None:
    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    before = rig.snapshot()
    ballast = fill(small)
    result = rig.activate(new)
    assert result.code == 3 and "disk.space" in result.stderr, result
    assert rig.snapshot() == before
    ballast.unlink()
    assert rig.activate(new).code == 0


def test_row_9_row_25_the_lock_is_held_on_a_full_disk(small: Path) -> None:
    fill(small)
    with hold(small / "lock", verb="activate"):
        pass


def test_row_9_an_error_while_an_operation_is_open_says_so(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    old, new = rig.release("0.1.0"), rig.release("0.2.0")
    assert rig.activate(old).code == 0
    assert rig.killed("activate/after-links", *ACTIVATE, new) == KILLED
    monkeypatch.setattr("installer.phases.recover.resume", full)
    result = rig.run("recover")
    assert result.code == 6 and "a switch is not finished" in result.stderr
    assert "pharos-installer recover" in result.stderr

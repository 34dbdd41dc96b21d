"""``install``: built, sealed, never started; interrupted, damaged, repeated (rows 1, 9, 43; B1, B2, B29,
H15, H23).
"""

import hashlib
import os
import signal
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from installer.bootstrap.environment import EnvironmentSpec
from installer.bootstrap.lock import hold
from installer.bootstrap.seal import read_seal
from installer.domain.manifest import encode
from installer.host.commands import Completed
from installer.steps import release_tree
from tests.installer.archives import Workshop
from tests.installer.offering import build_stand_in
from tests.installer.rig import UNIT, Rig


def installed(rig: Rig) -> list[str]:
    result = rig.run("status", "--json")
    releases = result.events[-1]["releases"]
    assert isinstance(releases, list)
    return releases


def test_i1_i11_install_seals_and_starts_and_links_nothing(offered: Rig) -> None:
    result = offered.run("install")
    assert result.code == 0, result
    (release,) = installed(offered)
    root = offered.paths.release(release)
    assert read_seal(root) is not None and (root / f"units/{UNIT}.j2").exists()
    assert offered.link() is None and UNIT not in {
        call[2] for call in offered.fake.calls if call[:2] == ["systemctl", "start"]
    }
    assert offered.paths.sysusers.exists() and offered.paths.tmpfiles.exists()
    assert offered.run("status").stdout.startswith("ssh-access: not active")


def test_b29_a_second_install_says_no_change_and_writes_nothing(offered: Rig) -> None:
    assert offered.run("install").code == 0
    (offered.paths.releases / "lost+found").mkdir()
    before = {path: path.lstat().st_mtime_ns for path in offered.paths.releases.rglob("*")}
    result = offered.run("install")
    assert result.code == 0 and result.stdout.startswith("no change")
    assert {path: path.lstat().st_mtime_ns for path in offered.paths.releases.rglob("*")} == before


def test_i13_install_with_an_unfinished_journal_is_9_and_says_recover(offered: Rig) -> None:
    assert offered.run("install").code == 0
    release = offered.release("9.0.0")
    words = ("activate", "--components", "ssh-access", "--evidence", "/evidence", "--release", release)
    assert offered.killed("activate/after-links", *words) == -9
    result = offered.run("install")
    assert result.code == 9 and "unfinished_journal" in result.stderr and "recover" in result.stderr
    assert "no change" not in result.stdout
    assert offered.run("recover").code == 0 and offered.run("install").code == 0


def test_the_plan_of_install_writes_nothing(offered: Rig) -> None:
    before = sorted(offered.root.rglob("*"))
    result = offered.run("install", "--plan")
    assert (
        result.code == 0
        and "build and seal release" in result.stdout
        and sorted(offered.root.rglob("*")) == before
    )


POINTS = (
    "before-mkdir",
    "after-mkdir",
    "after-unpack",
    "after-venv",
    "before-pip",
    "after-pip",
    "after-smoke",
    "before-seal",
    "after-digest",
    "before-seal-temp",
    "before-seal-rename",
    "after-seal-rename",
    "after-seal",
)


@pytest.mark.parametrize("point", POINTS)
def test_row_1_b1_killed_anywhere_a_release_is_listed_whole_or_not_at_all(offered: Rig, point: str) -> None:
    assert offered.killed(f"install/{point}", "install") == -signal.SIGKILL
    listed = installed(offered)
    assert bool(listed) == (point in {"after-seal-rename", "after-seal"})
    assert offered.run("install").code == 0
    (release,) = installed(offered)
    assert read_seal(offered.paths.release(release)) is not None
    assert [path.name for path in offered.paths.releases.iterdir()] == [release]


@pytest.mark.parametrize("point", ["after-mkdir", "after-pip", "before-seal-rename"])
def test_row_9_h23_a_step_that_fails_is_exit_6_and_leaves_nothing(offered: Rig, point: str) -> None:
    offered.environment["PHAROS_LAB_CHECKPOINT"] = f"install/{point}:raise"
    result = offered.run("install")
    assert result.code == 6, result
    assert list(offered.paths.releases.iterdir()) == [] and offered.link() is None
    del offered.environment["PHAROS_LAB_CHECKPOINT"]
    assert offered.run("install").code == 0


def test_install_failed_names_the_step(offered: Rig) -> None:
    offered.write("/usr/lib/sysusers.d", "a file where a folder is wanted")
    result = offered.run("install")
    assert result.code in {4, 6} and ("install_failed" in result.stderr or "unreadable" in result.stderr)


def test_host_file_failed_when_sysusers_refuses(offered: Rig) -> None:
    offered.fake.programs["systemd-sysusers"] = Completed(code=1, stdout="", stderr="bad line")
    result = offered.run("install")
    assert result.code == 6 and "host_file_failed" in result.stderr and "bad line" in result.stderr


def test_b2_a_damaged_release_is_found_by_its_digest_and_built_anew(offered: Rig) -> None:
    assert offered.run("install").code == 0
    (release,) = installed(offered)
    program = offered.paths.venv(release, "ssh-access") / "bin/pharos-ssh-access"
    program.unlink()
    result = offered.run("install")
    assert result.code == 0 and "built anew" in result.stderr and program.exists()


def test_b2_a_damaged_release_that_is_linked_is_refused_not_replaced(offered: Rig) -> None:
    assert offered.run("install").code == 0
    (release,) = installed(offered)
    link = offered.paths.components / "ssh-access/current"
    link.parent.mkdir(parents=True)
    link.symlink_to(f"../../releases/{release}/components/ssh-access")
    (offered.paths.release(release) / "manifest.json").write_text("{}")
    assert offered.run("install").code == 4
    (offered.paths.release(release) / "SEAL").unlink()
    result = offered.run("install")
    assert (
        result.code == 4
        and "release_unsealed_linked" in result.stderr
        and offered.paths.release(release).exists()
    )


def test_row_13_a_changed_manifest_of_a_sealed_release_is_damage(rig: Rig) -> None:
    release = rig.release("0.1.0")
    manifest = rig.paths.release(release) / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"x86_64", b"x86_65"))
    assert rig.activate(release).code == 4
    result = rig.activate(release, "--plan")
    assert result.code == 4 and "release_damaged" in result.stderr


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_h15_modes_are_the_same_whatever_the_umask(offered: Rig, umask: int) -> None:
    old = os.umask(umask)
    try:
        assert offered.run("install").code == 0
    finally:
        os.umask(old)
    (release,) = installed(offered)
    root = offered.paths.release(release)
    assert stat.S_IMODE(root.stat().st_mode) == 0o755
    assert stat.S_IMODE((root / "manifest.json").stat().st_mode) == 0o644
    assert stat.S_IMODE(offered.paths.sysusers.stat().st_mode) == 0o644
    assert stat.S_IMODE(offered.paths.memory.stat().st_mode) == 0o700


def test_row_43_a_lock_held_elsewhere_is_exit_5(offered: Rig) -> None:
    holder, ready = os.pipe()
    child = os.fork()
    if child == 0:
        with hold(offered.paths.lock, verb="pip"):
            os.write(ready, b"x")
            os.read(holder, 0)
            signal.pause()
    os.read(holder, 1)
    try:
        for phase in (("install",), ("recover",)):
            result = offered.run(*phase)
            assert result.code == 5 and str(child) in result.stderr
        assert offered.run("status").code == 0
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert offered.run("install").code == 0


def test_i4_an_archive_replaced_after_the_bootstrap_is_refused(offered: Rig, workshop: Workshop) -> None:
    workshop.entries["LICENSE"] = b"another\n"
    workshop.write()
    result = offered.run("install")
    assert result.code == 4 and "archive_replaced" in result.stderr and installed(offered) == []


def test_without_an_archive_install_says_how_to_get_one(rig: Rig) -> None:
    for phase in ("preflight", "install"):
        result = rig.run(phase)
        assert result.code == 2 and "archive_absent" in result.stderr


def test_i4_a_release_from_a_dirty_tree_is_refused_by_a_production_profile(
    offered: Rig, workshop: Workshop
) -> None:
    workshop.write(workshop.items(encode(workshop.manifest(dirty=True))))
    offered.environment["PHAROS_ARCHIVE_SHA256"] = hashlib.sha256(workshop.archive.read_bytes()).hexdigest()
    offered.profile(kind="production", name="icarus-hpc")
    result = offered.run("preflight")
    assert result.code == 3 and "dirty" in result.stderr and "release.profile" in result.stderr


def test_h23_row_10_too_little_room_is_refused_before_any_change(offered: Rig) -> None:
    offered.limits = replace(offered.limits, release_bytes=1 << 60, release_inodes=1 << 60)
    result = offered.run("install")
    assert result.code == 3 and "disk.space" in result.stderr and not offered.paths.releases.exists()


def test_row_41_install_needs_no_evidence(offered: Rig) -> None:
    for path in offered.paths.at("/evidence").iterdir():
        path.unlink()
    assert offered.run("install").code == 0


def test_row_33_other_components_are_untouched(offered: Rig) -> None:
    other = Path(offered.paths.components / "runtime/current")
    other.parent.mkdir(parents=True)
    other.symlink_to("../../releases/0.0.1-000000000000/components/runtime")
    before = other.readlink()
    assert offered.run("install").code == 0 and other.readlink() == before


def test_row_8_a_signal_in_an_install_removes_the_unfinished_folder(
    offered: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(spec: EnvironmentSpec, *_rest: object, **_more: object) -> None:
        spec.path.mkdir()
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(release_tree, "build_environment", interrupted)
    result = offered.run("install")
    assert result.stdout == "interrupted by SIGINT; run it again\n"
    assert result.code == 130 and list(offered.paths.releases.iterdir()) == []
    monkeypatch.setattr(release_tree, "build_environment", build_stand_in)
    assert offered.run("install").code == 0

"""Environments from wheels of a verified archive: offline, isolated, complete, the same whoever builds
them.

Rows 1, 9, 21, 43; B1, B8, B11, B35, H10, H15; I5. pip is this environment's own, run from a wheel as on a
host.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from installer.bootstrap import environment
from installer.bootstrap.archive import VerifiedArchive, open_verified
from installer.bootstrap.controller import ControllerPort, controller_path, ensure_controller, find_controller
from installer.bootstrap.environment import build_environment
from installer.bootstrap.pip_tool import RELEASE_FILE
from installer.bootstrap.seal import SEAL, TREE, read_seal, seal_tree, verify_seal
from installer.domain.manifest import Override, encode
from installer.domain.refusal import Refusal
from installer.domain.tree import decode_tree
from tests.installer.archives import TRUST, SigningKeys, Workshop, make_workshop, real_release, wheel
from tests.installer.environment_specs import BASE, said_by, spec

POINTS = [
    f"{when}-{step}"
    for step in ("unpack", "venv", "pip", "compile", "check", "smoke")
    for when in ("before", "after")
]
SEAL_POINTS = [
    f"{when}-{step}" for step in ("digest", "seal-temp", "seal-rename") for when in ("before", "after")
]


def open_it(workshop: Workshop) -> VerifiedArchive:
    return open_verified(workshop.archive, allowed_signers=workshop.keys.allowed_signers, trust=TRUST)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, signing_keys: SigningKeys) -> Iterator[VerifiedArchive]:
    """A release with one dependency; it is read alone, so one is enough."""
    workshop = make_workshop(tmp_path_factory.mktemp("release"), signing_keys)
    real_release(workshop, wheel("dependency", "2.0"))
    workshop.write()
    with open_it(workshop) as opened:
        yield opened


def port(root: Path) -> ControllerPort:
    return ControllerPort(interpreter=BASE, root=root, trust=TRUST)


def test_I5_an_environment_is_complete_and_isolated(archive: VerifiedArchive, tmp_path: Path) -> None:
    root = tmp_path / "opt"
    root.mkdir()
    points: list[str] = []
    build_environment(spec(root), archive, checkpoint=points.append)
    venv = root / "venv"
    assert points == POINTS
    assert (venv / "pharos-release").read_text(encoding="ascii") == f"{archive.release_id}\n"
    script = venv / "bin" / "pharos-installer"
    assert script.read_text(encoding="utf-8").splitlines()[0] == f"#!{venv}/bin/python"
    assert said_by(script) == "controller\n"
    packages = next(venv.glob("lib/python3.*/site-packages"))
    assert sorted(path.name for path in packages.iterdir() if not path.name.endswith(".dist-info")) == [
        "__pycache__", "dependency.py", "installer",
    ]  # fmt: skip
    # Checked hashes (PEP 552): flags 0b11, so no time stamp decides whether bytecode is stale.
    compiled = next((packages / "__pycache__").iterdir()).read_bytes()
    assert compiled[4:8] == b"\x03\0\0\0"
    assert not (root / ".wheels").exists()


@pytest.mark.slow
def test_row21_H15_B35_no_variable_umask_or_configuration_changes_it(
    archive: VerifiedArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "opt"
    root.mkdir()
    venv = root / "venv"
    build_environment(spec(root), archive)
    plain = seal_tree(venv, release_id=archive.release_id, manifest_sha256=archive.manifest_sha256)
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / "sitecustomize.py").write_text("import sys; sys.exit('hostile')\n", encoding="utf-8")
    (hostile / "pip.conf").write_text("[global]\nindex-url = https://elsewhere.invalid\n", encoding="utf-8")
    name, data = wheel("dependency", "2.0", modules={"dependency.py": "EVIL = 1\n"})
    (hostile / name).write_bytes(data)
    for variable, value in {
        "PIP_FIND_LINKS": hostile, "PIP_INDEX_URL": "https://elsewhere.invalid", "PIP_NO_DEPS": "0",
        "PIP_EXTRA_INDEX_URL": "https://elsewhere.invalid", "PIP_CONFIG_FILE": hostile / "pip.conf",
        "PIP_TARGET": hostile, "PIP_USER": "1", "PYTHONPATH": hostile, "PYTHONHOME": "/nonexistent",
        "PYTHONSTARTUP": hostile / "sitecustomize.py", "VIRTUAL_ENV": hostile, "LANG": "tr_TR",
        "TMPDIR": "/no", "XDG_CONFIG_HOME": hostile, "SOURCE_DATE_EPOCH": "0",
        "PATH": hostile, "HOME": hostile,
    }.items():  # fmt: skip
        monkeypatch.setenv(variable, str(value))
    monkeypatch.chdir(hostile)
    for mask in (0o077, 0o000):
        subprocess.run(["/bin/rm", "-r", venv], check=True)
        before = os.umask(mask)
        try:
            build_environment(spec(root), archive)
            again = seal_tree(venv, release_id=archive.release_id, manifest_sha256=archive.manifest_sha256)
        finally:
            os.umask(before)
        assert again == plain, f"umask {mask:03o}"
    for path in venv.rglob("*"):
        assert path.is_symlink() or path.stat().st_mode & 0o004, f"others cannot read {path}"


def _refused(workshop: Workshop, root: Path) -> Refusal:
    workshop.write()
    root.mkdir()
    with open_it(workshop) as opened, pytest.raises(Refusal) as caught:
        build_environment(spec(root), opened)
    assert list(root.iterdir()) == [], "row 9: space is given back"
    return caught.value


@pytest.mark.slow
def test_B8_a_missing_dependency_is_not_installed_around(workshop: Workshop, tmp_path: Path) -> None:
    real_release(workshop, wheel("needy", requires=("absent>=1",)))
    error = _refused(workshop, tmp_path / "opt")
    assert (error.code, error.exit_code) == ("environment_incomplete", 4)
    assert "absent" in error.found


@pytest.mark.slow
def test_I5_exactly_the_recorded_override_is_accepted(workshop: Workshop, tmp_path: Path) -> None:
    real_release(workshop, wheel("needy", requires=("dependency<2",)), wheel("dependency", "2.0"))
    error = _refused(workshop, tmp_path / "opt")
    assert "needy 1.0 has requirement dependency<2, but you have dependency 2.0." in error.found
    for field, accepted in (("dependency<3", False), ("dependency<2", True)):
        override = Override("Needy", field, "dependency==2.0", "2.0 keeps what needy calls")
        workshop.write(workshop.items(encode(workshop.manifest(overrides=(override,)))))
        root = tmp_path / field
        root.mkdir()
        with open_it(workshop) as opened:
            if accepted:
                build_environment(spec(root), opened)
            else:
                with pytest.raises(Refusal, match="environment_incomplete"):
                    build_environment(spec(root), opened)


@pytest.mark.slow
def test_a_program_that_cannot_be_imported_is_refused(workshop: Workshop, tmp_path: Path) -> None:
    real_release(workshop)
    broken = wheel(
        "pharos-hpc", "0.1.0", modules={"x.py": ""}, scripts={"pharos-installer": "installer.cli:main"}
    )
    for path in ("requirements/controller.txt", "requirements/ssh-access.txt"):
        text = workshop.entries[path].decode()
        old = next(line for line in text.splitlines() if line.startswith("pharos-hpc"))
        workshop.entries[path] = text.replace(old, _line(broken)).encode()
    workshop.entries[f"wheels/{broken[0]}"] = broken[1]
    error = _refused(workshop, tmp_path / "opt")
    assert (error.code, error.exit_code) == ("environment_broken", 6)
    assert "No module named 'installer'" in error.found


@pytest.mark.slow
def test_a_wheel_that_pip_refuses(workshop: Workshop, tmp_path: Path) -> None:
    real_release(workshop, ("broken-1.0-py3-none-any.whl", b"no zip file"))
    error = _refused(workshop, tmp_path / "opt")
    assert (error.code, error.exit_code) == ("environment_pip", 6)
    assert "broken-1.0" in error.found


def _line(built: tuple[str, bytes]) -> str:
    from tests.installer.archives import requirements

    return requirements(dict([built])).decode().strip()


def test_an_existing_folder_is_never_built_into(archive: VerifiedArchive, tmp_path: Path) -> None:
    (tmp_path / "venv").symlink_to("nowhere")
    with pytest.raises(Refusal, match="environment_exists"):
        build_environment(spec(tmp_path), archive)
    assert (tmp_path / "venv").is_symlink()


def test_an_interpreter_that_cannot_make_environments(archive: VerifiedArchive, tmp_path: Path) -> None:
    wanted = replace(spec(tmp_path), interpreter=Path("/bin/false"))
    with pytest.raises(Refusal) as caught:
        build_environment(wanted, archive)
    assert (caught.value.code, caught.value.exit_code) == ("environment_venv", 6)


def test_the_controller_is_built_once_and_reused(
    archive: VerifiedArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "opt"
    assert find_controller(archive, root) is None
    built = ensure_controller(archive, port(root), lock_fd=0)
    link = root / "controller" / "current"
    assert os.readlink(link) == archive.release_id
    assert said_by(link / "bin" / "pharos-installer") == "controller\n"
    # H14, H15: whoever may use the host may read it, nobody else may write.
    assert (built.stat().st_mode & 0o777, root.stat().st_mode & 0o777) == (0o755, 0o755)
    stale = link.with_name(".current.0123")
    stale.symlink_to("leftover")
    link.unlink()
    link.symlink_to("elsewhere")

    def never(*_arguments: object, **_options: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(subprocess, "run", never)
    assert ensure_controller(archive, port(root), lock_fd=0) == built
    assert os.readlink(link) == archive.release_id
    assert not stale.is_symlink(), "row 28: a stale temporary link is repaired"


@pytest.mark.slow
def test_I5_a_controller_keeps_its_pip_sealed_and_builds_its_own_release_with_it(
    archive: VerifiedArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "opt"
    built = ensure_controller(archive, port(root), lock_fd=0)
    listed = decode_tree((built / TREE).read_bytes())
    compiled = [
        entry.path for entry in listed if entry.path.startswith("tools/pip/_internal/cli/__pycache__/")
    ]
    assert any("/main." in path for path in compiled), "what pip imported is compiled"
    assert not list(built.glob("lib/python3.*/site-packages/pip*")), "pip is no part of what it builds"
    seal = (built / SEAL).read_bytes()
    subprocess.run(["/bin/rm", "-r", built], check=True)
    ensure_controller(archive, port(root), lock_fd=0)
    assert (built / SEAL).read_bytes() == seal, "compiled alike"

    def never(*_arguments: object) -> None:
        raise AssertionError("unpacked again")

    build_environment(spec(tmp_path), archive)
    plain = seal_tree(tmp_path / "venv", release_id=archive.release_id, manifest_sha256="0" * 64)
    subprocess.run(["/bin/rm", "-r", tmp_path / "venv"], check=True)
    monkeypatch.setattr(environment, "unpack_pip", never)
    with pytest.raises(AssertionError):
        build_environment(spec(tmp_path), archive)
    monkeypatch.setattr(sys, "prefix", os.fspath(built))
    build_environment(spec(tmp_path), archive)
    with_kept = seal_tree(tmp_path / "venv", release_id=archive.release_id, manifest_sha256="0" * 64)
    assert with_kept == plain, "bytecode taken from the controller is the bytecode compiled anew"
    verify_seal(built)
    (built / RELEASE_FILE).write_text("0.0.9-000000000000\n", encoding="ascii")
    with pytest.raises(AssertionError):
        build_environment(replace(spec(tmp_path), path=tmp_path / "other"), archive)


@pytest.mark.slow
def test_B11_an_edited_controller_is_refused_and_kept(archive: VerifiedArchive, tmp_path: Path) -> None:
    root = tmp_path / "opt"
    built = ensure_controller(archive, port(root), lock_fd=0)
    module = next(built.glob("lib/python3.*/site-packages/installer/cli.py"))
    module.write_bytes(module.read_bytes() + b"EVIL = 1\n")
    with pytest.raises(Refusal) as caught:
        ensure_controller(archive, port(root), lock_fd=0)
    assert (caught.value.code, caught.value.exit_code) == ("tree_changed", 4)
    assert "installer/cli.py" in caught.value.found
    assert b"EVIL" in module.read_bytes()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_row28_a_foreign_current_is_refused_and_kept(
    archive: VerifiedArchive, tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "opt"
    foreign = root / "controller" / "current"
    foreign.parent.mkdir(parents=True)
    if kind == "folder":
        foreign.mkdir()
    else:
        foreign.write_bytes(b"")
    with pytest.raises(Refusal, match="host_link"):
        ensure_controller(archive, port(root), lock_fd=0)
    assert foreign.exists() and not foreign.is_symlink()


CHILD = """
import sys
from pathlib import Path
from installer.bootstrap.archive import open_verified
from installer.bootstrap.checkpoint import lab_checkpoint
from installer.bootstrap.controller import ControllerPort, ensure_controller
from tests.installer.archives import TRUST
archive, signers, base, root, point = sys.argv[1:]
port = ControllerPort(Path(base), Path(root), TRUST, lab_checkpoint(point, "controller"))
ensure_controller(open_verified(Path(archive), allowed_signers=Path(signers), trust=TRUST), port, lock_fd=0)
"""


def _killed_then_run_again(workshop: Workshop, root: Path, point: str) -> None:
    """Row 1, B1: after the kill nothing unsealed counts as there; the next run converges."""
    real_release(workshop)
    workshop.write()
    paths = [workshop.archive, workshop.keys.allowed_signers, BASE, root]
    command = [sys.executable, "-c", CHILD, *map(os.fspath, paths), f"controller/{point}"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == -9, outcome.stderr
    with open_it(workshop) as archive:
        finished = find_controller(archive, root)
        assert (finished is not None) == (point == "after-seal-rename")
        assert not (root / "controller" / "current").is_symlink()
        built = ensure_controller(archive, port(root), lock_fd=0)
        assert built == controller_path(archive, root)
        assert find_controller(archive, root) == built
        assert read_seal(built) is not None
    assert sorted(path.name for path in built.parent.iterdir()) == sorted([built.name, "current"])


@pytest.mark.slow
@pytest.mark.parametrize("point", [*POINTS, *SEAL_POINTS])
def test_row1_B1_killed_at_every_point_and_run_again(workshop: Workshop, tmp_path: Path, point: str) -> None:
    _killed_then_run_again(workshop, tmp_path / "opt", point)


@pytest.mark.parametrize("where", ["root", "controller"])
def test_row17_a_release_root_that_is_a_link_gets_nothing(
    archive: VerifiedArchive, tmp_path: Path, where: str
) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    root = tmp_path / "opt"
    if where == "controller":
        root.mkdir()
    (root if where == "root" else root / "controller").symlink_to(target)
    with pytest.raises(Refusal) as caught:
        ensure_controller(archive, port(root), lock_fd=0)
    assert caught.value.code == "input_link"
    assert list(target.iterdir()) == []


def test_row18_a_release_root_that_others_can_write_gets_nothing(
    archive: VerifiedArchive, tmp_path: Path
) -> None:
    root = tmp_path / "opt"
    root.mkdir()
    root.chmod(0o777)
    with pytest.raises(Refusal) as caught:
        ensure_controller(archive, port(root), lock_fd=0)
    assert caught.value.code == "input_writable"
    assert list(root.iterdir()) == []


MOUNTED = """
mount -t tmpfs -o "$1" none "$2" && shift && root=$1 && shift && "$@"; status=$?
find "$root" -type f | wc -l; exit $status
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("size=300k,mode=755", "No space left on device"),
        ("nr_inodes=25,mode=755", "No space left"),
        ("ro", "Read-only"),
    ],
    ids=["row9_no_space", "row10_no_inodes", "row11_read_only"],
)
def test_a_file_system_that_refuses_is_told_and_left_empty(
    workshop: Workshop, tmp_path: Path, options: str, said: str
) -> None:
    real_release(workshop)
    workshop.write()
    root = tmp_path / "opt"
    root.mkdir()
    paths = [workshop.archive, workshop.keys.allowed_signers, BASE, root / "pharos"]
    child = [sys.executable, "-c", CHILD, *map(os.fspath, paths), ""]
    command = ["unshare", "--mount", "sh", "-c", MOUNTED, "sh", options, os.fspath(root), *child]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 1
    assert outcome.stdout == "0\n", "the space is given back"
    assert said in outcome.stderr, outcome.stderr[-800:]
    assert "Refusal" in outcome.stderr.splitlines()[-1]

"""The whole tool on this repository: built twice, the same bytes; verified, and refused after any change
(I2, B16).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def release(
    *arguments: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "release", *(os.fspath(argument) for argument in arguments)]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@dataclass(frozen=True, slots=True)
class BuiltRelease:
    """A release of HEAD, its result and keys."""

    archive: Path
    signers: Path
    keys: Path
    result: dict[str, object]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltRelease:
    folder = tmp_path_factory.mktemp("release")
    assert release("keygen", folder / "keys").returncode == 0
    outcome = release(
        "build", "--version", "0.1.0", "--dist", folder / "dist", *signed(folder / "keys"), "--json"
    )
    assert outcome.returncode == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    return BuiltRelease(Path(result["archive"]), folder / "keys" / "allowed_signers", folder / "keys", result)


def signed(keys: Path) -> list[str | Path]:
    return ["--key", keys / "ed25519", "--ecdsa-key", keys / "ecdsa-p256"]


def test_I2_it_verifies_and_says_what_it_is(built: BuiltRelease) -> None:
    outcome = release("verify", built.archive, "--allowed-signers", built.signers, "--json")
    assert outcome.returncode == 0, outcome.stderr
    found = json.loads(outcome.stdout)
    assert found["release_id"] == built.result["release_id"]
    assert found["sha256"] == built.result["sha256"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(found["revision"]) == len(head.stdout.strip())
    assert found["dirty"] is False


def test_B16_the_same_bytes_in_another_folder_umask_zone_locale(built: BuiltRelease, tmp_path: Path) -> None:
    clone = tmp_path / "another folder" / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], check=True)
    revision = str(built.result["revision"])
    subprocess.run(["git", "-C", clone, "checkout", "-q", "--detach", revision], check=True)
    environment = {
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "tr_TR.UTF-8",
        "LANG": "tr_TR.UTF-8",
        "PYTHONHASHSEED": "7",
    }
    before = os.umask(0o000)
    try:
        outcome = release(
            "build",
            "--version",
            "0.1.0",
            "--dist",
            tmp_path / "dist",
            *signed(built.keys),
            cwd=clone,
            env=environment,
        )
    finally:
        os.umask(before)
    assert outcome.returncode == 0, outcome.stderr
    other = tmp_path / "dist" / built.archive.name
    assert release("compare", built.archive, other).stdout == ""
    assert other.read_bytes() == built.archive.read_bytes()
    statement = f"{built.archive.name}.provenance.json"
    assert other.with_name(statement).read_bytes() == built.archive.with_name(statement).read_bytes()


def test_the_version_reaches_the_wheel_and_no_lab_or_test_is_packed(built: BuiltRelease) -> None:
    with tarfile.open(built.archive) as archive:
        names = archive.getnames()
        own = next(name for name in names if "/wheels/pharos_hpc-0.1.0-py3-none-any.whl" in name)
        content = archive.extractfile(own)
        assert content is not None
        with zipfile.ZipFile(content) as packed:
            inside = packed.namelist()
            metadata = packed.read("pharos_hpc-0.1.0.dist-info/METADATA").decode()
            programs = packed.read("pharos_hpc-0.1.0.dist-info/entry_points.txt").decode()
    assert "\nVersion: 0.1.0\n" in metadata
    packages = {name.split("/")[0] for name in inside if ".dist-info/" not in name}
    assert packages == {"installer", "site_bundle"}, "no byte of the platform's service lies on a Site"
    targets = re.findall(r"^pharos-[a-z-]+ = ([\w.]+):main$", programs, re.MULTILINE)
    assert len(targets) == len(programs.strip().splitlines()) - 1 > 1
    for target in targets:
        assert f"{target.replace('.', '/')}.py" in inside, "a program is declared where its code is"
    assert "pharos-central" not in programs
    extras = set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.MULTILINE))
    with tarfile.open(built.archive) as archive:
        needs = {Path(name).stem for name in archive.getnames() if "/requirements/" in name}
    assert extras == needs - {"controller"} | {"installer"}, "what is not here asks for nothing"
    top = {name.split("/")[1] for name in names}
    assert top == {
        "install.sh", "LICENSE", "README.md", "CHANGELOG.md", "manifest.json", "sbom.cdx.json", "docs",
        "installer", "units", "profiles", "requirements", "wheels",
    }  # fmt: skip
    for name in [*names, *inside]:
        assert "tests" not in Path(name).parts and "__pycache__" not in name and not name.endswith(".pyc"), (
            name
        )


def third_parties(archive: Path) -> set[tuple[str, bytes]]:
    """The lines of the requirements files, but those of our own wheel."""
    found = set()
    with tarfile.open(archive) as opened:
        for name in (name for name in opened.getnames() if "/requirements/" in name):
            content = opened.extractfile(name)
            assert content is not None
            lines = content.read().splitlines()
            found |= {(Path(name).name, line) for line in lines if not line.startswith(b"pharos-hpc==")}
    return found


def test_I5_in_mode_index_the_archive_holds_our_wheel_and_pips_alone(
    built: BuiltRelease, tmp_path: Path
) -> None:
    mode = ("--version", "0.1.0", "--dependency-mode", "index")
    outcome = release("build", *mode, "--dist", tmp_path / "dist", *signed(built.keys), "--json")
    assert outcome.returncode == 0, outcome.stderr
    archive = Path(json.loads(outcome.stdout)["archive"])
    assert third_parties(archive) == third_parties(built.archive) != set(), "the same set in both modes"
    with tarfile.open(archive) as thin:
        wheels = {Path(name).name.split("-")[0] for name in thin.getnames() if name.endswith(".whl")}
        manifest = thin.extractfile(f"{archive.name.removesuffix('.tar.gz')}/manifest.json")
        assert manifest is not None and json.load(manifest)["dependencyMode"] == "index"
    assert wheels == {"pharos_hpc", "pip"}
    verified = release("verify", archive, "--allowed-signers", built.signers, "--json")
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["release_id"] != built.result["release_id"]


LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")
NAMED = re.compile(r"`((?:docs/[\w./-]*|[A-Z]+\.md))`")


def broken_links(texts: Mapping[str, str], names: Set[str]) -> list[str]:
    """What the documents ``texts`` (path to text) name and ``names`` does not hold, as file or folder."""
    broken = []
    for path, text in texts.items():
        beside = Path(path).parent
        found = [os.path.normpath(beside / target) for target in LINK.findall(text)]
        found += [os.path.normpath(target) for target in NAMED.findall(text)]
        broken += [f"{path}: {target}" for target in found if target not in names]
    return broken


def test_a_broken_link_is_found() -> None:
    texts = {
        "docs/a.md": "[b](b.md#part) [c](../README.md) [web](https://x.invalid) `docs/none.md` [d](d.md)"
    }
    assert broken_links(texts, {"docs/b.md", "README.md"}) == [
        "docs/a.md: docs/d.md",
        "docs/a.md: docs/none.md",
    ]


def test_what_the_guides_of_the_archive_name_is_in_the_archive(built: BuiltRelease) -> None:
    with tarfile.open(built.archive) as archive:
        paths = [Path(member.name).relative_to(archive.getnames()[0].split("/")[0]) for member in archive]
        names = {str(path) for path in paths} | {str(parent) for path in paths for parent in path.parents}
        texts = {
            str(path): content.read().decode()
            for path, member in zip(paths, archive.getmembers(), strict=True)
            if path.suffix == ".md" and (content := archive.extractfile(member)) is not None
        }
    assert {"README.md", "docs/administrator.md", "docs/errors.md", "docs/policy/README.md"} <= texts.keys()
    assert broken_links(texts, names) == []


def test_no_package_index_or_machine_path_is_in_the_archive(built: BuiltRelease) -> None:
    hosts = [b"pypi." + b"org", b"pythonhosted." + b"org"]
    with tarfile.open(built.archive) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None
            data = content.read()
            if member.name.endswith(".whl"):
                continue
            assert not any(host in data for host in hosts), member.name
            assert os.fsencode(ROOT) + b"/" not in data, member.name


@pytest.fixture
def copy(built: BuiltRelease, tmp_path: Path) -> Path:
    """The release's files in a folder of its own."""
    for path in built.archive.parent.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path / built.archive.name


def verify(archive: Path, built: BuiltRelease) -> subprocess.CompletedProcess[str]:
    return release("verify", archive, "--allowed-signers", built.signers)


def test_row13_a_changed_archive_or_statement_does_not_verify(built: BuiltRelease, copy: Path) -> None:
    assert verify(copy, built).returncode == 0
    statement = copy.with_name(f"{copy.name}.provenance.json")
    right = statement.read_bytes()
    statement.write_bytes(right.replace(b'"dirty": false', b'"dirty": true '))
    outcome = verify(copy, built)
    assert outcome.returncode == 4 and "signature_invalid" in outcome.stderr
    statement.write_bytes(right)
    statement.with_name(f"{statement.name}.ed25519.sig").unlink()
    statement.with_name(f"{statement.name}.ecdsa-p256.sig").unlink()
    outcome = verify(copy, built)
    assert outcome.returncode == 4 and "signature_missing" in outcome.stderr
    copy.write_bytes(copy.read_bytes() + b"\0")
    outcome = verify(copy, built)
    assert outcome.returncode == 4 and "signature_invalid" in outcome.stderr


def test_provenance_of_another_archive_does_not_verify(built: BuiltRelease, copy: Path) -> None:
    statement = copy.with_name(f"{copy.name}.provenance.json")
    value = json.loads(statement.read_bytes())
    value["subject"][0]["digest"]["sha256"] = "0" * 64
    statement.write_text(json.dumps(value), encoding="utf-8")
    for kind in ("ed25519", "ecdsa-p256"):
        signature = statement.with_name(f"{statement.name}.{kind}.sig")
        signature.unlink()
        command = ["ssh-keygen", "-q", "-Y", "sign", "-n", "pharos-hpc-provenance", "-f"]
        with statement.open("rb") as message:
            signature.write_bytes(
                subprocess.run(
                    [*command, os.fspath(built.keys / kind)], stdin=message, capture_output=True, check=True
                ).stdout
            )
    outcome = verify(copy, built)
    assert outcome.returncode == 4 and "provenance_mismatch" in outcome.stderr


def test_usage_teaches() -> None:
    assert "lock" in release("--help").stdout
    outcome = release("build", "--version", "1.0")
    assert outcome.returncode == 2 and "MAJOR.MINOR.PATCH" in outcome.stderr

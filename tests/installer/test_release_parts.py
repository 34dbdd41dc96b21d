"""The release tool's parts: epoch, wheels, locks, statements, the archive's bytes (I2, I5; B8,
B16, B17, row 20).
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from installer.domain.requirements import parse_requirements
from release.archive_writer import Entry, pack, read_entry
from release.compare import compare
from release.components import read_plan
from release.errors import CODES, ReleaseError
from release.locking import check_drift, declared, read_lock, run_pip
from release.own_wheel import build_own_wheel
from release.signing import Keys, keys_in, make_keys, make_keys_once, sign
from release.source import Source, check_epoch, check_out, uncommitted
from release.statements import provenance, sbom
from release.wheelhouse import fetch
from release.wheels import Wheel, check_platform, check_record, needed_glibc, read_wheel
from tests.installer.archives import wheel

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "text", ["0", "1667997441000", "", "-5", "1e9", " 1667997441", "\u0661667997441", "yesterday"]
)
def test_B17_epoch_is_refused_at_once_naming_the_variable(text: str) -> None:
    with pytest.raises(ReleaseError, match="SOURCE_DATE_EPOCH") as caught:
        check_epoch(text)
    assert caught.value.code == "epoch_malformed"


def test_B17_a_commit_time_or_no_variable_is_fine() -> None:
    check_epoch(None)
    check_epoch("1667997441")


def test_B17_the_build_refuses_it_before_any_work(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "release", "build", "--version", "0.1.0"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    outcome = subprocess.run(
        [*command, "--dist", tmp_path / "dist"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 1
    assert "SOURCE_DATE_EPOCH='0'" in outcome.stderr
    assert not (tmp_path / "dist").exists()


def write(folder: Path, built: tuple[str, bytes]) -> Path:
    path = folder / built[0]
    path.write_bytes(built[1])
    return path


def test_a_wheel_is_read_from_its_metadata(tmp_path: Path) -> None:
    built = wheel(
        "Some.Thing", "1.2", requires=("lib>=1", 'x; extra == "y"'), extra_metadata="Requires-Python: >=3.9\n"
    )
    found = read_wheel(write(tmp_path, built))
    assert (found.name, found.version, found.requires_python) == ("some-thing", "1.2", ">=3.9")
    assert found.requires == ("lib>=1", 'x; extra == "y"')
    assert found.sha256 == hashlib.sha256(built[1]).hexdigest()
    assert found.glibc is None


@pytest.mark.parametrize(
    "name", ["other-1.2-py3-none-any.whl", "thing-9.9-py3-none-any.whl", "thing.whl", "thing-1.2.tar.gz"]
)
def test_H13_B10_a_misnamed_wheel_or_a_source_distribution(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(wheel("thing", "1.2")[1])
    with pytest.raises(ReleaseError) as caught:
        read_wheel(path)
    assert caught.value.code == "wheel_malformed"


def test_a_wheel_that_is_no_zip_file(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="wheel_malformed"):
        read_wheel(write(tmp_path, ("thing-1.2-py3-none-any.whl", b"not a zip")))


@pytest.mark.parametrize(
    ("tags", "accepted"),
    [
        ("py3-none-any", True),
        ("cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64", True),
        ("cp313-cp313-manylinux_2_28_x86_64", True),
        ("cp39-abi3-manylinux2014_x86_64", True),
        ("cp313-cp313-manylinux_2_34_x86_64", False),
        ("cp312-cp312-manylinux2014_x86_64", False),
        ("cp314-cp314-manylinux2014_x86_64", False),
        ("cp313-cp313t-manylinux2014_x86_64", False),
        ("cp313-cp313-musllinux_1_2_x86_64", False),
        ("cp313-cp313-manylinux2014_aarch64", False),
        ("cp313-cp313-macosx_11_0_arm64", False),
        ("py2-none-any", False),
    ],
)
def test_row20_platform_tags(tmp_path: Path, tags: str, accepted: bool) -> None:
    found = read_wheel(write(tmp_path, (f"thing-1.2-{tags}.whl", wheel("thing", "1.2")[1])))
    try:
        check_platform(found, "3.13", (2, 28), "x86_64")
    except ReleaseError as error:
        assert error.code == "wheel_platform" and not accepted
    else:
        assert accepted


def test_needed_glibc_is_the_newest_of_each_wheels_oldest(tmp_path: Path) -> None:
    def tagged(tags: str) -> Wheel:
        return read_wheel(write(tmp_path, (f"thing-1.2-{tags}.whl", wheel("thing", "1.2")[1])))

    wide = tagged("cp313-cp313-manylinux_2_28_x86_64.manylinux2014_x86_64")
    assert needed_glibc([wide, tagged("py3-none-any")]) == (2, 17)
    assert needed_glibc([wide, tagged("cp313-cp313-manylinux_2_28_x86_64")]) == (2, 28)


def test_locks_satisfy_pyproject_and_are_complete() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for need in read_plan(ROOT).needs:
        locked = read_lock(ROOT, need)
        check_drift(locked, declared(pyproject, need), need)
        with pytest.raises(ReleaseError, match="lock_drift"):
            check_drift(locked, [*declared(pyproject, need), "not-locked>=1"], need)
        with pytest.raises(ReleaseError, match="lock_drift"):
            check_drift(locked, ["click>=999"], need)


def test_B9_a_lock_with_an_unhashed_line(tmp_path: Path) -> None:
    need = read_plan(ROOT).needs[0]
    with pytest.raises(ReleaseError, match="lock_missing"):
        read_lock(tmp_path, need)
    path = tmp_path / "release" / "locks" / f"{need.lock}.txt"
    path.parent.mkdir(parents=True)
    path.write_text(
        (ROOT / "release/locks" / f"{need.lock}.txt").read_text() + "extra==1.0\n", encoding="ascii"
    )
    with pytest.raises(ReleaseError, match="lock_malformed"):
        read_lock(tmp_path, need)


def test_B11_a_tampered_cache_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, data = wheel("thing", "1.2")
    digest = hashlib.sha256(data).hexdigest()
    wanted = parse_requirements(f"thing==1.2 --hash=sha256:{digest}")
    home = tmp_path / digest
    home.mkdir()
    (home / name).write_bytes(data)
    assert fetch(wanted, read_plan(ROOT), tmp_path) == [home / name]
    (home / name).write_bytes(data + b"x")
    asked: list[str] = []

    def no_index(*arguments: str, code: str) -> None:
        asked.extend([*arguments, code])

    monkeypatch.setattr("release.wheelhouse.run_pip", no_index)
    with pytest.raises(ReleaseError, match="download_failed"):
        fetch(wanted, read_plan(ROOT), tmp_path)
    assert "--require-hashes" in asked and "--only-binary=:all:" in asked


def test_the_plan_names_no_room_that_is_empty() -> None:
    plan = read_plan(ROOT)
    for component in plan.components.values():
        assert (ROOT / component.unit_template).is_file()
        assert set(component.contracts) <= plan.contracts.keys()
    assert set(plan.contracts) == {
        name for component in plan.components.values() for name in component.contracts
    }


@pytest.mark.parametrize("text", ["", "schema: 1", "[]", "a: [", "schema: 1\nunknown: 2"])
def test_a_plan_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "components.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError, match="components_malformed"):
        read_plan(tmp_path)


FILES = st.dictionaries(
    st.text("abc/", min_size=1, max_size=5).map(lambda t: f"f/{t.replace('/', '_')}"), st.binary(max_size=50)
)


@given(FILES, st.integers(315_532_800, 2**32), st.randoms())
def test_the_archives_bytes_depend_on_its_files_alone(
    files: dict[str, bytes], epoch: int, order: object
) -> None:
    entries = {path: Entry(data) for path, data in files.items()}
    shuffled = list(entries.items())
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    packed = pack("top", entries, epoch)
    assert pack("top", dict(shuffled), epoch) == packed
    assert packed[4:8] == b"\0\0\0\0" and packed[3] == 0, "no time and no name in the gzip header"
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            assert (member.uid, member.gid, member.uname, member.gname, member.mtime) == (0, 0, "", "", epoch)
            assert member.mode == 0o644


@pytest.mark.parametrize("path", ["../x", "a b", "caf\u00e9", "x" * 120, "d/" + "y" * 101])
def test_a_file_the_bootstrap_would_refuse_is_refused_at_the_build(path: str) -> None:
    with pytest.raises(ReleaseError, match="member_refused"):
        pack("top", {path: Entry(b"")}, 1_700_000_000)


def test_a_link_in_the_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(ReleaseError, match="member_refused"):
        read_entry(tmp_path / "link")


SOURCE = Source(Path("/nowhere"), "a" * 40, 1_700_000_000, False)


def test_statements_are_the_same_twice_and_name_every_wheel(tmp_path: Path) -> None:
    wheels = [
        read_wheel(write(tmp_path, wheel(name, extra_metadata="License-Expression: MIT\n")))
        for name in ("b", "a")
    ]
    used = {"a": ["controller"], "b": ["controller", "ssh-access"]}
    bom = sbom(wheels, used, SOURCE, "0.1.0")
    assert bom == sbom(wheels[::-1], used, SOURCE, "0.1.0")
    value = json.loads(bom)
    assert (value["bomFormat"], value["specVersion"], value["serialNumber"][:9]) == (
        "CycloneDX",
        "1.5",
        "urn:uuid:",
    )
    assert [component["name"] for component in value["components"]] == ["a", "b"]
    assert value["components"][0]["hashes"] == [{"alg": "SHA-256", "content": wheels[1].sha256}]
    assert value["components"][0]["licenses"] == [{"expression": "MIT"}]
    statement = json.loads(provenance("x.tar.gz", "0" * 64, wheels, SOURCE, "0.1.0"))
    assert statement["subject"] == [{"name": "x.tar.gz", "digest": {"sha256": "0" * 64}}]
    materials = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert materials[0] == {"name": "source", "digest": {"gitCommit": "a" * 40}}
    assert len(materials) == 3


def test_keys_are_never_overwritten_and_a_stale_signature_goes(tmp_path: Path) -> None:
    signers = make_keys(tmp_path / "keys")
    assert (
        signers.read_text(encoding="ascii").count('namespaces="pharos-hpc-release,pharos-hpc-provenance"')
        == 2
    )
    assert (tmp_path / "keys" / "ed25519").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ReleaseError, match="key_exists"):
        make_keys(tmp_path / "keys")
    keys = keys_in(tmp_path / "keys")
    message = tmp_path / "message"
    message.write_bytes(b"message")
    assert len(sign(message, keys, "pharos-hpc-release")) == 2
    (only,) = sign(message, Keys(keys.ed25519, None), "pharos-hpc-release")
    assert only.name == "message.ed25519.sig"
    assert not (tmp_path / "message.ecdsa-p256.sig").exists(), "a signature over other bytes must not stay"
    with pytest.raises(ReleaseError, match="signing_failed"):
        sign(message, Keys(tmp_path / "none", None), "pharos-hpc-release")


def test_compare_names_what_differs(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(pack("top1", {"x": Entry(b"1"), "y": Entry(b"1"), "z": Entry(b"")}, 1_700_000_000))
    second.write_bytes(
        pack("top2", {"x": Entry(b"2"), "y": Entry(b"1", 0o755), "w": Entry(b"")}, 1_700_000_000)
    )
    assert compare(first, first) == []
    assert compare(first, second) == sorted(
        [f"only in {first}: z", f"only in {second}: w", "content: x", "mode: y"]
    )


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def test_a_release_is_built_from_the_commit_not_the_working_tree(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / "kept").write_bytes(b"committed")
    (repository / "tool.sh").write_bytes(b"#!/bin/sh\n")
    (repository / "tool.sh").chmod(0o777)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    assert uncommitted(repository) == 0
    (repository / "kept").write_bytes(b"edited")
    (repository / "stray").write_bytes(b"")
    assert uncommitted(repository) == 2
    before = os.umask(0o000)
    try:
        source = check_out(repository, tmp_path / "clean")
    finally:
        os.umask(before)
    assert sorted(path.name for path in source.folder.iterdir()) == ["kept", "tool.sh"]
    assert (source.folder / "kept").read_bytes() == b"committed"
    assert {path.name: path.stat().st_mode & 0o777 for path in source.folder.iterdir()} == {
        "kept": 0o644,
        "tool.sh": 0o755,
    }
    assert not source.dirty and len(source.revision) == 40
    dirty = check_out(repository, tmp_path / "dirty", dirty=True)
    assert (
        dirty.dirty
        and (dirty.folder / "kept").read_bytes() == b"edited"
        and (dirty.folder / "stray").exists()
    )


def test_no_repository_is_a_clear_refusal(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="source_unavailable"):
        check_out(tmp_path, tmp_path / "clean")


def test_every_code_is_used_and_explained() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "release").glob("*.py"))
    for code, meaning in CODES.items():
        assert meaning
        assert text.count(f'"{code}"') > 1, f"{code} is never raised"
    with pytest.raises(LookupError):
        ReleaseError("invented", found="", wanted="", remedy="")


def test_pips_refusal_is_told_in_its_own_words() -> None:
    with pytest.raises(ReleaseError, match="resolve_failed") as caught:
        run_pip("install", "--dry-run", "--no-index", "no-such-distribution==1", code="resolve_failed")
    assert "no-such-distribution" in caught.value.found


def test_a_tree_without_a_build_is_no_wheel(tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    with pytest.raises(ReleaseError) as caught:
        source = Source(tmp_path, "a" * 40, 1_700_000_000, False)
        build_own_wheel(source, "0.1.0", read_plan(ROOT), tmp_path / "dist")
    assert caught.value.code == "wheel_build_failed" and caught.value.found


def test_B11_a_wheel_whose_record_does_not_match(tmp_path: Path) -> None:
    name, data = wheel("thing", "1.2", modules={"thing.py": "VALUE = 1\n", "other.py": ""})
    path = write(tmp_path, (name, data))
    check_record(path)
    for changes in ({"thing.py": "EVIL = 1\n"}, {"thing.py": None}, {"extra.py": ""}):
        with zipfile.ZipFile(io.BytesIO(data)) as right, zipfile.ZipFile(path, "w") as wrong:
            content = {entry: right.read(entry).decode() for entry in right.namelist()} | changes
            for entry, text in content.items():
                if text is not None:
                    wrong.writestr(entry, text)
        with pytest.raises(ReleaseError) as caught:
            check_record(path)
        assert next(iter(changes)) in caught.value.found


def test_two_builds_may_make_the_development_keys_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "share" / "keys"
    make_keys_once(folder)
    first = (folder / "allowed_signers").read_bytes()
    make_keys_once(folder)
    assert (folder / "allowed_signers").read_bytes() == first
    assert [path.name for path in folder.parent.iterdir()] == ["keys"]

"""The manifest and the requirements: strict in both directions (X4; rows 13, 20; B9, B10, H09, H13)."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from installer.bootstrap.archive import open_verified
from installer.domain.decoding import ManifestError
from installer.domain.manifest import ManifestFile, Override, decode, encode, release_id
from installer.domain.refusal import Refusal
from installer.domain.requirements import (
    RequirementsError,
    match_wheels,
    normalise,
    parse_requirements,
    parse_wheel_name,
)
from tests.installer.archives import COMPONENT, TRUST, Workshop, requirements, wheel


def refused(workshop: Workshop, manifest: bytes | None = None) -> Refusal:
    workshop.write(workshop.items(manifest))
    with pytest.raises(Refusal) as caught:
        open_verified(workshop.archive, allowed_signers=workshop.keys.allowed_signers, trust=TRUST)
    assert caught.value.exit_code == 4
    return caught.value


def test_a_manifest_is_read_as_it_was_written(workshop: Workshop) -> None:
    manifest = workshop.manifest(
        dirty=True, overrides=(Override("foo", "bar<2", "bar==2.1", "bar 2 keeps the call foo uses"),)
    )
    assert decode(encode(manifest)) == manifest
    assert encode(decode(encode(manifest))) == encode(manifest)


def test_release_id_is_version_and_digest12(workshop: Workshop) -> None:
    data = encode(workshop.manifest())
    assert release_id(data, "0.1.0") == f"0.1.0-{hashlib.sha256(data).hexdigest()[:12]}"


@given(st.integers(0, 2**63 - 1), st.text("0123456789abcdef", min_size=64, max_size=64))
def test_any_size_and_digest_survive(size: int, digest: str) -> None:
    entry = ManifestFile("requirements/a.txt", digest, size, 0o644)
    from tests.installer import archives

    files = (entry, ManifestFile("requirements/ssh-access.txt", digest, 1, 0o644))
    unit = ManifestFile("units/pharos-ssh-access.service.j2", digest, 1, 0o644)
    manifest = archives.Workshop.manifest(
        archives.Workshop(None, None),  # type: ignore[arg-type]
        files=(*files, unit),
        controller_requirements="requirements/a.txt",
    )
    assert decode(encode(manifest)) == manifest


Change = Callable[[dict[str, object]], object]


def _files(value: dict[str, object]) -> list[dict[str, object]]:
    files = value["files"]
    assert isinstance(files, list)
    return files


CHANGES: dict[str, Change] = {
    "unknown_key": lambda m: m.update(extra=1),
    "missing_key": lambda m: m.pop("revision"),
    "newer_schema": lambda m: m.update(schema=2),
    "schema_true": lambda m: m.update(schema=True),
    "schema_text": lambda m: m.update(schema="1"),
    "schema_float": lambda m: m.update(schema=1.0),
    "version_two_parts": lambda m: m.update(version="0.1"),
    "version_leading_zero": lambda m: m.update(version="0.01.0"),
    "version_other_digits": lambda m: m.update(version="0.1.\u0661"),
    "version_newline": lambda m: m.update(version="0.1.0\n"),
    "short_revision": lambda m: m.update(revision="abc"),
    "time_without_zone": lambda m: m.update(builtAt="2026-01-02T03:04:05"),
    "time_impossible": lambda m: m.update(builtAt="2026-02-30T03:04:05Z"),
    "mode_unknown": lambda m: m.update(dependencyMode="internet"),
    "other_python": lambda m: m.update(python="3.12"),
    "dirty_text": lambda m: m.update(dirty="yes"),
    "files_object": lambda m: m.update(files={}),
    "file_unknown_key": lambda m: _files(m)[0].update(owner="root"),
    "file_negative_size": lambda m: _files(m)[0].update(size=-1),
    "file_huge_size": lambda m: _files(m)[0].update(size=2**63),
    "file_mode_number": lambda m: _files(m)[0].update(mode=420),
    "file_mode_setuid": lambda m: _files(m)[0].update(mode="4755"),
    "file_mode_other": lambda m: _files(m)[0].update(mode="0600"),
    "file_upper_digest": lambda m: _files(m)[0].update(sha256="A" * 64),
    "file_parent": lambda m: _files(m)[0].update(path="../evil"),
    "file_twice": lambda m: _files(m).append(_files(m)[0]),
    "file_case_twin": lambda m: _files(m).append({**_files(m)[0], "path": "License"}),
    "file_is_the_manifest": lambda m: _files(m).append({**_files(m)[0], "path": "manifest.json"}),
    "files_unsorted": lambda m: _files(m).reverse(),
    "component_null": lambda m: m.update(components={"ssh-access": None}),
    "component_name": lambda m: m.update(components={"../x": {}}),
    "no_controller": lambda m: m.update(controller={}),
    "controller_absent_file": lambda m: m.update(controller={"requirements": "requirements/none.txt"}),
    "contract_without_revision": lambda m: m.update(contracts={}),
    "override_without_reason": lambda m: m.update(
        overrides=[{"package": "a", "field": "b", "recorded": "c"}]
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_X4_manifest_is_refused(workshop: Workshop, name: str) -> None:
    value = json.loads(encode(workshop.manifest()))
    CHANGES[name](value)
    with pytest.raises(ManifestError):
        decode(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("unit", "ssh.service"),
        ("unit", "pharos-ssh-access.socket"),
        ("unit", "pharos-ssh-access.service/../ssh.service"),
        ("unit", "pharos-ssh@access.service"),
        ("unit", "pharos-.service"),
        ("unit", "pharos-ssh-access.service\n"),
        ("user", "root"),
        ("user", "slurm"),
        ("consoleScript", "python"),
        ("consoleScript", "../pharos-x"),
    ],
)
def test_I10_a_component_names_no_unit_user_or_program_of_the_host(
    workshop: Workshop, key: str, value: str
) -> None:
    manifest = json.loads(encode(workshop.manifest()))
    assert key in manifest["components"]["ssh-access"]
    manifest["components"]["ssh-access"][key] = value
    with pytest.raises(ManifestError, match=key):
        decode(json.dumps(manifest).encode())


@pytest.mark.parametrize("name", ["Ssh", "", "a" * 42, "ssh/access", "ssh access", "-x", "1x"])
def test_I10_a_component_has_a_plain_name(workshop: Workshop, name: str) -> None:
    manifest = json.loads(encode(workshop.manifest()))
    manifest["components"][name] = manifest["components"].pop("ssh-access")
    with pytest.raises(ManifestError, match="components"):
        decode(json.dumps(manifest).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"schema":1,"schema":1}',
        b'{"schema":NaN}',
        b'{"schema":-Infinity}',
        b'{"a":"\\ud800"}',
        b'{"a":"\\u0000"}',
        b'{"a":"\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a":"' + b"x" * (9 * 1024 * 1024) + b'"}',
    ],
    ids=lambda data: data[:16].decode("latin-1"),
)
def test_X4_bytes_that_are_no_strict_json(data: bytes) -> None:
    with pytest.raises(ManifestError):
        decode(data)


def test_a_broken_manifest_refuses_the_archive(workshop: Workshop) -> None:
    assert refused(workshop, b"{}").code == "archive_manifest"


def test_no_manifest_refuses_the_archive(workshop: Workshop) -> None:
    workshop.write([item for item in workshop.items() if not item.name.endswith("manifest.json")])
    with pytest.raises(Refusal, match=r"no manifest\.json"):
        open_verified(workshop.archive, allowed_signers=workshop.keys.allowed_signers, trust=TRUST)


def test_a_component_writes_a_schema_it_reads(workshop: Workshop) -> None:
    journal = replace(COMPONENT.journal_schemas, writes=2)
    manifest = workshop.manifest(components={"ssh-access": replace(COMPONENT, journal_schemas=journal)})
    with pytest.raises(ManifestError, match="does not read"):
        decode(encode(manifest))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "click==8.1\n",
        "click==8.1 --hash=sha256:abc\n",
        "click>=8.1 --hash=sha256:" + "0" * 64,
        "click==8.1 --hash=sha512:" + "0" * 128,
        "click==8.1 --hash=sha256:" + "0" * 64 + " --hash=sha256:" + "1" * 64,
        "click==8.1; python_version>'3' --hash=sha256:" + "0" * 64,
        "click[x]==8.1 --hash=sha256:" + "0" * 64,
        "--index-url https://elsewhere.invalid\nclick==8.1 --hash=sha256:" + "0" * 64,
        "-r other.txt",
        "click @ file:///x",
        "click==8.1 --hash=sha256:" + "0" * 64 + "\nClick==8.2 --hash=sha256:" + "1" * 64,
        "click==8.* --hash=sha256:" + "0" * 64,
    ],
)
def test_B9_a_line_that_is_not_pinned_and_hashed(text: str) -> None:
    with pytest.raises(RequirementsError):
        parse_requirements(text)


def test_B9_unhashed_line_refuses_the_archive(workshop: Workshop) -> None:
    workshop.entries["requirements/ssh-access.txt"] += b"click==8.1\n"
    assert refused(workshop).code == "archive_requirements"


def test_row20_extra_wheel(workshop: Workshop) -> None:
    name, data = wheel("unused")
    workshop.entries[f"wheels/{name}"] = data
    assert f"wheels/{name} is in no requirements file" in refused(workshop).found


def test_row20_missing_wheel(workshop: Workshop) -> None:
    del workshop.entries["wheels/Foo.Bar_baz-1.0-py3-none-any.whl"]
    assert "no wheel for foo-bar-baz==1.0" in refused(workshop).found


def test_B10_source_distribution_only(workshop: Workshop) -> None:
    workshop.entries["wheels/foo-1.0.tar.gz"] = b"sdist"
    assert "foo-1.0.tar.gz is not a wheel" in refused(workshop).found


def test_B10_same_version_with_another_hash_names_the_file(workshop: Workshop) -> None:
    name, data = wheel("Foo.Bar-baz", "1.0", modules={"foo.py": "VALUE = 2\n"})
    workshop.entries[f"wheels/{name}"] = data
    assert f"{name} has another hash" in refused(workshop).found


def test_H09_edited_wheel_is_refused_before_pip_could_run(workshop: Workshop) -> None:
    path = "wheels/pharos_hpc-0.1.0-py3-none-any.whl"
    manifest = encode(workshop.manifest())
    workshop.entries[path] = wheel("pharos-hpc", "0.1.0", modules={"pharos_hpc.py": "EVIL = 1\n"})[1]
    assert f"changed: {path}" in refused(workshop, manifest).found


def test_H13_names_are_normalised() -> None:
    assert normalise("Foo.Bar-baz") == normalise("foo__bar.-baz") == "foo-bar-baz"
    name, data = "foo_bar_baz-1.0-py3-none-any.whl", b"x"
    wanted = parse_requirements(requirements({"Foo.Bar_baz-1.0-py3-none-any.whl": data}).decode())
    assert match_wheels(wanted, {name: hashlib.sha256(data).hexdigest()}) == {"foo-bar-baz": name}


def test_H13_misnamed_wheel_is_reported() -> None:
    with pytest.raises(RequirementsError, match="misnamed"):
        parse_wheel_name("foo-bar_baz-1.0-py3-none-any.whl")
    data = hashlib.sha256(b"x").hexdigest()
    wanted = parse_requirements(f"foo==1.0 --hash=sha256:{data}")
    with pytest.raises(RequirementsError, match="misnamed"):
        match_wheels(wanted, {"bar-1.0-py3-none-any.whl": data})

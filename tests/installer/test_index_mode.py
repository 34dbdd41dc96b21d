"""Dependency mode index: one approved HTTPS index, complete hashes, nobody else asked (I4, I5, B08, B10)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from installer.bootstrap.archive import VerifiedArchive, open_verified
from installer.bootstrap.environment import build_environment
from installer.domain.index import Index, index_fault
from installer.domain.manifest import encode
from installer.domain.refusal import Refusal
from tests.installer.archives import TRUST, SigningKeys, Workshop, make_workshop, real_release, wheel
from tests.installer.environment_specs import said_by, spec
from tests.installer.package_index import PackageIndex, certificate, serve

DEPENDENCY = "dependency-2.0-py3-none-any.whl"


@dataclass(frozen=True, slots=True)
class Release:
    """An archive of mode index, and the wheels it does not hold."""

    archive: VerifiedArchive
    missing: dict[str, bytes]


def without_wheels(workshop: Workshop) -> dict[str, bytes]:
    """Take the third parties' wheels out of the release; they are returned."""
    paths = [path for path in workshop.entries if path.startswith("wheels/dependency")]
    return {path.removeprefix("wheels/"): workshop.entries.pop(path) for path in paths}


@contextmanager
def released(workshop: Workshop, *others: tuple[str, bytes]) -> Iterator[Release]:
    real_release(workshop, *(others or (wheel("dependency", "2.0"),)))
    missing = without_wheels(workshop)
    workshop.write(workshop.items(encode(workshop.manifest(dependency_mode="index"))))
    signers = workshop.keys.allowed_signers
    with open_verified(workshop.archive, allowed_signers=signers, trust=TRUST) as archive:
        yield Release(archive, missing)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory, signing_keys: SigningKeys) -> Iterator[Release]:
    with released(make_workshop(tmp_path_factory.mktemp("index-release"), signing_keys)) as made:
        yield made


@pytest.fixture
def index(release: Release, tmp_path: Path) -> Iterator[PackageIndex]:
    with serve(tmp_path, release.missing) as served:
        yield served


def build(release: Release, root: Path, index: PackageIndex | Index | None) -> Path:
    root.mkdir()
    if isinstance(index, PackageIndex):
        index = Index(url=index.url, ca_file=os.fspath(index.authority))
    build_environment(replace(spec(root), index=index, trust=TRUST), release.archive)
    return root / "venv"


def refused(release: Release, root: Path, index: PackageIndex | Index | None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        build(release, root, index)
    assert list(root.iterdir()) == [], "row 9: space is given back"
    return caught.value


def test_I5_the_set_comes_from_the_approved_index_alone(
    release: Release, index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = tmp_path / "pip.conf"
    hostile.write_text("[global]\nextra-index-url = https://elsewhere.invalid/\nno-index = true\n")
    for name, value in {
        "PIP_INDEX_URL": "https://elsewhere.invalid/", "PIP_EXTRA_INDEX_URL": "https://elsewhere.invalid/",
        "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.fspath(hostile), "PIP_CERT": "/nowhere",
        "REQUESTS_CA_BUNDLE": "/nowhere", "SSL_CERT_FILE": "/nowhere", "PIP_TRUSTED_HOST": "127.0.0.1",
        "https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "HOME": os.fspath(tmp_path),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    venv = build(release, tmp_path / "opt", index)
    assert said_by(venv / "bin/pharos-installer")
    assert list(venv.glob("lib/python3.*/site-packages/dependency.py"))
    compiled = list(venv.glob("lib/python3.*/site-packages/__pycache__/dependency.*.pyc"))
    assert compiled and compiled[0].read_bytes()[4:8] == b"\x03\0\0\0"
    assert index.asked == ["/simple/dependency/", f"/files/{DEPENDENCY}"], "ours is never asked for"


def test_I5_B10_other_bytes_under_the_same_name_are_refused(
    release: Release, index: PackageIndex, tmp_path: Path
) -> None:
    index.files[DEPENDENCY] = wheel("dependency", "2.0", modules={"dependency.py": "EVIL = 1\n"})[1]
    error = refused(release, tmp_path / "opt", index)
    assert (error.code, error.exit_code) == ("environment_pip", 6)
    assert "hash" in error.found.lower()


def test_I5_only_wheels_are_taken(release: Release, index: PackageIndex, tmp_path: Path) -> None:
    index.files = {"dependency-2.0.tar.gz": b"no wheel"}
    assert refused(release, tmp_path / "opt", index).code == "environment_pip"
    assert not any(path.endswith(".gz") for path in index.asked)


@pytest.mark.parametrize("what", ["page", "file"])
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_I5_a_redirect_to_another_host_is_not_followed(
    release: Release, index: PackageIndex, tmp_path: Path, what: str, scheme: str
) -> None:
    with serve(tmp_path, release.missing, "other") as other:
        path = "/simple/dependency/" if what == "page" else f"/files/{DEPENDENCY}"
        index.redirects[path] = other.url.replace("https:", f"{scheme}:").removesuffix("/simple/") + path
        error = refused(release, tmp_path / "opt", index)
        assert error.code == "environment_pip" and "not the approved" in error.found
        assert other.asked == []


def test_I5_a_link_to_another_host_is_not_followed(
    release: Release, index: PackageIndex, tmp_path: Path
) -> None:
    with serve(tmp_path, release.missing, "other") as other:
        index.links[DEPENDENCY] = other.url.removesuffix("/simple/") + f"/files/{DEPENDENCY}"
        assert "not the approved" in refused(release, tmp_path / "opt", index).found
        assert other.asked == []


def test_I5_a_redirect_on_the_same_origin_is_the_index_itself(
    release: Release, index: PackageIndex, tmp_path: Path
) -> None:
    index.redirects[f"/files/{DEPENDENCY}"] = f"/files/{DEPENDENCY}?again"
    index.files[f"{DEPENDENCY}?again"] = index.files[DEPENDENCY]
    build(release, tmp_path / "opt", index)


def test_I5_an_index_of_another_authority_is_refused(
    release: Release, index: PackageIndex, tmp_path: Path
) -> None:
    _, stranger = certificate(tmp_path, "stranger")
    error = refused(release, tmp_path / "opt", Index(url=index.url, ca_file=os.fspath(stranger)))
    assert error.code == "environment_pip" and index.asked == []
    assert refused(release, tmp_path / "system", Index(url=index.url)).code == "environment_pip"
    assert index.asked == [], "nor does the system's store vouch for it"


def test_row18_an_authority_that_others_can_change_is_refused(
    release: Release, index: PackageIndex, tmp_path: Path
) -> None:
    index.authority.chmod(0o666)
    assert refused(release, tmp_path / "opt", index).code == "input_writable"
    index.authority.unlink()
    assert refused(release, tmp_path / "absent", index).code == "input_missing"


@pytest.mark.slow
def test_b08_an_incomplete_set_is_refused_here_too(workshop: Workshop, tmp_path: Path) -> None:
    needy = wheel("dependency", "2.0", requires=("absent>=1",))
    with released(workshop, needy) as made, serve(tmp_path, made.missing) as served:
        assert refused(made, tmp_path / "opt", served).code == "environment_incomplete"


def test_I4_mode_and_index_belong_together(release: Release, workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(Refusal) as caught:
        build_environment(spec(tmp_path / "a"), release.archive)
    assert (caught.value.code, caught.value.exit_code) == ("index_missing", 2)
    workshop.write()
    signers = workshop.keys.allowed_signers
    wanted = replace(spec(tmp_path / "a"), index=Index(url="https://x/"))
    with (
        open_verified(workshop.archive, allowed_signers=signers, trust=TRUST) as whole,
        pytest.raises(Refusal) as caught,
    ):
        build_environment(wanted, whole)
    assert (caught.value.code, caught.value.exit_code) == ("index_unwanted", 2)


def test_B10_a_wheel_of_another_hash_in_the_archive_is_refused_in_this_mode_too(workshop: Workshop) -> None:
    real_release(workshop, wheel("dependency", "2.0"))
    path = next(path for path in workshop.entries if path.startswith("wheels/dependency"))
    workshop.entries[path] += b"x"
    workshop.write(workshop.items(encode(workshop.manifest(dependency_mode="index"))))
    with pytest.raises(Refusal, match="another hash"):
        open_verified(workshop.archive, allowed_signers=workshop.keys.allowed_signers, trust=TRUST)


@pytest.mark.parametrize(
    "url",
    [
        "http://packages.example/simple/", "ftp://x/", "https://", "https:///simple/", "packages.example",
        "https://user@x/", "https://user:pw@x/", "https://:@x/", "https://x/?a=b", "https://x/#f", "https://x/?",
        "https://x:0/", "https://x:70000/", "https://x y/", "https://pakete.exämple/", "https://x/\n",
    ],
)  # fmt: skip
def test_I5_what_is_no_approved_index(url: str) -> None:
    assert index_fault(url)


@pytest.mark.parametrize("url", ["https://packages.example/simple/", "https://10.0.0.1:8443/a/b/simple"])
def test_I5_what_is_one(url: str) -> None:
    assert index_fault(url) is None
    assert Index(url="https://packages.example/simple/").origin == "https://packages.example:443"

"""The profile's dependencies section, and the release and the bootstrap beside it (I4, I5)."""

from typing import Any

import pytest

from installer.bootstrap.environment import EnvironmentSpec
from installer.domain.index import Index
from installer.domain.manifest import DependencyMode, encode
from installer.domain.profile import Profile, parse_profile
from installer.domain.refusal import Refusal
from installer.phases.checks_host import release_finding
from installer.steps import release_tree
from tests.installer.archives import Workshop
from tests.installer.offering import PYTHON, build_stand_in, offer
from tests.installer.rig import PROFILE, Rig

URL = "https://packages.example/simple/"


def read(**section: str) -> Profile:
    return parse_profile({**PROFILE, **({"dependencies": section} if section else {})})


def test_I5_without_the_section_the_release_holds_its_wheels() -> None:
    assert read().dependencies.index is None
    assert read(mode="wheelhouse").dependencies.index is None


def test_I5_an_index_is_named_with_its_authority_and_recorded() -> None:
    profile = read(mode="index", index_url=URL, ca_file="/etc/ssl/index.crt")
    index = profile.dependencies.index
    assert index is not None and (index.url, index.ca_file) == (URL, "/etc/ssl/index.crt")
    assert profile.recorded_inputs("ssh-access")["dependencies.index_url"] == URL
    assert "dependencies.index_url" not in read().recorded_inputs("ssh-access")


@pytest.mark.parametrize(
    "section",
    [
        {"mode": "index"},
        {"mode": "index", "index_url": "http://packages.example/"},
        {"mode": "index", "index_url": "https://me:hunter2@packages.example/"},
        {"mode": "index", "index_url": "https://packages.example/?token=hunter2"},
        {"mode": "index", "index_url": URL, "ca_file": "index.crt"},
        {"mode": "wheelhouse", "index_url": URL},
        {"mode": "wheelhouse", "ca_file": "/etc/ssl/index.crt"},
        {"mode": "internet"},
        {"mode": "index", "index_url": URL, "extra_index_url": URL},
    ],
)
def test_I5_any_other_section_is_refused_unquoted(rig: Rig, section: dict[str, str]) -> None:
    rig.profile(dependencies=section)
    result = rig.run("validate")
    assert result.code == 2 and "hunter2" not in result.stderr + result.stdout
    if "unknown" not in result.stderr and section["mode"] != "internet":
        with pytest.raises(Refusal, match="dependencies") as caught:
            read(**section)
        assert "packages.example" not in str(caught.value)


@pytest.mark.parametrize("mode", ["wheelhouse", "index"])
def test_I4_a_release_of_the_other_mode_is_refused(workshop: Workshop, mode: DependencyMode) -> None:
    manifest = workshop.manifest(dependency_mode=mode)
    profiles = {"wheelhouse": read(), "index": read(mode="index", index_url=URL)}
    found = {name: release_finding(profile, manifest).status for name, profile in profiles.items()}
    assert found.pop(mode) == "pass" and set(found.values()) == {"fail"}


def test_I5_install_builds_with_the_profiles_index_whose_authority_is_the_hosts(
    rig: Rig, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[EnvironmentSpec] = []

    def record(spec: EnvironmentSpec, *arguments: Any, **options: Any) -> None:
        built.append(spec)
        build_stand_in(spec, *arguments, **options)

    monkeypatch.setattr(release_tree, "build_environment", record)
    rig.fake.programs["python3.13"] = PYTHON
    manifest = encode(workshop.manifest(dependency_mode="index"))
    offer(rig, workshop, workshop.items(manifest))
    assert "dependency mode index" in rig.run("install").stderr, "the profile is of mode wheelhouse still"
    rig.profile(dependencies={"mode": "index", "index_url": URL, "ca_file": "/etc/ssl/index.crt"})
    result = rig.run("install")
    assert result.code == 0, result
    (spec,) = built
    assert spec.index == Index(url=URL, ca_file=str(rig.paths.at("/etc/ssl/index.crt")))
    assert spec.trust == rig.paths.trust


def test_I4_install_sh_named_another_index_than_the_profile(rig: Rig) -> None:
    rig.profile(dependencies={"mode": "index", "index_url": URL})
    rig.environment["PHAROS_INDEX_URL"] = "https://other.example/simple/"
    result = rig.run("preflight")
    assert result.code == 2 and "index_other" in result.stderr
    assert "example" not in result.stderr
    rig.environment["PHAROS_INDEX_URL"] = URL
    assert "index_other" not in rig.run("preflight").stderr

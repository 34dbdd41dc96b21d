"""The runtime's part of a profile: there exactly with the component, the approval recorded, read back by the
bundle; its unit and settings as they are rendered (I3, I4, I9, S4, S12, X6).
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from installer.domain.profile import Profile, parse_profile
from installer.domain.refusal import Refusal
from installer.domain.settings import SETTINGS, environment_file
from installer.host.yaml_input import check_yaml
from site_bundle.kernel.settings import read_environment_file
from site_bundle.runtime.settings import TABLE, runtime_settings
from tests.installer.rig import Rig, runtime_profile
from tests.installer.runtime_rig import RUNTIME_UNIT, make_running

PROFILES = Path(__file__).parents[2] / "profiles"
UNITS = Path(__file__).parents[2] / "units"


def read(document: dict[str, Any]) -> Profile:
    """As the installer reads a profile file: JSON is YAML."""
    data = json.dumps(document).encode()
    return parse_profile(check_yaml(data, what="profile", schema="profile.schema.json"))


def put(dotted: str, value: object) -> dict[str, Any]:
    document = runtime_profile()
    *path, last = dotted.split(".")
    place = document
    for key in path:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


def refused(document: dict[str, Any], code: str) -> str:
    with pytest.raises(Refusal) as caught:
        read(document)
    refusal = caught.value
    assert refusal.code == code and refusal.exit_code == 2, refusal.found
    assert refusal.wanted and refusal.remedy
    return refusal.found


def test_a_profile_with_the_runtime_alone_is_read_whole() -> None:
    profile = read(runtime_profile()).for_runtime
    assert profile.section.grants_root == "/scratch/pharos/.runtime"
    assert profile.section.supplementary_group == "pharos-users"
    assert profile.slurm.capacity is None


@pytest.mark.parametrize("name", ["icarus-hpc", "laboratory"])
def test_i9_the_examples_hold_the_runtime(name: str) -> None:
    data = (PROFILES / f"{name}.yaml").read_bytes()
    profile = parse_profile(check_yaml(data, what="profile", schema="profile.schema.json"))
    assert "runtime" in profile.components and profile.for_runtime.section.staging.partition == "staging"
    # Nothing is taken as approved that nobody approved (S4).
    assert profile.for_runtime.section.supplementary_group == ("" if name == "icarus-hpc" else "pharos-users")
    assert yaml.safe_load(data)["runtime"]["scratch"] == "/scratch/pharos"


@pytest.mark.parametrize(
    "key",
    ["slurm", "runtime", *(f"runtime.{name}" for name in (
        "staging", "compute", "scratch", "members_group", "repository", "member_tokens", "staging.internet",
        "staging.internet.by", "staging.max_time_seconds", "members_group.name",
    ))],
)  # fmt: skip
def test_i3_each_section_is_asked_for_with_the_runtime(key: str) -> None:
    found = refused(put(key, None), "schema_mismatch")
    assert f"'{key.rpartition('.')[2]}' is missing" in found


@pytest.mark.parametrize("key", ["slurm", "runtime"])
def test_i3_no_section_stands_there_without_the_runtime(key: str) -> None:
    document = {**runtime_profile(), "components": ["ssh-access"]}
    del document["slurm" if key == "runtime" else "runtime"]
    assert f"$.{key} has no place" in refused(document, "schema_mismatch")
    with pytest.raises(Refusal, match=key):
        parse_profile(document)


def test_the_typed_profile_says_the_same_without_the_schema() -> None:
    with pytest.raises(Refusal, match="runtime: absent"):
        parse_profile(put("runtime", None))


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("runtime.staging.partition", "stag ing", "schema_mismatch"),
        ("runtime.staging.partition", "--all", "schema_mismatch"),
        ("runtime.staging.partition", "staging\n", "schema_mismatch"),
        ("runtime.staging.max_time_seconds", -1, "schema_mismatch"),
        ("runtime.compute.max_time_seconds", "1-00:00:00", "schema_mismatch"),
        ("runtime.staging.internet.nodes", "", "schema_mismatch"),
        ("runtime.staging.internet.by", "", "schema_mismatch"),
        ("runtime.staging.internet.date", "2026-02-30", "profile_invalid"),
        ("runtime.staging.internet.date", "yesterday", "schema_mismatch"),
        ("runtime.members_group.name", "Pharos Users", "schema_mismatch"),
        ("runtime.members_group.approved", {"by": "somebody"}, "schema_mismatch"),
        ("runtime.members_group.approved", {"by": "somebody", "date": "2026-13-01"}, "profile_invalid"),
        ("runtime.members_group.approved", True, "schema_mismatch"),
        ("runtime.scratch", "scratch", "schema_mismatch"),
        ("runtime.scratch", "/scratch/../etc", "profile_invalid"),
        ("runtime.repository.hosts", [], "schema_mismatch"),
        ("runtime.repository.hosts", ["https://git.lab.test"], "schema_mismatch"),
        ("runtime.repository.hosts", ["git.lab.test:99999"], "profile_invalid"),
        ("runtime.repository.ca_file", "ca.crt", "profile_invalid"),
        ("runtime.member_tokens.user_claim", "a claim", "schema_mismatch"),
        ("runtime.member_tokens.jwks_file", "jwks.json", "profile_invalid"),
        ("runtime.graces", {"lookup_seconds": 0}, "schema_mismatch"),
        ("runtime.graces", {"lookup_seconds": 900, "missing_seconds": 60}, "profile_invalid"),
        ("runtime.graces", {"patience": 1}, "schema_mismatch"),
        ("slurm.commands", "bin", "schema_mismatch"),
    ],
)  # fmt: skip
def test_what_the_section_may_not_say(key: str, value: object, code: str) -> None:
    assert key.partition(".")[0] in refused(put(key, value), code)


def test_i4_an_activation_records_partitions_scratch_group_and_hosts() -> None:
    recorded = read(runtime_profile()).recorded_inputs("runtime")
    wanted = {"staging.partition", "compute.partition", "scratch", "members_group.name", "repository.hosts"}
    assert {f"runtime.{name}" for name in wanted} <= set(recorded)
    assert recorded["site_api.url"] and recorded["slurm.cluster"] == "icarus"


def test_x6_s12_the_settings_file_is_read_back_by_the_bundle(tmp_path: Path) -> None:
    document = put("runtime.graces", {"lookup_seconds": 20, "requeue_seconds": 10, "missing_seconds": 30})
    document["runtime"]["repository"]["ca_file"] = "/etc/pharos-hpc/git-ca.crt"
    path = tmp_path / "runtime.env"
    path.write_text(environment_file("runtime", read(document)))
    found = read_environment_file(path)
    assert list(found) == [setting.name for setting in SETTINGS["runtime"]]
    # What is not rendered is the credential, and the folders systemd names.
    left = {setting.name for setting in TABLE} - set(found)
    assert left == {
        "PHAROS_SITE_API_TOKEN", "PHAROS_RUNTIME_STATE_DIRECTORY", "PHAROS_RUNTIME_RUNTIME_DIRECTORY"
    }  # fmt: skip
    settings = runtime_settings({**found, "PHAROS_SITE_API_TOKEN": "x" * 40})
    assert settings.grants_root == Path("/scratch/pharos/.runtime") and not settings.observe
    assert settings.repository_ca == Path("/etc/pharos-hpc/git-ca.crt")
    assert (settings.graces.lookup, settings.graces.missing) == (timedelta(seconds=20), timedelta(seconds=30))


def test_s12_without_graces_the_bundles_defaults_are_rendered() -> None:
    graces = read(runtime_profile()).for_runtime.section.graces
    defaults = {setting.name: setting.default for setting in TABLE}
    for name in ("lookup", "requeue", "missing"):
        assert getattr(graces, f"{name}_seconds") == defaults[f"PHAROS_RUNTIME_{name.upper()}_SECONDS"]


@pytest.mark.parametrize("approved", [True, False])
def test_s4_the_unit_has_the_members_group_only_with_the_approval(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, approved: bool
) -> None:
    """Without it nothing is activated at all; the unit that would be is rendered without the group."""
    running = make_running(rig, monkeypatch)
    template = (UNITS / f"{RUNTIME_UNIT}.j2").read_bytes()
    release = rig.release("0.2.0", components=("runtime",), template=template)
    if not approved:
        running.profile(lambda document: document["runtime"]["members_group"].pop("approved"))
    result = running.activate(release)
    unit = rig.paths.at(f"/etc/systemd/system/{RUNTIME_UNIT}")
    if not approved:
        assert result.code == 3 and "runtime.members-group" in result.stderr and not unit.exists()
        return
    assert result.code == 0, result.stderr
    lines = unit.read_text().splitlines()
    assert "SupplementaryGroups=pharos-users" in lines and "ReadWritePaths=/scratch/pharos/.runtime" in lines
    token = "LoadCredential=site-api-token:/etc/pharos-hpc/credentials/runtime/site-api-token"
    assert token in lines
    settings = rig.paths.at("/etc/pharos-hpc/runtime.env").read_text()
    assert 'PHAROS_RUNTIME_STAGING_PARTITION="staging"' in settings

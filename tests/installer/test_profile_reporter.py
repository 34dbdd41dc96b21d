"""The reporter's part of a profile: there exactly with the component, origins apart, loopback alone (I8, I16,
I18, I20, X3).
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from installer.domain.profile import Profile, parse_profile
from installer.domain.refusal import Refusal
from installer.domain.settings import SETTINGS, environment_file
from installer.host.yaml_input import check_yaml
from site_bundle.kernel.settings import read_environment_file
from site_bundle.reporter.settings import reporter_settings
from tests.installer.rig import PROFILE, REPORTER_SECTIONS, reporter_profile

SECRET = "hunter2-very-secret"
KEYS = (*REPORTER_SECTIONS, "ldap.agent")


def read(document: dict[str, Any]) -> Profile:
    """As the installer reads a profile file: JSON is YAML."""
    data = json.dumps(document).encode()
    return parse_profile(check_yaml(data, what="profile", schema="profile.schema.json"))


def refused(document: dict[str, Any], code: str = "profile_invalid") -> str:
    with pytest.raises(Refusal) as caught:
        read(document)
    refusal = caught.value
    assert refusal.code == code and refusal.exit_code == 2, refusal.found
    assert refusal.wanted and refusal.remedy and SECRET not in str(refusal)
    return refusal.found


def drop(document: dict[str, Any], dotted: str) -> dict[str, Any]:
    *path, last = dotted.split(".")
    place = document
    for key in path:
        place = place[key]
    del place[last]
    return document


def put(dotted: str, value: object) -> dict[str, Any]:
    document = reporter_profile()
    *path, last = dotted.split(".")
    place = document
    for key in path:
        place = place[key]
    place[last] = value
    return document


def test_a_profile_with_both_components_is_read_whole() -> None:
    profile = read(reporter_profile())
    assert profile.reporter.agent.url == "ldap://127.0.0.1:389"
    assert profile.reporter.slurm.commands == "/usr/bin"
    assert profile.reporter.site_agent_modes == ("report",) and profile.reporter.event_process == "none"


@pytest.mark.parametrize("key", KEYS)
def test_i16_every_section_is_asked_for_with_the_reporter(key: str) -> None:
    found = refused(drop(reporter_profile(), key), "schema_mismatch")
    assert f"'{key.rsplit('.', maxsplit=1)[-1]}' is missing" in found


@pytest.mark.parametrize("key", KEYS)
def test_i3_no_section_stands_there_without_the_reporter(key: str) -> None:
    document = reporter_profile()
    document["components"] = ["ssh-access"]
    for other in set(KEYS) - {key}:
        drop(document, other)
    assert f"$.{key} has no place" in refused(document, "schema_mismatch")


def test_the_typed_profile_says_the_same_without_the_schema() -> None:
    for document, told in (
        (drop(reporter_profile(), "waldur"), "waldur"),
        (drop(reporter_profile(), "ldap.agent"), "ldap.agent"),
        ({**reporter_profile(), "components": ["ssh-access"]}, "intake"),
    ):
        with pytest.raises(Refusal) as caught:
            parse_profile(document)
        assert caught.value.code == "profile_invalid" and told in caught.value.found


def test_i16_report_is_among_the_modes_and_events_are_said_explicitly() -> None:
    assert "report" in refused(put("site_agent_modes", ["membership_sync"]), "schema_mismatch")
    refused(put("site_agent_modes", []), "schema_mismatch")
    refused(put("site_agent_modes", ["report", "everything"]), "schema_mismatch")
    refused(put("event_process", ""), "schema_mismatch")
    refused(put("event_process", None), "schema_mismatch")
    assert read(put("event_process", "stomp")).reporter.event_process == "stomp"
    with pytest.raises(Refusal, match="site_agent_modes"):
        parse_profile(put("site_agent_modes", ["membership_sync"]))


@pytest.mark.parametrize(
    ("key", "url"),
    [
        ("intake.url", "https://vm.lab.test:9443"),
        ("intake.url", "https://VM.lab.test."),
        ("waldur.api_url", "https://vm.lab.test:8446/api/"),
        ("waldur.api_url", "https://intake.lab.test/api/"),
    ],
)
def test_i18_two_origins_never_share_a_host(key: str, url: str) -> None:
    assert "site_api.url, intake.url, waldur.api_url" in refused(put(key, url))


@pytest.mark.parametrize(
    "url",
    [
        "ldap://directory.example:389",
        "ldap://127.0.0.2",
        "ldap://localhost",
        "ldaps://127.0.0.1",
        "ldapi://%2Frun%2Fslapd%2Fldapi",
        "ldap://127.0.0.1:0",
        "ldap://127.0.0.1:99999",
        "ldap://127.0.0.1/dc=example",
        "ldap://127.0.0.1:389@directory.example",
        "ldap://cn=agent@127.0.0.1",
    ],
)
def test_i8_a_password_without_tls_never_leaves_the_host(url: str) -> None:
    document = put("ldap.agent.url", url)
    with pytest.raises(Refusal) as caught:
        read(document)
    assert caught.value.code in {
        "profile_invalid",
        "schema_mismatch",
        "inline_secret",
    } and "ldap.agent.url" in str(caught.value.found)


@pytest.mark.parametrize(
    "url", ["ldap://127.0.0.1", "ldap://127.0.0.1:1389", "ldap://[::1]:389", "ldap://127.0.0.1/"]
)
def test_i8_loopback_is_taken(url: str) -> None:
    assert read(put("ldap.agent.url", url)).reporter.agent.url == url


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("intake.url", "http://intake.lab.test", "schema_mismatch"),
        ("intake.url", "https://intake.lab.test/resource-provisioning", "profile_invalid"),
        ("waldur.api_url", "https://waldur.lab.test/", "schema_mismatch"),
        ("waldur.api_url", "https://waldur.lab.test/api/?token=x/api/", "profile_invalid"),
        ("waldur.api_url", "https:///api/", "profile_invalid"),
        ("waldur.ca_file", "ca.crt", "profile_invalid"),
        ("waldur.offering_uuid", "the offering", "schema_mismatch"),
        ("waldur.instance", "", "schema_mismatch"),
        ("slurm.capacity", {}, "schema_mismatch"),
        ("slurm.capacity", {"node-hours": 5}, "schema_mismatch"),
        ("slurm.capacity", {"cpu": 0, "memory": 1}, "schema_mismatch"),
        ("slurm.capacity", {"cpu": 1.5, "memory": 1}, "schema_mismatch"),
        ("slurm.capacity", {"cpu": 2**63, "memory": 1}, "schema_mismatch"),
        ("slurm.capacity", {"cpu": 16000}, "profile_invalid"),
        ("slurm.capacity", {"cpu": 16000, "memory": 1, "storage": 1}, "schema_mismatch"),
        ("slurm.cluster", "icarus; true", "schema_mismatch"),
        ("slurm.cluster", "--help", "schema_mismatch"),
        ("slurm.parent_account", "a,b", "schema_mismatch"),
        ("slurm.commands", "/usr/../bin", "profile_invalid"),
        ("gid_range", {"min": 5600000, "max": 5500000}, "profile_invalid"),
        ("ldap.agent.bind_dn", "pharos-agent", "profile_invalid"),
        ("ldap.agent.groups_base", "groups", "profile_invalid"),
    ],
)
def test_x3_i18_what_the_sections_may_not_say(key: str, value: object, code: str) -> None:
    assert "node" not in refused(put(key, value), code)


def test_x5_an_inline_secret_is_refused_by_its_place() -> None:
    for key in ("ldap.agent.password", "waldur.token", "intake.api_key"):
        assert key in refused(put(key, SECRET), "inline_secret")
    assert "intake.url" in refused(put("intake.url", f"https://me:{SECRET}@intake.lab.test"), "inline_secret")


def test_i4_each_component_records_its_own_inputs() -> None:
    profile = read(reporter_profile())
    access, reporter = profile.recorded_inputs("ssh-access"), profile.recorded_inputs("reporter")
    assert access == read(PROFILE).recorded_inputs("ssh-access")
    assert {"waldur.offering_uuid", "slurm.parent_account", "ldap.agent.bind_dn"} <= set(reporter) - set(
        access
    )


def environment(write: Callable[[str], Any], profile: Profile) -> dict[str, str]:
    return read_environment_file(write(environment_file("reporter", profile)))


def test_x6_the_settings_file_is_read_back_by_the_bundle(tmp_path: Any) -> None:
    path = tmp_path / "reporter.env"

    def write(text: str) -> Any:
        path.write_text(text)
        return path

    found = environment(write, read(reporter_profile()))
    assert list(found) == [setting.name for setting in SETTINGS["reporter"]]
    assert json.loads(found["PHAROS_REPORTER_CAPACITY"]) == {
        "cpu": 16000,
        "gpu.gh200": 2,
        "memory": 16777216000,
    }
    assert found["PHAROS_REPORTER_SITE"] == "slurm" and found["PHAROS_REPORTER_MODE"] == "apply"
    assert not [name for name in found if name.endswith(("_KEY", "_TOKEN", "_PASSWORD"))]
    assert all("$" not in value for value in found.values())
    secrets = {
        f"PHAROS_{name}": "x" * 32 for name in ("INTAKE_KEY", "WALDUR_TOKEN", "REPORTER_LDAP_PASSWORD")
    }
    settings = reporter_settings({**found, **secrets})
    assert settings.policy.parent_account == "pharos" and not settings.observe


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("slurm.cluster", "icarus\n"),
        ("slurm.parent_account", "pharos\n"),
        ("slurm.parent_account", "pharos\u0664"),
        ("slurm.commands", "/usr/bin\n"),
        ("waldur.api_url", "https://waldur.lab.test/api/\n"),
        ("waldur.offering_uuid", "00000000000040008000000000000306\n"),
        ("waldur.offering_uuid", "\uff10" * 32),
        ("waldur.instance", "waldur.lab.test\n"),
        ("name", "icarus-hpc\n"),
        ("site", "slurm\n"),
    ],
)
def test_e21_d13_a_last_line_end_is_part_of_a_text(key: str, text: str) -> None:
    """Python's ``$`` stands before it too, and its digits are of every script; a JSON Schema's are not."""
    assert f"$.{key} " in refused(put(key, text), "schema_mismatch")


@pytest.mark.parametrize("number", ["1_600", "0x10", "0o17", "012", "1:30", "+5", "16000.0", "1.6e4", "１２"])
def test_d12_d13_a_number_of_yaml_is_plain_digits(number: str) -> None:
    """What YAML 1.1 reads as 1600, 16, 15, 10 and 90 is a text here."""
    text = json.dumps(reporter_profile())
    assert text.count('"cpu": 16000') == 1
    with pytest.raises(Refusal, match=r"slurm\.capacity\.cpu"):
        check_yaml(
            text.replace('"cpu": 16000', f'"cpu": {number}').encode(),
            what="profile",
            schema="profile.schema.json",
        )


@pytest.mark.parametrize("name", ["cn=it's,dc=e", 'cn="a",dc=e', "cn=$HOME,dc=e", "cn=a\\,dc=e"])
def test_a_value_that_cannot_stand_in_an_environment_file_is_refused(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        environment_file("reporter", read(put("ldap.agent.bind_dn", name)))
    assert caught.value.code == "setting_unquotable"

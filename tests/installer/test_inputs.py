"""What is refused of the hand-off, before any change and without quoting it (rows 17, 18, 38; H22; I20)."""

import json
from pathlib import Path

import pytest

from installer.domain.refusal import Refusal
from installer.domain.times import format_time, parse_time
from installer.host.yaml_input import check_yaml
from installer.schemas.__main__ import main as schemas
from tests.installer.rig import PROFILE, TOKEN, Rig

SECRET = "hunter2-very-secret"
LDAP = PROFILE["ldap"]
assert isinstance(LDAP, dict)


def refused(rig: Rig, code: str, *, exit_code: int = 2) -> str:
    """Every phase that reads the hand-off says ``code`` and changes nothing."""
    release = rig.release("9.9.9")
    before = rig.snapshot()
    for phase in (("preflight",), ("install",), ("validate", "--release", release)):
        assert rig.run(*phase).code == exit_code
    result = rig.activate(release)
    assert result.code == exit_code and code in result.stderr, result
    assert rig.snapshot() == before
    return result.stderr


def profile_text(rig: Rig, text: str) -> None:
    rig.write("/etc/pharos-hpc/profile.yaml", text)


def test_the_shipped_profiles_are_right_and_their_tables_current() -> None:
    from installer.domain.profile import parse_profile

    profiles = Path(__file__).parents[2] / "profiles"
    for name in ("icarus-hpc", "laboratory"):
        data = (profiles / f"{name}.yaml").read_bytes()
        parsed = parse_profile(check_yaml(data, what=name, schema="profile.schema.json"))
        assert parsed.laboratory == (name == "laboratory")
    assert schemas(["--check"]) == 0


def test_row_17_h22_a_linked_profile_is_refused(rig: Rig) -> None:
    path = rig.paths.at("/etc/pharos-hpc/profile.yaml")
    real = path.rename(path.with_name("real.yaml"))
    path.symlink_to(real)
    refused(rig, "input_link", exit_code=4)


def test_row_17_a_linked_parent_is_refused(rig: Rig) -> None:
    folder = rig.paths.at("/etc/pharos-hpc")
    real = folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(real)
    refused(rig, "input_link", exit_code=4)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_row_18_an_input_others_can_write_is_refused_with_the_remedy(rig: Rig, mode: int) -> None:
    rig.paths.at("/etc/pharos-hpc/profile.yaml").chmod(mode)
    assert "chmod go-w" in refused(rig, "input_writable", exit_code=4)


def test_row_18_a_folder_others_can_write_is_refused(rig: Rig) -> None:
    rig.paths.at("/etc/pharos-hpc").chmod(0o777)
    refused(rig, "input_writable", exit_code=4)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n",
        "a: &x 1\nb: *x\n",
        "a: !!python/object:os.system x\n",
        "<<: {a: 1}\n",
        "a: [1\n",
        "- 1\n",
        "",
        "a: \0\n",
        "a: 1\n---\nb: 2\n",
        "a: " + "[" * 50 + "]" * 50 + "\n",
        "? [1, 2]\n: 3\n",
    ],
    ids=["twice", "alias", "tag", "merge", "broken", "list", "empty", "nul", "two", "deep", "key"],
)
def test_h22_only_one_plain_mapping_is_read(rig: Rig, text: str) -> None:
    profile_text(rig, text)
    refused(rig, "yaml_invalid")


def test_yaml_of_another_encoding_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        check_yaml(b"a: \xff\n", what="profile", schema="profile.schema.json")
    assert caught.value.code == "yaml_invalid"


def test_norway_is_text_and_dates_are_text() -> None:
    text = "schema: 1\nprofile: no\ncredentials: 2026-01-01\nallowed_signers: on\nevidence_signers: 0x10\n"
    with pytest.raises(Refusal) as caught:
        check_yaml(text.encode(), what="c", schema="site-config.schema.json")
    assert caught.value.code == "schema_mismatch" and "pattern" in caught.value.found


@pytest.mark.parametrize(
    "extra",
    [
        {"token": SECRET},
        {"site_api": {"url": "https://h", "ca_file": "", "api_key": SECRET}},
        {"site_api": {"url": f"https://user:{SECRET}@h"}},
        {"name": TOKEN},
        {"waivers": [{"check": "x", "reason": f"Bearer {SECRET}", "until": "x", "by": "y"}]},
        {"name": "-----BEGIN OPENSSH PRIVATE KEY-----"},
    ],
)
def test_row_38_h22_an_inline_secret_is_refused_and_never_echoed(rig: Rig, extra: dict[str, object]) -> None:
    rig.profile(**extra)
    told = refused(rig, "inline_secret")
    logged = "".join(path.read_text() for path in rig.paths.log.glob("*")) if rig.paths.log.exists() else ""
    for secret in (SECRET, TOKEN, "PRIVATE KEY"):
        assert secret not in told + logged


@pytest.mark.parametrize(
    "change",
    [
        {"unknown_key": 1},
        {"schema": 2},
        {"kind": "staging"},
        {"uid_range": {"min": "5000000", "max": 5499999}},
        {"uid_range": {"min": True, "max": 5499999}},
        {"components": []},
        {"site_api": {}},
        {"architecture": "aarch64"},
    ],
)
def test_h22_what_the_schema_does_not_know_is_refused_by_its_place(
    rig: Rig, change: dict[str, object]
) -> None:
    rig.profile(**change)
    assert "$" in refused(rig, "schema_mismatch")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("site_api:", "site_apl:", ["line 7: unknown key 'site_apl' at $", "Did you mean site_api?"]),
        (
            "kind: laboratory",
            "kind: labratory",
            ["line 3: $.kind", "production, laboratory", "mean laboratory"],
        ),
        ("  max: 5", "  maximum: 5", ["line 12: unknown key 'maximum' at $.uid_range", "one of min, max"]),
        ("min: 5000000", "min: many", ["line 11: $.uid_range.min is not of type integer", "lowest"]),
        ("name: l", "name: L", ["line 2: $.name is not within pattern", "the site's id"]),
        ("schema: 1\n", "schema: 2\n", ["line 1: $.schema is not within const 1", "$.schema: 1, version"]),
        ("name: laboratory-hpc\n", "", ["key 'name' is missing at $", "$.name: the site's id"]),
    ],
)
def test_i3_a_mistake_is_told_with_line_allowed_words_and_what_was_meant(
    rig: Rig, old: str, new: str, told: list[str]
) -> None:
    import yaml

    text = yaml.safe_dump(PROFILE, sort_keys=False)
    assert text.count(old) >= 1
    profile_text(rig, text.replace(old, new, 1))
    said = refused(rig, "schema_mismatch")
    for words in told:
        assert words in said
    assert "labratory" not in said and "many" not in said, "a value is never quoted"


def test_i3_all_mistakes_are_told_at_once_and_bounded(rig: Rig) -> None:
    rig.profile(kind="x", architecture="y", **{f"z{number}": 1 for number in range(9)})
    said = refused(rig, "schema_mismatch")
    assert said.count("line 1:") == 5 and "and 6 more" in said


def access(**changes: object) -> dict[str, object]:
    assert isinstance(LDAP, dict)
    return {"ldap": {"ssh_access": {**LDAP["ssh_access"], **changes}}}


@pytest.mark.parametrize(
    "change",
    [
        {"site_api": {"url": "https://host/path"}},
        {"site_api": {"url": "https://"}},
        {"site_api": {"url": "https://host:0"}},
        {"site_api": {"url": "https://host:99999"}},
        {"uid_range": {"min": 6000000, "max": 5000000}},
        {"name": "slurm"},
        access(socket="/run/../etc/ldapi"),
        access(socket="/run/slapd:389/ldapi"),
        access(identity="pharos-ssh-access"),
        access(probe_entry="uid=alice,ou=staff,dc=icarus,dc=example"),
        {"python": "/usr/bin/../bin/python3.13"},
    ],
    ids=[
        "path",
        "no-host",
        "port-0",
        "port",
        "range",
        "p32-site",
        "dots",
        "i8-port",
        "no-dn",
        "i9-probe",
        "python",
    ],
)
def test_i8_i9_i18_p32_what_a_profile_may_not_say(rig: Rig, change: dict[str, object]) -> None:
    rig.profile(**change)
    refused(rig, "profile_invalid")


def waiver(check: str, until: str = "2027-01-01T00:00:00Z") -> dict[str, object]:
    return {"waivers": [{"check": check, "reason": "known", "until": until, "by": "operator"}]}


@pytest.mark.parametrize("check", ["all", "disk.everything"])
def test_i20_there_is_no_waiver_for_all(rig: Rig, check: str) -> None:
    rig.profile(**waiver(check))
    refused(rig, "waiver_unknown")


@pytest.mark.parametrize(
    "check", ["evidence", "ldap.identity", "identity.unprivileged", "release.sealed", "host.libc"]
)
def test_i20_some_checks_are_never_waived(rig: Rig, check: str) -> None:
    rig.profile(**waiver(check))
    refused(rig, "waiver_forbidden")


def test_x2_a_waiver_without_a_real_end_is_refused(rig: Rig) -> None:
    rig.profile(**waiver("disk.space", until="2027-02-30T00:00:00Z"))
    refused(rig, "time_malformed")


def test_i20_a_waiver_shows_in_the_result_until_it_is_over(rig: Rig) -> None:
    release = rig.release("0.1.0")
    rig.profile(**waiver("site-api.tls"))
    from installer.host.https import Unanswered
    from tests.installer.fixtures import ANSWERS

    kept, ANSWERS.grant = ANSWERS.grant, Unanswered(why="no route", definite=False)
    try:
        allowed = rig.run("validate", "--release", release)
        assert allowed.code == 0 and "waived  site-api.tls" in allowed.stderr and "operator" in allowed.stderr
        told = rig.run("validate", "--release", release, "--json").events[-1]
        checks = told["checks"]
        assert isinstance(checks, dict) and checks["waived"][0]["check"] == "site-api.tls"
        assert told["laboratory"] is True
        rig.profile(**waiver("site-api.tls", until="2026-05-31T00:00:00Z"))
        over = rig.run("validate", "--release", release)
        assert over.code == 3 and "is over" in over.stderr
    finally:
        ANSWERS.grant = kept


@pytest.mark.parametrize("line", ["profile: ../x", "credentials: relative", "profile: /a//b"])
def test_a_site_configuration_names_absolute_paths(rig: Rig, line: str) -> None:
    path = rig.paths.at("/etc/pharos-hpc/site.yaml")
    key = line.partition(":")[0]
    lines = [row for row in path.read_text().splitlines() if not row.startswith(key)]
    path.write_text("\n".join([*lines, line]) + "\n")
    result = rig.run("preflight")
    assert result.code == 2 and ("site_config_invalid" in result.stderr or "schema_mismatch" in result.stderr)


@pytest.mark.parametrize(
    ("mode", "folder_mode", "content", "code"),
    [
        (0o644, 0o700, TOKEN, "credential_exposed"),
        (0o600, 0o755, TOKEN, "credential_exposed"),
        (0o600, 0o700, "", "credential_malformed"),
        (0o600, 0o700, "two words", "credential_malformed"),
        (0o600, 0o700, None, "input_missing"),
    ],
)
def test_i3_i7_a_credential_is_one_token_of_roots_alone(
    rig: Rig, mode: int, folder_mode: int, content: str | None, code: str
) -> None:
    path = rig.paths.at("/etc/pharos-hpc/credentials/ssh-access/site-api-token")
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
        path.chmod(mode)
    path.parent.chmod(folder_mode)
    release = rig.release("0.1.0")
    result = rig.activate(release)
    assert result.code == 3 and "credentials.private" in result.stderr and TOKEN not in result.stderr
    from installer.host.site_inputs import load_site, read_credential

    site = load_site(rig.paths, rig.paths.at("/etc/pharos-hpc/site.yaml"), rig.limits)
    with pytest.raises(Refusal) as caught:
        read_credential(rig.paths, site, "ssh-access", "site-api-token", rig.limits)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-W01-1T00:00:00Z",
        "2026-01-01T00:00:60Z",
        "infinity",
    ],
)
def test_x2_lenient_times_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_time(text, what="a time")


def test_x2_times_come_back_in_utc() -> None:
    assert format_time(parse_time("2026-01-01T02:00:00.5+02:00", what="t")) == "2026-01-01T00:00:00.500000Z"


def test_a_setting_that_cannot_be_quoted_is_refused(rig: Rig) -> None:
    rig.profile(**access(identity='cn="quoted",dc=example'))
    result = rig.activate(rig.release("0.1.0"))
    assert result.code in {2, 3}
    from installer.domain.profile import parse_profile
    from installer.domain.settings import environment_file

    document = json.loads(json.dumps({**PROFILE, **access(identity='cn="quoted",dc=example')}))
    with pytest.raises(Refusal) as caught:
        environment_file("ssh-access", parse_profile(document))
    assert caught.value.code == "setting_unquotable"

"""The settings table of central (X5, X6, X8, D13)."""

import os
from pathlib import Path

import pytest

from central.settings import (
    SETTINGS,
    Listen,
    Oidc,
    Process,
    Setting,
    Settings,
    SettingsRefused,
    load_settings,
)

URL = "postgresql://pharos_site_api:hunter2@db.example:5432/pharos"
SITE = {"PHAROS_DATABASE_URL": URL, "PHAROS_SITES": "slurm,k8s"}
MEMBER = SITE | {"PHAROS_OIDC_ISSUER": "https://id.example/realm", "PHAROS_OIDC_AUDIENCE": "pharos"}


def faults(environment: dict[str, str], process: Process = "site_api") -> tuple[str, ...]:
    with pytest.raises(SettingsRefused) as refused:
        load_settings(environment, process)
    assert "hunter2" not in str(refused.value)
    return refused.value.faults


def private(path: Path, content: str, mode: int = 0o600) -> str:
    path.write_text(content)
    path.chmod(mode)
    return str(path)


def test_x6_the_least_a_site_api_needs_and_the_defaults() -> None:
    found = load_settings(SITE, "site_api")
    assert (found.environment, found.log_level, found.pollers) == ("production", "info", 4)
    assert found.sites == ("slurm", "k8s")
    assert found.listen == Listen("127.0.0.1", 8443)
    assert found.database_direct_url == found.database_url == URL
    assert found.prepared_statements
    assert (found.tls, found.oidc, found.development_accounts, found.ignored) == (None, None, None, ())


def test_x6_the_least_a_member_api_needs() -> None:
    found = load_settings(MEMBER, "member_api")
    assert found.listen == Listen("127.0.0.1", 8444)
    assert found.oidc == Oidc("https://id.example/realm", "pharos", None)


EVIDENCE = {
    "RESOURCE_PROVISIONING_DATABASE_URL": "postgresql://pharos_resource_provisioning_reader@db/pharos",
    "RESOURCE_PROVISIONING_VIEWS_BROKER_URL": "postgresql://pharos_resource_provisioning_reader@broker/pharos",
}


def test_p30_account_evidence_is_whole_or_not_there_at_all() -> None:
    assert load_settings(MEMBER, "member_api").provisioning_url is None
    found = load_settings(MEMBER | EVIDENCE, "member_api")
    assert found.views_broker is not None
    assert (found.provisioning_url, found.views_broker.url) == tuple(EVIDENCE.values())
    assert found.database_url == URL
    for name, value in EVIDENCE.items():
        (fault,) = faults(MEMBER | {name: value}, "member_api")
        (other,) = set(EVIDENCE) - {name}
        assert fault.startswith(f"{other}: missing; account evidence needs")


def test_x8_the_stand_in_and_account_evidence_exclude_each_other(tmp_path: Path) -> None:
    stand_in = {
        "PHAROS_ENVIRONMENT": "development",
        "PHAROS_DEVELOPMENT_ACCOUNTS": private(tmp_path / "accounts.json", "{}"),
    }
    assert load_settings(MEMBER | stand_in, "member_api").development_accounts is not None
    (fault,) = faults(MEMBER | stand_in | EVIDENCE, "member_api")
    assert fault.startswith(
        "PHAROS_DEVELOPMENT_ACCOUNTS: a stand-in for what RESOURCE_PROVISIONING_DATABASE_URL"
    )


@pytest.mark.parametrize("process", ["operator", "migrate"])
def test_x6_command_lines_need_the_database_alone(process: Process) -> None:
    assert load_settings({"PHAROS_DATABASE_URL": URL}, process).listen is None


def test_x6_every_fault_is_told_at_once() -> None:
    found = faults(
        {"PHAROS_LOG_LEVEL": "loud", "PHAROS_SITE_API_POLLERS": "0", "PHAROS_X": "hunter2"}, "member_api"
    )
    names = {fault.split(":", 1)[0] for fault in found}
    assert names == {
        "PHAROS_LOG_LEVEL", "PHAROS_SITE_API_POLLERS", "PHAROS_X", "PHAROS_DATABASE_URL", "PHAROS_SITES",
        "PHAROS_OIDC_ISSUER", "PHAROS_OIDC_AUDIENCE",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["PHAROS_DATABSE_URL", "RESOURCE_PROVISIONING_NEW", "PHAROS_LOG_LEVEL_FILE", "PHAROS_SERVICE_HOSTS",
     "PHAROS_SSH_ACCESS_MODE", "PHAROS_"],
)  # fmt: skip
def test_x6_an_unknown_name_is_refused(name: str) -> None:
    assert faults(SITE | {name: "hunter2"}) == (f"{name}: unknown; see docs/settings.md",)


def test_x6_service_links_are_ignored_and_named() -> None:
    links = {
        "PHAROS_SITE_API_SERVICE_HOST": "10.0.0.1",
        "PHAROS_SITE_API_SERVICE_PORT": "8443",
        "PHAROS_SITE_API_SERVICE_PORT_HTTPS": "8443",
        "PHAROS_SITE_API_PORT": "tcp://10.0.0.1:8443",
        "PHAROS_SITE_API_PORT_8443_TCP_ADDR": "10.0.0.1",
        "RESOURCE_PROVISIONING_PORT": "tcp://10.0.0.1:1",
    }
    assert load_settings(SITE | links, "site_api").ignored == tuple(sorted(links))
    assert load_settings(SITE | {"HOME": "/", "OTHER_PHAROS_X": "1"}, "site_api").ignored == ()


@pytest.mark.parametrize("value", ["1_000", "９", " 7 ", "+5", "0", "65", "4.0", "1e1", "007", "-1"])
def test_d13_numbers_are_plain_digits(value: str) -> None:
    assert faults(SITE | {"PHAROS_SITE_API_POLLERS": value})[0].startswith("PHAROS_SITE_API_POLLERS: wanted")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PHAROS_DATABASE_URL", "mysql://hunter2@x/y"),
        ("PHAROS_DATABASE_URL", "postgresql://u:hunter2@h:port%/d?nonsense=1"),
        ("PHAROS_DATABASE_URL", "host=db password=hunter2"),
        ("PHAROS_SITE_API_LISTEN", "8443"),
        ("PHAROS_SITE_API_LISTEN", "127.0.0.1:0"),
        ("PHAROS_SITE_API_LISTEN", "127.0.0.1:65536"),
        ("PHAROS_SITE_API_LISTEN", "999.0.0.1:1"),
        ("PHAROS_SITE_API_LISTEN", "::1:8443"),
        ("PHAROS_SITES", "slurm,slurm"),
        ("PHAROS_SITES", "slurm,"),
        ("PHAROS_SITES", "Slurm"),
        ("PHAROS_SITES", "slurm\n"),
        ("PHAROS_TRUSTED_PROXIES", "proxy.example"),
        ("PHAROS_ENVIRONMENT", "Production"),
        ("PHAROS_DATABASE_PREPARED_STATEMENTS", "yes"),
        ("PHAROS_OIDC_ISSUER", "https://user:hunter2@id.example"),
        ("PHAROS_OIDC_ISSUER", "https://id.example/?hunter2"),
        ("PHAROS_OIDC_AUDIENCE", "a\x1bhunter2"),
        ("PHAROS_OIDC_CA_FILE", "relative.pem"),
        ("PHAROS_OIDC_CA_FILE", "/nonexistent/hunter2.pem"),
    ],
)
def test_x6_a_wrong_value_is_refused_by_name_alone(name: str, value: str) -> None:
    found = faults(MEMBER | {name: value}, "member_api")
    assert [fault.split(":", 1)[0] for fault in found] == [name]


@pytest.mark.parametrize("text", ["[::1]:8443", "0.0.0.0:1", "localhost:65535"])
def test_x6_addresses(text: str) -> None:
    found = load_settings(SITE | {"PHAROS_SITE_API_LISTEN": text}, "site_api").listen
    assert found is not None
    assert text.endswith(str(found.port))


def test_x6_an_empty_variable_counts_as_not_set() -> None:
    assert (
        load_settings(SITE | {"PHAROS_SITE_API_POLLERS": "", "PHAROS_OIDC_CA_FILE": ""}, "site_api").pollers
        == 4
    )
    assert faults(SITE | {"PHAROS_SITES": ""})[0].startswith("PHAROS_SITES: missing")


def test_x6_a_group_is_whole_or_absent(tmp_path: Path) -> None:
    certificate = private(tmp_path / "cert.pem", "x", 0o644)
    key = private(tmp_path / "key.pem", "x")
    tls = {"PHAROS_TLS_CERTIFICATE": certificate, "PHAROS_TLS_KEY_FILE": key}
    assert load_settings(SITE | tls, "site_api").tls is not None
    for left_out in tls:
        rest = {name: value for name, value in tls.items() if name != left_out}
        assert faults(SITE | rest) == (f"{left_out}: missing, for the group TLS is set whole or not at all",)
    assert faults(SITE | {"PHAROS_OIDC_ISSUER": "https://id.example"}) == (
        "PHAROS_OIDC_AUDIENCE: missing, for the group OIDC is set whole or not at all",
    )


def test_x5_a_secret_comes_from_its_file(tmp_path: Path) -> None:
    path = private(tmp_path / "url", f"{URL}\n")
    found = load_settings({"PHAROS_DATABASE_URL_FILE": path, "PHAROS_SITES": "slurm"}, "site_api")
    assert found.database_url == URL
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_x5_a_systemd_credential_is_accepted(tmp_path: Path, mode: int) -> None:
    path = private(tmp_path / "url", URL, mode)
    assert load_settings({"PHAROS_DATABASE_URL_FILE": path}, "migrate").database_url == URL


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o602, 0o601])
def test_x5_a_file_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = private(tmp_path / "url", URL, mode)
    assert "open to others" in faults({"PHAROS_DATABASE_URL_FILE": path}, "migrate")[0]


@pytest.mark.parametrize("content", ["", "\n", "  \n", "a\x00b", "x" * 70_000])
def test_x5_a_file_that_holds_no_secret_is_refused(tmp_path: Path, content: str) -> None:
    path = private(tmp_path / "url", content)
    assert faults({"PHAROS_DATABASE_URL_FILE": path}, "migrate")[0].startswith(
        f"PHAROS_DATABASE_URL: the file {path} is empty"
    )


def test_x5_a_missing_folder_or_fifo_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    for path in (tmp_path / "none", tmp_path, tmp_path / "fifo"):
        assert faults({"PHAROS_DATABASE_URL_FILE": str(path)}, "migrate")
    assert "absolute" in faults({"PHAROS_DATABASE_URL_FILE": "relative"}, "migrate")[0]


def test_x5_a_variable_and_its_file_together_are_refused(tmp_path: Path) -> None:
    path = private(tmp_path / "url", URL)
    assert faults(SITE | {"PHAROS_DATABASE_URL_FILE": path}) == (
        "PHAROS_DATABASE_URL: set it or PHAROS_DATABASE_URL_FILE, not both",
    )


def test_x8_a_development_stand_in_is_refused_in_production(tmp_path: Path) -> None:
    stand_in = MEMBER | {"PHAROS_DEVELOPMENT_ACCOUNTS": private(tmp_path / "accounts.json", "{}")}
    assert faults(stand_in, "member_api")[0].startswith("PHAROS_DEVELOPMENT_ACCOUNTS: a development stand-in")
    found = load_settings(stand_in | {"PHAROS_ENVIRONMENT": "development"}, "member_api")
    assert found.development_accounts == tmp_path / "accounts.json"


def test_x8_an_issuer_without_tls_is_for_development() -> None:
    plain = MEMBER | {"PHAROS_OIDC_ISSUER": "http://127.0.0.1:8081"}
    assert faults(plain, "member_api")[0].startswith("PHAROS_OIDC_ISSUER: http is for development")
    assert load_settings(plain | {"PHAROS_ENVIRONMENT": "development"}, "member_api").oidc is not None


def test_x8_a_misspelt_environment_counts_as_production(tmp_path: Path) -> None:
    found = faults(
        MEMBER
        | {
            "PHAROS_ENVIRONMENT": "Development",
            "PHAROS_DEVELOPMENT_ACCOUNTS": private(tmp_path / "accounts.json", "{}"),
        },
        "member_api",
    )
    assert len(found) == 2


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_x6_every_setting_is_described_and_its_default_is_valid(setting: Setting) -> None:
    assert setting.meaning.endswith(".")
    assert setting.kind
    assert setting.processes
    if setting.default is not None:
        setting.parse(setting.default)
    assert not (setting.required and setting.default)


def test_x5_no_setting_shows_a_secret_in_its_repr() -> None:
    assert URL not in repr(load_settings(SITE, "site_api"))
    assert isinstance(load_settings(SITE, "site_api"), Settings)


@pytest.mark.parametrize("listen", ["0.0.0.0:8449", "10.0.0.1:8449", "[::]:8449", "localhost:8449", "8449"])
def test_x6_a_page_without_login_listens_on_loopback_alone(listen: str) -> None:
    (fault,) = faults(SITE | {"PHAROS_OVERVIEW_LISTEN": listen}, "overview")
    assert fault.startswith("PHAROS_OVERVIEW_LISTEN: wanted")
    for good in ("127.0.0.1:8449", "127.9.9.9:1", "[::1]:8449"):
        load_settings(SITE | {"PHAROS_OVERVIEW_LISTEN": good}, "overview")
    assert load_settings(SITE, "overview").listen == Listen("127.0.0.1", 8449)

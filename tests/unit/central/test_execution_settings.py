"""Settings of the processes of Runs: groups whole, Sites known, nothing of development (E5, X6)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from central.settings import Process, Settings, SettingsRefused, load_settings

URL = "postgresql://pharos@/pharos"
KEY = "A" * 43 + "="
READER = {"RESOURCE_PROVISIONING_DATABASE_URL": URL, "RESOURCE_PROVISIONING_VIEWS_BROKER_URL": URL}
OIDC = {"PHAROS_OIDC_ISSUER": "https://issuer.example.org", "PHAROS_OIDC_AUDIENCE": "pharos"}
TOKENS = {
    "PHAROS_EXECUTION_TOKEN_CLIENT_ID": "pharos-central",
    "PHAROS_EXECUTION_TOKEN_CLIENT_SECRET": "a-clients-secret",
    "PHAROS_EXECUTION_CONSENT_KEYS": KEY,
    "PHAROS_EXECUTION_SLURM_AUDIENCES": "slurm=slurm.icarus",
}
HOST = {
    "PHAROS_REPOSITORY_CREDENTIALS_URL": "https://git.example.org/credentials",
    "PHAROS_REPOSITORY_CREDENTIALS_TOKEN": "centrals-bearer",
}
COMMON = {"PHAROS_DATABASE_URL": URL, "PHAROS_SITES": "slurm,k8s"}
WHOLE: dict[Process, dict[str, str]] = {
    "site_api": COMMON | READER | OIDC | TOKENS | HOST,
    "member_api": COMMON | READER | OIDC | TOKENS,
    "project_api": COMMON | READER | OIDC | {"PHAROS_EXECUTION_SITES": "slurm"},
    "execution_worker": COMMON | HOST | {
        "RESOURCE_PROVISIONING_DATABASE_URL": URL, "PHAROS_EXECUTION_BROKER_URL": URL,
    },
}  # fmt: skip


def load(process: Process, **changes: str | None) -> Settings:
    """The whole settings of a process with some changed; None leaves one out."""
    given: Mapping[str, str | None] = WHOLE[process] | changes
    return load_settings({name: value for name, value in given.items() if value is not None}, process)


def faults(process: Process, **changes: str | None) -> str:
    with pytest.raises(SettingsRefused) as refused:
        load(process, **changes)
    assert KEY not in str(refused.value)
    assert "a-clients-secret" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("process", list(WHOLE))
def test_x6_each_process_has_what_it_needs(process: Process) -> None:
    settings = load(process)
    assert (settings.tokens is not None) == (process in ("site_api", "member_api"))
    assert (settings.repositories is not None) == (process in ("site_api", "execution_worker"))
    assert "a-clients-secret" not in repr(settings)
    assert KEY not in repr(settings)


def test_e5_without_the_group_the_site_api_has_no_commands_and_needs_nothing_of_it() -> None:
    bare = dict.fromkeys([*TOKENS, *HOST, *OIDC, *READER])
    assert load("site_api", **bare).tokens is None


@pytest.mark.parametrize("name", list(TOKENS))
def test_x6_the_group_is_set_whole_or_not_at_all(name: str) -> None:
    assert f"{name}: missing" in faults("site_api", **{name: None})


@pytest.mark.parametrize("name", [*READER, "PHAROS_REPOSITORY_CREDENTIALS_URL"])
def test_e5_what_commands_need_beside_the_group_is_named(name: str) -> None:
    left_out = {name: None}
    if name.startswith("PHAROS_REPOSITORY"):
        left_out["PHAROS_REPOSITORY_CREDENTIALS_TOKEN"] = None
    assert f"{name}: missing, and the group EXECUTION needs it" in faults("site_api", **left_out)


@pytest.mark.parametrize(
    ("process", "name", "value", "told"),
    [
        ("site_api", "PHAROS_EXECUTION_CONSENT_KEYS", "short", "32 bytes in base64url"),
        ("site_api", "PHAROS_EXECUTION_CONSENT_KEYS", f"{KEY},{KEY}", "32 bytes in base64url"),
        ("site_api", "PHAROS_EXECUTION_SLURM_AUDIENCES", "slurm", "<site>=<audience>"),
        ("site_api", "PHAROS_EXECUTION_SLURM_AUDIENCES", "slurm=a,slurm=b", "each Site once"),
        ("site_api", "PHAROS_EXECUTION_SLURM_AUDIENCES", "slurm=a,k8s=a", "an audience of its own"),
        (
            "site_api",
            "PHAROS_EXECUTION_SLURM_AUDIENCES",
            "other=a",
            "a Site that PHAROS_SITES does not",
        ),
        ("project_api", "PHAROS_EXECUTION_SITES", "other", "a Site that PHAROS_SITES does not"),
        ("site_api", "PHAROS_REPOSITORY_CREDENTIALS_URL", "http://git.test", "production wants https"),
        ("execution_worker", "PHAROS_EXECUTION_BROKER_URL", None, "missing"),
        ("execution_worker", "PHAROS_REPOSITORY_CREDENTIALS_TOKEN", None, "missing"),
        ("project_api", "PHAROS_OIDC_ISSUER", None, "missing"),
    ],
)
def test_x6_a_fault_names_the_variable_and_what_was_wanted(
    process: Process, name: str, value: str | None, told: str
) -> None:
    assert told in faults(process, **{name: value})


def test_p36_no_site_is_open_for_runs_by_default() -> None:
    assert load("project_api", PHAROS_EXECUTION_SITES=None).execution_sites == ()


def test_e5_several_keys_are_taken_in_their_order() -> None:
    other = "B" * 43 + "="
    tokens = load("site_api", PHAROS_EXECUTION_CONSENT_KEYS=f"{other},{KEY}").tokens
    assert tokens is not None
    assert tokens.consent_keys == (other, KEY)

"""The reporter's settings: one table, everything refused at once, nothing echoed (X5, X6, I8)."""

from __future__ import annotations

import pytest

from site_bundle.kernel.errors import SettingsError
from site_bundle.reporter.settings import api_url, reporter_settings
from tests.unit.site_bundle.reporter.good_settings import GOOD


def test_x6_the_least_and_the_defaults() -> None:
    found = reporter_settings(GOOD)
    assert (found.interval_seconds, found.observe, str(found.slurm_commands)) == (60, False, "/usr/bin")
    assert (found.cluster, found.policy.parent_account) == ("icarus", "pharos"), "as Slurm stores them (W02)"
    assert found.policy.capacity == {"cpu": 16000, "gpu.gh200": 2, "memory": 68719476736}
    assert str(found.state_directory) == "/var/lib/pharos-reporter"
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PHAROS_REPORTER_LDAP_URL", "ldap://ldap.example.org"),
        ("PHAROS_REPORTER_LDAP_URL", "ldaps://127.0.0.1"),
        ("PHAROS_REPORTER_LDAP_URL", "ldapi:///run/slapd/ldapi"),
        ("PHAROS_REPORTER_LDAP_URL", "ldap://127.0.0.1.example.org"),
        ("PHAROS_REPORTER_LDAP_URL", "ldap://127.0.0.1:389\n"),
        ("PHAROS_WALDUR_API_URL", "https://waldur.example.org/"),
        ("PHAROS_WALDUR_API_URL", "https://waldur.example.org/api"),
        ("PHAROS_WALDUR_API_URL", "http://waldur.example.org/api/"),
        ("PHAROS_WALDUR_API_URL", "https://waldur.example.org/api/?x=1"),
        ("PHAROS_INTAKE_URL", "https://intake.example.org/path"),
        ("PHAROS_REPORTER_SITE", "Icarus"),
        ("PHAROS_REPORTER_CAPACITY", '{"cpu":16000.0,"memory":1}'),
        ("PHAROS_REPORTER_CAPACITY", '{"cpu":1e3,"memory":1}'),
        ("PHAROS_REPORTER_CAPACITY", '{"cpu":NaN,"memory":1}'),
        ("PHAROS_REPORTER_CAPACITY", "16000"),
        ("PHAROS_REPORTER_INTERVAL_SECONDS", "1_0"),
        ("PHAROS_REPORTER_INTERVAL_SECONDS", "601"),
        ("PHAROS_REPORTER_MODE", "report"),
        ("PHAROS_REPORTER_UID_MAX", "4"),
        ("PHAROS_REPORTER_PARENT_ACCOUNT", "a b"),
        ("PHAROS_REPORTER_INTERVAL", "60"),
    ],
)
def test_x6_d12_d13_i8_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        reporter_settings(GOOD | {name: value})
    assert name.removesuffix("_MAX") in str(caught.value) and "secret" not in str(caught.value)


def test_w16_path_of_the_api_is_a_suffix_not_letters() -> None:
    assert api_url("https://portal.example.ai/api/") == ("https://portal.example.ai", "/api/")
    assert api_url("https://api.example.ai:8443/waldur/api/") == (
        "https://api.example.ai:8443",
        "/waldur/api/",
    )

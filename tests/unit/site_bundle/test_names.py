"""DNs, filters and socket paths (B03, B19)."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_bundle.directory.names import dn_text, escape_filter_value, ldapi_url, parse_dn, socket_path


@pytest.mark.parametrize(
    "text",
    [
        "ldapi:///run/slapd/ldapi",
        "ldapi://%2Frun%2Fslapd%2Fldapi",
        "ldapi:///",
        "ldap://127.0.0.1",
        "run/slapd/ldapi",
        "/run/../etc",
        "/" + "x" * 107,
        "",
    ],
)
def test_B19_a_path_not_a_url(text: str) -> None:
    with pytest.raises(ValueError, match="socket path"):
        socket_path(text)


def test_B19_the_url_of_a_path_has_its_slashes_encoded() -> None:
    assert ldapi_url(socket_path("/run/slapd/ldapi")) == "ldapi://%2Frun%2Fslapd%2Fldapi"
    assert ldapi_url(Path("/a b:389/ü")) == "ldapi://%2Fa%20b%3A389%2F%C3%BC"


def test_B03_filter_values_match_themselves_only() -> None:
    assert escape_filter_value("Doe, Jo (Site) *\\x\0") == r"Doe, Jo \28Site\29 \2a\5cx\00"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cn=Agent,ou=Services,dc=example", "CN=agent, OU=services ,DC=Example"),
        (r"cn=Doe\2C Jo,dc=x", r"cn=Doe\, Jo,dc=x"),
        ("cn=a+uid=b,dc=x", "uid=b+cn=a,dc=x"),
        (r"cn=\C3\BC,dc=x", "cn=ü,dc=x"),
    ],
)
def test_dns_are_compared_as_values(one: str, other: str) -> None:
    assert parse_dn(one) == parse_dn(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cn=a,dc=x", "cn=a,dc=y"),
        ("cn=a,dc=x", "uid=a,dc=x"),
        ("cn=a,dc=x", "cn=a,ou=b,dc=x"),
        (r"cn=a\,dc=x", "cn=a,dc=x"),
    ],
)
def test_other_dns_are_other(one: str, other: str) -> None:
    assert parse_dn(one) != parse_dn(other)


@pytest.mark.parametrize("text", ["", "agent", "=x", "cn=a,,dc=x", "dn:cn=a"])
def test_what_is_no_dn(text: str) -> None:
    with pytest.raises(ValueError, match="distinguished name"):
        dn_text(text)

"""The simple bind over loopback: who it is, what a refused bind says, passwords read anew (I8, B07, X5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_bundle.directory.connection import DirectoryLimits
from site_bundle.directory.errors import DirectoryUnavailableError
from site_bundle.directory.loopback import LoopbackConnection
from site_bundle.kernel.credential import Credential
from site_bundle.kernel.ranges import NumberRange
from site_bundle.reporter.adapters.ldap_directory import LdapDirectory
from tests.site.reporter import BIND_DN, GROUPS
from tests.site.slapd import PEOPLE, SUFFIX, Slapd

pytestmark = pytest.mark.slapd


def connection(slapd: Slapd, password: Credential, bind_dn: str = BIND_DN) -> LoopbackConnection:
    return LoopbackConnection(url=slapd.url, bind_dn=bind_dn, password=password, limits=DirectoryLimits())


def test_i8_bound_and_verified(slapd: Slapd) -> None:
    found = connection(slapd, Credential(value="agentpw"))
    assert found.ensure_bound() and found.who_am_i() == f"dn:{BIND_DN}"
    people = list(found.search_paged(PEOPLE, "(objectClass=posixAccount)", ("uid",), page=1))
    assert sorted(entry.texts("uid")[0] for entry in people) == ["alice", "bob", "pharos-probe"]
    found.close()


@pytest.mark.parametrize("bind_dn", [BIND_DN, f"cn=nobody,ou=services,{SUFFIX}"])
def test_x5_wrong_password_is_unavailable_and_not_shown(slapd: Slapd, bind_dn: str) -> None:
    found = connection(slapd, Credential(value="not-the-password"), bind_dn)
    with pytest.raises(DirectoryUnavailableError) as caught:
        found.ensure_bound()
    assert caught.value.code == "directory_bind_refused"
    assert "not-the-password" not in str(caught.value)


def test_x5_a_replaced_password_is_read_anew(slapd: Slapd, tmp_path: Path) -> None:
    file = tmp_path / "ldap-password"
    file.write_text("wrong\n")
    found = connection(slapd, Credential(path=file))
    with pytest.raises(DirectoryUnavailableError):
        found.ensure_bound()
    file.write_text("agentpw\n")
    assert found.ensure_bound()
    found.close()


def test_b07_server_away_is_unavailable(slapd: Slapd) -> None:
    found = connection(slapd, Credential(value="agentpw"))
    with slapd.away(), pytest.raises(DirectoryUnavailableError) as caught:
        found.ensure_bound()
    assert caught.value.code == "directory_unreachable"


def test_b11_b12_each_pass_binds_anew(slapd: Slapd) -> None:
    """A connection kept from one pass to the next may be dead by then, and costs a pass."""
    found = connection(slapd, Credential(value="agentpw"))
    people = LdapDirectory(found, people_base=PEOPLE, groups_base=GROUPS, gids=NumberRange(5500000, 5599999))
    first = people.read()
    with slapd.away():
        pass
    assert people.read() == first and {"alice", "bob"} <= first.people.keys()
    assert slapd.binds(BIND_DN) == 2


def test_x1_a_base_that_is_not_there_is_a_fault(slapd: Slapd) -> None:
    found = connection(slapd, Credential(value="agentpw"))
    with pytest.raises(DirectoryUnavailableError) as caught:
        list(found.search_paged(f"ou=nowhere,{SUFFIX}", "(objectClass=*)", ("uid",), page=100))
    assert caught.value.code == "directory_base_missing"
    found.close()


def test_x1_a_search_that_never_ends_is_no_answer(slapd: Slapd) -> None:
    found = LoopbackConnection(
        url=slapd.url,
        bind_dn=BIND_DN,
        password=Credential(value="agentpw"),
        limits=DirectoryLimits(pages=2),
    )
    with pytest.raises(DirectoryUnavailableError) as caught:
        list(found.search_paged(PEOPLE, "(objectClass=posixAccount)", ("uid",), page=1))
    assert caught.value.code == "directory_endless"
    found.close()

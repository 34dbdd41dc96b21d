"""The probes against a real directory and a Site API over TLS (I7, I8, I9, I18, X5)."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import ldap3
import pytest

from installer.domain.profile import LdapAccess
from installer.host.commands import RunAs, run_command
from installer.host.https import Unanswered
from installer.host.ldap_probe import ProbeAnswer, ask_directory, same_identity
from installer.host.site_api import Grant, ask_grant
from tests.simulators.site_api.server import TOKEN, SiteApi
from tests.site.conftest import pki, site_api, slapd, slapd_template
from tests.site.slapd import IDENTITY, PEOPLE, PROBE, Slapd

__all__ = ["pki", "site_api", "slapd", "slapd_template"]

SELF = RunAs(uid=os.geteuid(), gid=os.getegid())


def ask(directory: Slapd, *, probe_entry: str = PROBE, writes: bool = True) -> ProbeAnswer | str:
    access = LdapAccess(
        socket=str(directory.socket), identity=IDENTITY, people_base=PEOPLE, probe_entry=probe_entry
    )
    return ask_directory(run_command, access, socket=access.socket, run_as=SELF, writes=writes, timeout=30)


def entry(directory: Slapd, name: str) -> dict[str, list[bytes]]:
    with directory.administrator() as connection:
        connection.search(name, "(objectClass=*)", ldap3.BASE, attributes=["*"])
        found: dict[str, list[bytes]] = dict(connection.response[0]["raw_attributes"])
    return found


@pytest.mark.slapd
@pytest.mark.slow
class TestDirectory:
    def test_i8_i9_the_administrators_policy_passes_and_the_entry_is_as_before(self, slapd: Slapd) -> None:
        before = entry(slapd, PROBE)
        answer = ask(slapd)
        assert isinstance(answer, ProbeAnswer), answer
        assert same_identity(answer.identity, IDENTITY.upper().replace(",", ", "))
        assert [step for step in answer.steps if step.found != step.wanted] == [] and len(answer.steps) > 8
        assert entry(slapd, PROBE) == before

    def test_i7_a_directory_that_lets_the_agent_write_more_is_found_and_put_back(self, slapd: Slapd) -> None:
        slapd.stop()
        slapd.set_access(f'to * by dn.exact="{IDENTITY}" write by * read')
        slapd.start()
        before = entry(slapd, PROBE)
        answer = ask(slapd)
        assert isinstance(answer, ProbeAnswer), answer
        wrong = {step.name for step in answer.steps if step.found != step.wanted}
        assert {"write loginShell", "write userPassword", "rename the entry"} <= wrong
        assert entry(slapd, PROBE) == before

    def test_a_directory_that_lets_it_write_nothing_is_found(self, slapd: Slapd) -> None:
        slapd.stop()
        slapd.set_access("to * by * read")
        slapd.start()
        answer = ask(slapd)
        assert isinstance(answer, ProbeAnswer), answer
        found = {step.name: step.found for step in answer.steps}
        assert found["add a key"] == "insufficientAccessRights"

    def test_x1_no_probe_entry_or_no_directory_is_unknown(self, slapd: Slapd) -> None:
        assert "LDAPNoSuchObject" in str(ask(slapd, probe_entry=f"uid=nobody,{PEOPLE}"))
        with slapd.away():
            assert isinstance(ask(slapd), str)

    def test_without_writes_only_the_identity_is_asked(self, slapd: Slapd) -> None:
        answer = ask(slapd, writes=False)
        assert isinstance(answer, ProbeAnswer) and answer.steps == ()


def test_who_am_i_is_compared_as_a_name() -> None:
    assert same_identity("dn:CN=a, dc=b", "cn=a,dc=B")
    assert not same_identity("dn:cn=a,dc=c", "cn=a,dc=b")
    assert not same_identity("u:cn=a,dc=b", "cn=a,dc=b") and not same_identity("", "cn=a")


@pytest.fixture
def grant_of(site_api: SiteApi) -> Iterator[SiteApi]:
    yield site_api


def ask_api(api: SiteApi, *, ca: Path | None = None, url: str = "", token: str = TOKEN) -> Grant | Unanswered:
    authority = (ca or api.ca_file).read_bytes()
    return ask_grant(url or api.url, authority, token.encode(), scope="ssh-access", timeout=5, limit=65536)


def test_i18_the_grant_is_read_with_scope_site_and_end(site_api: SiteApi) -> None:
    end = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    site_api.server.expires_at = end
    grant = ask_api(site_api)
    assert isinstance(grant, Grant), grant
    assert (grant.scopes, grant.expiresAt) == (("ssh-access",), end)


@pytest.mark.parametrize(
    ("fault", "told", "definite"),
    [
        ("redirect", "redirect", True),
        ("status:503", "HTTP 503", False),
        ("status:404", "no Site API", True),
        ("html", "no JSON", True),
        ("oversized", "bounded", True),
        ("drop", "", False),
        ("body:{}", "not a grant", True),
        ('body:{"schema":1,"schema":1}', "not a grant", True),
    ],
)
def test_i18_any_other_answer_is_no_grant(site_api: SiteApi, fault: str, told: str, definite: bool) -> None:
    site_api.server.faults.plan("grant", fault)
    answer = ask_api(site_api)
    assert isinstance(answer, Unanswered) and told in answer.why and answer.definite == definite, answer


def test_i18_x5_a_refused_token_is_told_without_the_token(site_api: SiteApi) -> None:
    other = "phs1_" + "1" * 32 + "_" + "B" * 43
    answer = ask_api(site_api, token=other)
    assert isinstance(answer, Unanswered) and "401" in answer.why and other not in answer.why
    assert answer.credential, "it is the grant that central refuses"


def test_i18_another_authority_or_name_is_refused(site_api: SiteApi, tmp_path: Path) -> None:
    answer = ask_api(site_api, url=site_api.url.replace("127.0.0.1", "localhost"))
    assert isinstance(answer, Unanswered) and "TLS" in answer.why
    none = tmp_path / "ca.crt"
    for text in (
        "no certificate",
        "",
        " \n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ):
        none.write_text(text)
        answer = ask_api(site_api, ca=none)
        assert isinstance(answer, Unanswered) and answer.definite and "authority" in answer.why, text


def test_i18_words_beside_the_certificates_are_no_fault(site_api: SiteApi, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_bytes("# Autorité de l'hôte\n".encode() + site_api.ca_file.read_bytes())
    assert isinstance(ask_api(site_api, ca=bundle), Grant)


def test_x1_no_route_is_unknown_not_refused(site_api: SiteApi) -> None:
    answer = ask_api(site_api, url="https://127.0.0.1:1")
    assert isinstance(answer, Unanswered) and not answer.definite

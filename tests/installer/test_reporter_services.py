"""The reporter's probes against a real directory, a Waldur over TLS and an intake's answers (I7, I8, I15,
I18, S8, X1, X5).
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ldap3
import pytest

from installer.domain.profile import UidRange
from installer.domain.profile_reporter import GidRange, LdapAgent
from installer.domain.waldur import Me, Offering, Pool, judge_component, judge_pool, judge_role, judge_sole
from installer.host import intake
from installer.host.commands import RunAs, run_command
from installer.host.https import Answer, Unanswered
from installer.host.intake import Opened, ask_intake
from installer.host.ldap_agent_probe import AgentAnswer, ask_agent_directory
from installer.host.waldur import PAGE_SIZE, WaldurApi
from site_bundle.directory.names import ldapi_url
from tests.simulators.waldur.process import WaldurProcess
from tests.site.conftest import slapd, slapd_template
from tests.site.slapd import PEOPLE, PROBE, SUFFIX, Slapd

__all__ = ["slapd", "slapd_template"]

SELF = RunAs(uid=os.geteuid(), gid=os.getegid())
AGENT_DN = f"cn=pharos-agent,ou=services,{SUFFIX}"
GROUPS = f"ou=groups,ou=pharos,{SUFFIX}"


def ask(directory: Slapd, *, password: bytes = b"agentpw", **change: Any) -> AgentAnswer | str:
    """The agent's question over the test server's socket; the profile's rule of loopback stands elsewhere."""
    entry = change.pop("probe_entry", PROBE)
    agent = LdapAgent(
        url=ldapi_url(directory.socket), bind_dn=AGENT_DN, people_base=PEOPLE, groups_base=GROUPS
    )
    return ask_agent_directory(
        run_command, replace(agent, **change), password=password, probe_entry=entry, run_as=SELF, timeout=60
    )


def limit(directory: Slapd, entries: int) -> None:
    """An administrator limits what the agent's searches may list, while slapd is down."""
    directory.stop()
    path = next((directory.folder / "conf" / "cn=config").glob("olcDatabase={1}mdb.ldif"))
    lines = path.read_text().replace("\n ", "").splitlines()
    kept = [line for line in lines if not line.startswith(("olcLimits:", "# CRC32"))]
    path.write_text("\n".join([*kept, f'olcLimits: {{0}}dn.exact="{AGENT_DN}" size={entries}']) + "\n")
    directory.start()


@pytest.mark.slapd
@pytest.mark.slow
class TestDirectory:
    def test_i7_i8_the_labs_policy_passes_and_the_entry_is_as_before(self, slapd: Slapd) -> None:
        answer = ask(slapd)
        assert isinstance(answer, AgentAnswer), answer
        assert answer.identity == f"dn:{AGENT_DN}"
        assert [(base.outcome, base.listed, base.held) for base in answer.bases] == [
            ("complete", 3, 3),
            ("complete", 1, 1),
        ]
        assert [(s.wanted, s.found) for s in answer.absence] == [
            ("assertionFailed", "assertionFailed"),
            ("noSuchObject", "noSuchObject"),
        ]
        assert len(answer.steps) == 4 and [s for s in answer.steps if s.found != s.wanted] == []
        assert slapd.values("pharos-probe") == []

    def test_s8_a_list_that_is_cut_is_told_with_both_numbers(self, slapd: Slapd) -> None:
        for number in range(40):
            slapd.add_person(f"member{number:02}", 5000100 + number)
        limit(slapd, 10)
        answer = ask(slapd)
        assert isinstance(answer, AgentAnswer), answer
        people, groups = answer.bases
        assert (people.outcome, people.listed, people.held) == ("cut", 10, 43)
        assert (groups.outcome, groups.listed) == ("complete", 1)

    def test_x1_an_absent_base_is_absent_and_an_absent_directory_unknown(self, slapd: Slapd) -> None:
        answer = ask(slapd, groups_base=f"ou=nowhere,{SUFFIX}")
        assert isinstance(answer, AgentAnswer) and answer.bases[1].outcome == "absent"
        assert "probe entry" in str(ask(slapd, probe_entry=f"uid=nobody,{PEOPLE}"))
        with slapd.away():
            assert isinstance(ask(slapd), str)

    def test_x1_a_base_whose_entries_are_hidden_is_not_complete_by_accident(self, slapd: Slapd) -> None:
        slapd.stop()
        slapd.set_access(
            "to attrs=userPassword by anonymous auth by * none",
            f'to dn.subtree="{GROUPS}" by * none',
            "to * by * read",
        )
        slapd.start()
        answer = ask(slapd)
        assert isinstance(answer, AgentAnswer), answer
        assert answer.bases[1].outcome == "absent"

    def test_x1_a_directory_that_takes_no_changes_tells_no_absence(self, slapd: Slapd) -> None:
        slapd.stop()
        slapd.set_read_only()
        slapd.start()
        answer = ask(slapd)
        assert isinstance(answer, AgentAnswer), answer
        assert [s.found for s in answer.absence] == ["unwillingToPerform"] * 2

    def test_x5_a_wrong_password_is_told_without_it(self, slapd: Slapd) -> None:
        said = ask(slapd, password=b"not-this-one")
        assert isinstance(said, AgentAnswer) and said.credentials_refused, said
        assert not said.identity and "not-this-one" not in str(said)

    def test_i7_a_directory_that_lets_the_agent_write_more_is_found_and_put_back(self, slapd: Slapd) -> None:
        slapd.stop()
        slapd.set_access(f'to * by dn.exact="{AGENT_DN}" write by anonymous auth by * read')
        slapd.start()
        answer = ask(slapd)
        assert isinstance(answer, AgentAnswer), answer
        wrong = {step.name: step.found for step in answer.steps if step.found != step.wanted}
        assert wrong == {"write sshPublicKey": "allowed", "write userPassword": "allowed"}
        assert slapd.values("pharos-probe") == []
        with slapd.administrator() as connection:
            connection.search(PROBE, "(objectClass=*)", ldap3.BASE, attributes=["uidNumber", "userPassword"])
            kept = connection.response[0]["raw_attributes"]
        assert kept["uidNumber"] == [b"5499999"] and not kept.get("userPassword")


@pytest.fixture(scope="module")
def waldur(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WaldurProcess, dict[str, str]]]:
    with WaldurProcess(tmp_path_factory.mktemp("waldur")) as process:
        yield process, process.stand()


Standing = tuple[WaldurProcess, dict[str, str]]


def api(waldur: Standing, token: str = "owner", authority: Path | None = None, **change: Any) -> WaldurApi:
    process, made = waldur
    given = WaldurApi(
        url=process.api,
        authority=(authority or process.ca_file).read_bytes(),
        token=made.get(token, token).encode(),
        timeout=60,
        limit=1 << 20,
    )
    return replace(given, **change)


@pytest.mark.slow
class TestWaldur:
    @pytest.mark.parametrize(
        ("token", "status"),
        [("owner", "pass"), ("manager", "pass"), ("offering_manager", "fail"), ("staff", "fail")],
    )
    def test_i15_w23_roles_as_waldur_tells_them(self, waldur: Standing, token: str, status: str) -> None:
        me = api(waldur, token).me()
        assert isinstance(me, Me), me
        judged = judge_role(me, waldur[1]["provider"], datetime.now(UTC))
        assert judged.status == status, judged

    def test_i15_version_offering_provider_component_and_pool(self, waldur: Standing) -> None:
        made, asked = waldur[1], api(waldur)
        assert getattr(asked.version(), "version", None) == "8.1.3"
        offering, sold = asked.offering(made["offering"]), asked.offerings_of(made["provider"])
        assert isinstance(offering, Offering) and offering.customer_uuid == made["provider"]
        assert judge_component(offering).status == "pass"
        assert not isinstance(sold, Unanswered) and judge_sole(made["offering"], sold).status == "pass"
        pool = asked.pool_of(made["offering"])
        assert isinstance(pool, Pool)
        ranges = UidRange(min=5000000, max=5499999), GidRange(min=5500000, max=5599999)
        assert judge_pool(pool, *ranges).status == "pass"

    def test_x5_x1_who_may_not_or_cannot(self, waldur: Standing) -> None:
        made = waldur[1]
        said = api(waldur, "f" * 40).me()
        assert (
            isinstance(said, Unanswered) and said.definite and "401" in said.why and "f" * 40 not in said.why
        )
        hidden = api(waldur, "consumer").offering(made["offering"])
        assert isinstance(hidden, Unanswered) and hidden.definite and "404" in hidden.why
        assert "f" * 40 not in repr(api(waldur, "f" * 40))

    def test_x1_a_redirect_a_busy_proxy_and_a_page_of_html_are_no_answer(self, waldur: Standing) -> None:
        said = api(waldur, url=waldur[0].api.replace("/api/", "/elsewhere/api/")).me()
        assert isinstance(said, Unanswered) and said.definite
        said = api(waldur, url="https://127.0.0.1:1/api/").me()
        assert isinstance(said, Unanswered) and not said.definite

    def test_a_list_of_several_pages_is_read_whole(self, waldur: Standing) -> None:
        process, made = waldur
        other = process.act("add_customer", name="Large provider", provider=True)
        for number in range(PAGE_SIZE + 1):
            process.act("add_offering", customer=other, name=f"offering {number}")
        sold = api(waldur, "staff").offerings_of(other)
        assert not isinstance(sold, Unanswered), sold
        assert len({offering.uuid for offering in sold}) == PAGE_SIZE + 1
        assert made["offering"] not in {offering.uuid for offering in sold}

    def test_nothing_is_written(self, waldur: Standing) -> None:
        assert waldur[0].writes() == []


def answered(status: int, code: str = "", kind: str = "application/problem+json") -> Answer:
    body = f'{{"status":{status},"code":"{code}"}}'.encode()
    return Answer(status=status, headers={"content-type": f"{kind}; charset=utf-8"}, body=body)


NOT_FOUND, UNSPOKEN = answered(404, "not_found"), answered(406, "schema_unsupported")


@pytest.mark.parametrize(
    ("answers", "told", "definite"),
    [
        ((NOT_FOUND, UNSPOKEN), "", None),
        ((NOT_FOUND, NOT_FOUND), "another site's", True),
        ((answered(401, "unauthenticated"),), "no intake key", True),
        ((UNSPOKEN,), "no schema this release reads", True),
        ((answered(404, kind="text/html"),), "no Site intake", True),
        ((answered(404, "other"),), "no Site intake", True),
        ((answered(200),), "HTTP 200", False),
        ((answered(503, "unavailable"),), "HTTP 503", False),
        ((NOT_FOUND, answered(429)), "HTTP 429", False),
        ((Unanswered(why="TLS: no", definite=True),), "TLS", True),
        ((NOT_FOUND, Unanswered(why="reset", definite=False)), "reset", False),
    ],
)
def test_p11_i18_the_key_is_proven_by_two_harmless_questions(
    monkeypatch: pytest.MonkeyPatch,
    answers: tuple[Answer | Unanswered, ...],
    told: str,
    definite: bool | None,
) -> None:
    asked: list[dict[str, str]] = []

    def get(url: str, _authority: object, headers: dict[str, str], **_more: object) -> Answer | Unanswered:
        assert url == "https://intake.lab.test/resource-provisioning/slurm/allocations/" + intake._NIL
        asked.append(headers)
        return answers[len(asked) - 1]

    monkeypatch.setattr(intake, "get", get)
    said = ask_intake("https://intake.lab.test", "slurm", None, b"key-of-slurm", timeout=1, limit=100)
    assert len(asked) == len(answers) and all(h["Authorization"] == "Bearer key-of-slurm" for h in asked)
    if definite is None:
        assert said == Opened()
    else:
        assert isinstance(said, Unanswered) and told in said.why and said.definite == definite, said
        assert "key-of-slurm" not in said.why

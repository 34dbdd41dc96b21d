"""The page's parts, words and standings as values, and what its paths refuse (O1, X1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from central.kernel.driver_errors import DatabaseUnavailable, RightMissing
from central.kernel.errors import Unavailable
from central.kernel.http import create_app
from central.kernel.observability import Metrics
from central.web import pages, tables
from central.web.known import Row, Rows, Want
from central.web.model import Part, Standing
from central.web.render import MEDIA_TYPE, Renderer
from central.web.routes import OverviewRoutes, require_loopback_host
from central.web.words import age_words, amount_words, span_words
from tests.html import faults

NOW = datetime(2026, 11, 2, 10, 0, 30, tzinfo=UTC)
ALLOCATION = {
    "allocationId": "00000000-0000-4000-8000-000000000001",
    "nativeName": None,
    "projectId": None,
    "lifecycle": "pending",
    "reasons": ["project_unbound", "provisioning"],
    "configured": None,
    "applied": {},
    "used": {"memory": 16777216000, "cpu": 144000},
    "lastSeenAt": "2026-11-02T10:00:00Z",
    "standing": "fresh",
    "staleSince": None,
}


@dataclass
class FakeKnown:
    """`Known` as told; `errors` by the name of a read."""

    errors: dict[str, Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sites: Sequence[str] = ("slurm",)

    def _rows(self, name: str, *rows: Row) -> Rows:
        self.asked.append(name)
        if name in self.errors:
            raise self.errors[name]
        return Rows(rows)

    def view(self, now: datetime) -> Rows:
        return self._rows("view")

    def retention(self, now: datetime) -> Rows:
        return self._rows("retention")

    def grants(self, site: str, now: datetime) -> Rows:
        return self._rows("grants")

    def allocations(self, want: Want, now: datetime) -> Rows:
        return self._rows("allocations", ALLOCATION)

    def accounts(self, want: Want, now: datetime) -> Rows:
        return self._rows("accounts")

    def keys(self, want: Want) -> Rows:
        return self._rows("keys")

    def keys_of(self, site: str, member: str) -> Rows:
        return self._rows("keys_of")

    def runs(self, want: Want, now: datetime) -> Rows:
        return self._rows("runs")

    def explain_allocation(self, allocation: UUID, now: datetime) -> Sequence[Row] | None:
        return self._rows("explain").rows

    def explain_account(self, site: str, member: str, now: datetime) -> Sequence[Row] | None:
        return None

    def explain_key(self, key: UUID, now: datetime) -> Sequence[Row] | None:
        return None

    def explain_run(self, run: UUID, now: datetime) -> Sequence[Row] | None:
        return None


def parts(known: FakeKnown) -> dict[str, Part]:
    page = pages.everything(known, NOW)
    return {part.ident: part for section in page.sections for part in section.parts}


def app(known: FakeKnown) -> Flask:
    metrics, renderer = Metrics("overview"), Renderer.load()
    made = create_app(
        "overview", metrics=metrics, ready=lambda: None, media_type=MEDIA_TYPE, respond=renderer.problem
    )
    made.before_request(require_loopback_host)
    made.register_blueprint(OverviewRoutes(known, renderer, lambda: NOW).blueprint())
    return made


def ask(path: str = "/", method: str = "GET", **headers: str) -> Any:
    sent = {"Host": "localhost"} | headers
    return app(FakeKnown()).test_client().open(path, method=method, headers=sent)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("2026-11-02T10:00:30Z", "now"),
        ("2026-11-02T10:00:29Z", "1 second ago"),
        ("2026-11-02T09:58:30Z", "2 minutes ago"),
        ("2026-11-02T08:58:29Z", "1 hour 2 minutes ago"),
        ("2026-10-31T10:00:29Z", "2 days ago"),
        ("2026-11-02T10:00:35Z", "in 5 seconds"),
    ],
)
def test_o1_ages_are_words(at: str, words: str) -> None:
    assert age_words(at, NOW) == words
    assert span_words(0) == "0 seconds"


@pytest.mark.parametrize(
    ("component", "amount", "words"),
    [
        ("cpu", 0, "0 CPU"),
        ("cpu", 144_000, "144 CPU"),
        ("cpu", 144_001, "144001 millicores of CPU"),
        ("memory", 0, "0 bytes memory"),
        ("memory", 1, "1 byte memory"),
        ("memory", 1023, "1023 bytes memory"),
        ("memory", 515_396_075_520, "480 GiB memory"),
        ("memory", 515_396_075_521, "515396075521 bytes memory"),
        ("ephemeral_storage", 1024, "1 KiB ephemeral storage"),
        ("storage", 5 * 1024**5, "5120 TiB storage"),
        ("gpu.gh200", 1, "1 gh200 GPU"),
        ("gpu.a100_80", 2, "2 a100_80 GPUs"),
    ],
)
def test_x3_an_amount_has_its_unit_and_is_never_rounded(component: str, amount: int, words: str) -> None:
    assert amount_words(component, amount) == words


def test_e6_a_members_keys_name_the_account_where_it_is_known() -> None:
    row = dict.fromkeys(("active", "pending", "removing", "removed", "held", "refused"), 0)
    rows = [{**row, "member": "m", "accounts": name, "reportedAt": None} for name in ("u1", None)]
    table = tables.keys("slurm", Rows(rows), NOW)
    assert [[cell.text for cell in cells[:2]] for cells in table.rows] == [["m", "u1"], ["m", "not known"]]


def test_p4_limits_not_known_are_not_nothing() -> None:
    table = tables.allocations("slurm", Rows([ALLOCATION], "place/1"), NOW)
    ((name, state, standing, _, configured, applied, used, project),) = table.rows
    assert (name.text, state.note) == ("no native name yet", "project_unbound, provisioning")
    assert (standing.text, standing.standing) == ("fresh", Standing.FRESH)
    assert (configured.text, applied.text, used.text) == (
        "not known",
        "nothing",
        "144 CPU, 16000 MiB memory",
    )
    assert (applied.exact, used.exact) == (None, "cpu 144000, memory 16777216000")
    assert project.text == "no Project proven yet"
    assert table.more is not None
    assert table.more.href == "/sites/slurm/allocations?after=place%2F1"


def test_p25_stale_says_since_when_and_from_ahead_it_does_not() -> None:
    stale = {"standing": "stale", "staleSince": "2026-11-02T09:59:30Z"}
    assert tables.standing(stale, NOW).text == "stale since 1 minute ago"
    assert tables.standing(stale | {"staleSince": None}, NOW).text == "stale"
    lost = tables.standing({"standing": "unavailable", "unusable": "the projects are diverged"}, NOW)
    assert (lost.text, lost.note) == ("unavailable", "the projects are diverged")


def test_e18_a_member_no_path_can_carry_has_no_link() -> None:
    assert tables.account_href("slurm", "auth0|a b/../c") is None
    assert tables.account_href("slurm", "..") is None
    assert tables.account_href("slurm", "u1") == "/sites/slurm/accounts/u1"


def test_x1_one_part_lost_is_not_all_lost() -> None:
    known = FakeKnown({"keys": Unavailable("unavailable", "away")})
    found = parts(known)
    assert found["slurm-keys"].unreadable == "unavailable: away"
    assert [one.ident for one in found.values() if one.unreadable] == ["slurm-keys"]
    assert pages.everything(known, NOW).status == 200


def test_x1_p37_a_part_its_role_may_not_read_says_so() -> None:
    found = parts(FakeKnown({"grants": RightMissing("the server refused query all_grants (42501)")}))
    assert found["slurm-grants"].unreadable == "refused: the server refused query all_grants (42501)"
    assert [one.ident for one in found.values() if one.unreadable] == ["slurm-grants"]


def test_x1_a_members_page_is_absent_only_where_everything_of_theirs_is() -> None:
    assert pages.account(FakeKnown(), "slurm", "u1", NOW) is None
    lost = pages.account(FakeKnown({"keys_of": Unavailable("unavailable", "away")}), "slurm", "u1", NOW)
    assert lost is not None
    links, keys = lost.sections[0].parts
    assert (keys.unreadable, lost.status) == ("unavailable: away", 200)
    assert links.table is not None
    assert links.table.empty == "Nobody is known as u1 at slurm."


def test_x1_a_database_that_is_away_is_waited_for_once() -> None:
    known = FakeKnown({"view": DatabaseUnavailable("database_unavailable", "away")})
    found = parts(known)
    assert known.asked == ["view"]
    assert {one.unreadable for one in found.values()} == {"database_unavailable: away"}
    assert pages.everything(FakeKnown(known.errors), NOW).status == 503


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8449", "127.0.0.1:1", "127.3.2.1", "[::1]:65535", "[::1]"]
)
def test_loopback_names_are_answered(host: str) -> None:
    answer = ask(Host=host)
    assert answer.status_code == 200, answer.text
    assert faults(answer.text) == []


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8449", "10.0.0.1",
     "localhost:x", "localhost@evil.example", "[::2]", "[::1", "127.0.0.1:"],
)  # fmt: skip
def test_any_other_name_may_be_a_rebinding(host: str) -> None:
    for path in (
        "/",
        "/allocations/00000000-0000-4000-8000-000000000001",
        "/metrics",
        "/static/overview.css",
    ):
        answer = ask(path, Host=host)
        assert (answer.status_code, "host_refused" in answer.text) == (421, True)
        assert faults(answer.text) == []


def test_nothing_but_get_and_head_is_answered() -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        answer = ask(method=method)
        assert answer.status_code == 405, method
        assert sorted(answer.headers["Allow"].split(", ")) == ["GET", "HEAD"]
    head = ask(method="HEAD")
    assert (head.status_code, head.text) == (200, "")


def test_every_answer_forbids_what_it_does_not_need() -> None:
    for path, status in (("/", 200), ("/nowhere", 404), ("/static/overview.css", 200), ("/?x=1", 400)):
        answer = ask(path)
        assert answer.status_code == status
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "Set-Cookie" not in answer.headers


def test_a_browser_that_takes_html_alone_is_served() -> None:
    assert ask(Accept="text/html").status_code == 200
    refused = ask(Accept="application/json")
    assert (refused.status_code, "not_acceptable" in refused.text) == (406, True)
    assert ask("/static/overview.css", Accept="text/css,*/*;q=0.1").content_type == "text/css; charset=utf-8"

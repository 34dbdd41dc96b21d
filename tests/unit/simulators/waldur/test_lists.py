"""Lists of the simulated Waldur: pages, headers, filters, order, trimmed rows, addresses."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.simulators.waldur.answers import Answer
from tests.unit.simulators.waldur.world import BASE, Site

LIST = "marketplace-provider-resources/"


@pytest.fixture
def site() -> Site:
    """With 25 resources, a minute apart."""
    made = Site()
    for number in range(1, 25):
        made.now += timedelta(minutes=1)
        made.stage.add_resource(made.offering, made.project, f"r{number:02}", backend_id=f"acct{number}")
    return made


def names(answer: Answer) -> list[str]:
    return [row["name"] for row in answer.body]


def links(answer: Answer) -> dict[str, str]:
    parts = [part.split("; ") for part in answer.headers.get("Link", "").split(", ") if part]
    return {name[5:-1]: url[1:-1] for url, name in parts}


def test_ten_rows_a_page_unless_asked(site: Site) -> None:
    answer = site.call("GET", LIST)
    assert (len(answer.body), answer.headers["X-Result-Count"]) == (10, "25")
    assert links(answer) == {"next": f"{BASE}/api/{LIST}?page=2", "last": f"{BASE}/api/{LIST}?page=3"}


def test_links_keep_the_query_and_only_exist_where_there_is_a_page(site: Site) -> None:
    asked = f"{LIST}?page_size=10&o=name&page=2"
    found = links(site.call("GET", asked))
    kept = f"{BASE}/api/{LIST}?page_size=10&o=name"
    assert found == {"first": kept, "prev": kept, "next": f"{kept}&page=3", "last": f"{kept}&page=3"}
    assert set(links(site.call("GET", asked.replace("page=2", "page=3")))) == {"first", "prev"}
    assert "Link" not in site.call("GET", f"{LIST}?page_size=25").headers


@pytest.mark.parametrize("page", ["4", "0", "-1", "x", "", "²"])
def test_no_such_page(site: Site, page: str) -> None:
    answer = site.call("GET", f"{LIST}?page={page}")
    assert (answer.status, answer.body) == (404, {"detail": "Invalid page."})


def test_an_empty_list_has_a_first_page(site: Site) -> None:
    answer = site.call("GET", f"{LIST}?name_exact=none&page=1")
    assert (answer.status, answer.body, answer.headers["X-Result-Count"]) == (200, [], "0")


def test_page_size_is_capped_silently(site: Site) -> None:
    for number in range(300):
        site.stage.add_resource(site.offering, site.project, f"more {number}")
    for size, rows in (("1000", 300), ("300", 300), ("0", 10), ("many", 10)):
        assert len(site.call("GET", f"{LIST}?page_size={size}").body) == rows


def test_head_has_the_count_alone(site: Site) -> None:
    answer = site.call("HEAD", LIST)
    assert (answer.status, answer.empty, answer.headers) == (200, True, {"X-Result-Count": "25"})


def test_a_changed_row_moves_to_the_end_of_an_unordered_list(site: Site) -> None:
    first = next(iter(site.world.resources))
    before = names(site.call("GET", f"{LIST}?page_size=100"))
    site.stage.change("resources", first, {})
    after = names(site.call("GET", f"{LIST}?page_size=100"))
    assert after == before[1:] + before[:1]
    ordered = site.call("GET", f"{LIST}?page_size=100&o=created")
    assert names(ordered) == before


def test_orders(site: Site) -> None:
    assert names(site.call("GET", f"{LIST}?o=-name"))[:2] == ["r24", "r23"]
    assert names(site.call("GET", f"{LIST}?o=state&o=-created"))[0] == "r24"
    assert site.call("GET", f"{LIST}?o=colour").status == 400


def test_filters(site: Site) -> None:
    first = next(iter(site.world.resources))
    site.stage.change("resources", first, {"state": "Erred", "paused": True})
    counts = {
        "state=OK": 24, "state=OK&state=Erred": 25, "state=Terminated": 0, "paused=true": 1,
        "name=R2": 5, "name_exact=r2": 0, "name_exact=r20": 1, "backend_id=acct7": 1, "query=ACCT24": 1,
        f"offering_uuid={site.offering}": 25, f"offering_uuid={'0' * 32}&offering_uuid={site.offering}": 25,
        f"project_uuid={'0' * 32}": 0, "created=2026-11-15T12:20:00Z": 5,
        "modified_before=2026-11-15T12:05:00Z": 5,
    }  # fmt: skip
    for query, count in counts.items():
        assert site.call("GET", f"{LIST}?{query}").headers["X-Result-Count"] == str(count), query


def test_uuid_is_read_with_or_without_dashes(site: Site) -> None:
    dashed = "-".join(site.offering[i:j] for i, j in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    assert site.call("GET", f"{LIST}?offering_uuid={dashed}").headers["X-Result-Count"] == "25"
    assert site.get(f"marketplace-provider-offerings/{dashed.upper()}/")["uuid"] == site.offering


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("state=ok", {"state": ["Select a valid choice. ok is not one of the available choices."]}),
        ("offering_uuid=x", {"offering_uuid": ["Enter a valid UUID."]}),
        ("paused=perhaps", {"paused": ["Must be a valid boolean."]}),
    ],
)
def test_wrong_filters(site: Site, query: str, body: object) -> None:
    answer = site.call("GET", f"{LIST}?{query}")
    assert (answer.status, answer.body) == (400, body)


def test_a_filter_the_simulator_lacks_is_never_passed_over(site: Site) -> None:
    assert site.call("GET", f"{LIST}?ofering_uuid={site.offering}").status == 501


def test_fields_are_trimmed_and_unknown_ones_missing(site: Site) -> None:
    row = site.get(f"{LIST}?field=uuid&field=state&field=nothing")[0]
    assert set(row) == {"uuid", "state"}
    assert set(site.get(f"{LIST}{row['uuid']}/?field=name")) == {"name"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "nowhere/", 404),
        ("DELETE", LIST, 405),
        ("PATCH", "users/me/", 405),
        ("GET", "users/me", 301),
        ("POST", "marketplace-component-usages/set_usage", 301),
        ("GET", f"{LIST}not-a-uuid/", 404),
    ],
)
def test_addresses_and_methods(site: Site, method: str, path: str, status: int) -> None:
    assert site.call(method, path).status == status


def test_credential_comes_before_method_and_body(site: Site) -> None:
    assert site.call("DELETE", LIST, authorization="").status == 401
    path = f"{LIST}{site.resource}/set_backend_id/"
    assert site.call("POST", path, raw=b"{", authorization="").status == 401
    assert site.call("POST", path, raw=b"{").body["detail"].startswith("JSON parse error")
    assert site.call("POST", path, raw=b"a=b", media_type="text/plain").status == 415
    assert site.call("POST", path, []).status == 400


def test_same_acts_give_the_same_world() -> None:
    assert Site().world == Site().world

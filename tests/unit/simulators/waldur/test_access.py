"""Who is let in, who sees what, who may do what (I15)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.simulators.waldur.world import Site

ME = "users/me/"


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.mark.parametrize(
    ("header", "detail"),
    [
        ("", "Authentication credentials were not provided."),
        ("Basic abc", "Authentication credentials were not provided."),
        ("Token", "Invalid token. No credentials provided."),
        ("Token a b", "Invalid token. Token string should not contain spaces."),
        ("Token 0123", "Invalid token."),
        ("Bearer 0123", "Invalid token."),
    ],
)
def test_401_says_why(site: Site, header: str, detail: str) -> None:
    answer = site.call("GET", ME, authorization=header)
    assert (answer.status, answer.body) == (401, {"detail": detail})
    assert answer.headers["WWW-Authenticate"] == "Token"


def test_scheme_in_any_case_and_kinds_apart(site: Site) -> None:
    token = site.made["owner"]
    assert site.call("GET", ME, authorization=f"tOkEn {token}").status == 200
    assert site.call("GET", ME, authorization=f"Bearer {token}").status == 401


def test_token_slides_at_most_once_a_minute(site: Site) -> None:
    user = site.stage.add_user("short@example.org", token_lifetime=100)
    token = site.stage.issue_token(user)
    header = f"Token {token}"
    for seconds, status in ((59, 200), (99, 200), (198, 200), (299, 401)):
        site.now = site.world.users[user].created + timedelta(seconds=seconds)
        assert site.call("GET", ME, authorization=header).status == status, seconds


def test_token_used_within_the_minute_does_not_slide(site: Site) -> None:
    user = site.stage.add_user("short@example.org", token_lifetime=100)
    header = f"Token {site.stage.issue_token(user)}"
    for seconds, status in ((59, 200), (100, 401)):
        site.now = site.world.users[user].created + timedelta(seconds=seconds)
        assert site.call("GET", ME, authorization=header).status == status
    site.stage.change("users", user, {"is_active": False})
    assert site.call("GET", ME, authorization=header).body == {"detail": "User inactive or deleted."}


def test_personal_token_carries_its_end_and_its_scopes_bind_staff(site: Site) -> None:
    staff = site.world.tokens[site.made["staff"]].user
    token = site.stage.issue_token(staff, "pat", permissions=["RESOURCE.SET_BACKEND_ID"], lasts=60)
    path = f"marketplace-provider-resources/{site.resource}"
    header = f"Bearer {token}"
    set_id = {"backend_id": "a"}
    assert site.call("POST", f"{path}/set_backend_id/", set_id, authorization=header).status == 200
    assert site.call("POST", f"{path}/set_state_ok/", authorization=header).status == 403
    site.now += timedelta(seconds=61)
    assert site.call("GET", ME, authorization=header).body == {"detail": "Token has expired."}


def test_roles_end(site: Site) -> None:
    user = site.stage.add_user("temp@example.org")
    site.stage.add_role(user, "CUSTOMER.OWNER", "customer", site.made["provider"], lasts=60)
    header = f"Token {site.stage.issue_token(user)}"
    path = f"marketplace-provider-resources/{site.resource}/"
    assert site.call("GET", path, authorization=header).status == 200
    site.now += timedelta(seconds=60)
    assert site.call("GET", path, authorization=header).status == 404
    assert site.call("GET", "marketplace-provider-resources/", authorization=header).body == []


RESOURCE = "marketplace-provider-resources/{resource}/"
TABLE = {
    "GET marketplace-provider-offerings/{offering}/": "200 200 200 404",
    f"GET {RESOURCE}": "200 200 200 404",
    f"POST {RESOURCE}set_backend_id/": "200 200 200 404",
    f"POST {RESOURCE}set_backend_metadata/": "200 200 200 404",
    f"POST {RESOURCE}set_state_ok/": "200 200 200 404",
    f"POST {RESOURCE}submit_report/": "200 200 403 404",
    f"POST {RESOURCE}set_paused/": "200 403 403 404",
    f"POST {RESOURCE}sync_user_roles/": "200 200 403 404",
    "PATCH marketplace-offering-users/{account}/": "200 200 200 404",
    "POST marketplace-orders/{order}/approve_by_provider/": "200 403 403 403",
    "GET marketplace-orders/{order}/": "200 200 200 200",
}
BODY = {
    "backend_id": "a", "backend_metadata": {}, "report": [{"header": "h", "body": "b"}], "paused": True,
    "username": "alice",
}  # fmt: skip


@pytest.mark.parametrize("what", TABLE)
def test_permission_or_visibility(site: Site, what: str) -> None:
    """403 what one sees and may not; 404 what one does not see. The consumer sees its own order."""
    method, _, path = what.partition(" ")
    expected = [int(status) for status in TABLE[what].split()]
    for who, status in zip(("owner", "manager", "offering_manager", "consumer"), expected, strict=True):
        fresh = Site()
        order = fresh.stage.add_order(fresh.resource)
        names = {
            "resource": fresh.resource,
            "offering": fresh.offering,
            "account": fresh.account,
            "order": order,
        }
        body = None if method == "GET" else BODY
        assert fresh.call(method, path.format(**names), body, who=who).status == status, who


def test_consumer_sees_an_empty_list(site: Site) -> None:
    for path in (
        "marketplace-provider-resources/",
        "marketplace-offering-users/",
        "marketplace-provider-offerings/",
    ):
        assert site.get(path, who="consumer") == []
        assert len(site.get(path, who="staff")) == 1


def test_me_shows_roles_in_the_small_form(site: Site) -> None:
    role = site.get(ME, who="manager")["permissions"][0]
    assert (role["role_name"], role["scope_type"]) == ("CUSTOMER.MANAGER", "serviceprovider")
    assert role["customer_uuid"] == site.made["provider"]
    assert not {"uuid", "created", "role_description", "is_active"} & set(role)
    staff = site.get(ME, who="staff")
    assert (staff["is_staff"], staff["permissions"]) == (True, [])
    assert list(site.get(f"{ME}?field=uuid")) == ["uuid"]


def test_restricted_version(site: Site) -> None:
    assert site.call("GET", "version/", authorization="").body == {"version": "8.1.3"}
    site.world.version_restricted = True
    assert site.call("GET", "version/", authorization="").status == 401
    assert [site.call("GET", "version/", who=who).status for who in ("owner", "staff")] == [403, 200]

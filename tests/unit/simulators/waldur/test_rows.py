"""What a provider does to resources, offering users and orders in the simulated Waldur."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.simulators.waldur.answers import Answer
from tests.simulators.waldur.offering_users import TRANSITIONS
from tests.unit.simulators.waldur.world import Site


@pytest.fixture
def site() -> Site:
    return Site()


def act(site: Site, action: str, body: Any = None) -> Answer:
    return site.call("POST", f"marketplace-provider-resources/{site.resource}/{action}/", body)


def row(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = site.get(f"marketplace-provider-resources/{site.resource}/")
    return found


def test_w21_metadata_is_replaced_whole(site: Site) -> None:
    for metadata in ({"accounts": {"alice": "x"}}, {"qos": "normal"}):
        assert act(site, "set_backend_metadata", {"backend_metadata": metadata}).status == 200
    assert row(site)["backend_metadata"] == {"qos": "normal"}
    assert act(site, "set_backend_metadata", {"backend_metadata": "qos"}).status == 400


def test_backend_id_again_is_200_and_missing_is_400(site: Site) -> None:
    assert [act(site, "set_backend_id", {"backend_id": "a"}).status for _ in range(2)] == [200, 200]
    assert act(site, "set_backend_id", {}).body == {"backend_id": ["This field is required."]}


@pytest.mark.parametrize("limits", [{"gpu": 1}, {"node": "1"}, {"node": -1}, {"node": True}, []])
def test_limits_are_numbers_of_known_components(site: Site, limits: Any) -> None:
    assert act(site, "set_limits", {"limits": limits}).status == 400
    assert row(site)["limits"] == {"node": 100}


def test_erred_and_back(site: Site) -> None:
    answer = act(site, "set_as_erred", {"error_message": "m", "error_traceback": "t"})
    assert (answer.status, answer.empty) == (200, True)
    assert [row(site)[name] for name in ("state", "error_message", "error_traceback")] == ["Erred", "m", "t"]
    act(site, "set_as_ok")
    assert [row(site)[name] for name in ("state", "error_message")] == ["OK", ""]


def test_role_sync_is_throttled_for_half_a_minute(site: Site) -> None:
    assert act(site, "sync_user_roles").status == 200
    site.now += timedelta(seconds=10)
    answer = act(site, "sync_user_roles")
    assert (answer.status, answer.headers["Retry-After"]) == (429, "20")
    assert answer.body == {"detail": "Request was throttled. Expected available in 20 seconds."}
    site.now += timedelta(seconds=20)
    assert act(site, "sync_user_roles").status == 200


def test_membership_statuses_need_the_option(site: Site) -> None:
    body = {"statuses": [
        {"username": "alice@example.org", "scope_type": "resource", "state": "synced"},
        {"username": "ghost", "scope_type": "resource", "state": "error"},
    ]}  # fmt: skip
    assert act(site, "set_membership_sync_statuses", body).status == 409
    site.stage.change("offerings", site.offering, {"plugin_options": {"enable_membership_sync_status": True}})
    assert act(site, "set_membership_sync_statuses", body).body == {"stored": 1, "skipped": ["ghost"]}


def test_team_is_every_active_member_once(site: Site) -> None:
    site.now += timedelta(minutes=1)
    site.stage.add_role(site.alice, "PROJECT.ADMIN", "project", site.project)
    bob = site.stage.add_user("bob@example.org")
    site.stage.add_member(site.project, bob)
    path = f"marketplace-provider-resources/{site.resource}/team/"
    members = [(each["username"], each["role"]) for each in site.get(path)]
    assert members == [("alice@example.org", "PROJECT.MEMBER"), ("bob@example.org", "PROJECT.MEMBER")]
    site.stage.remove_member(site.project, site.alice)
    assert [each["username"] for each in site.get(path)] == ["bob@example.org"]
    assert site.get(f"{path}?has_consent=true") == []


def named(site: Site, name: Any) -> Answer:
    return site.call("PATCH", f"marketplace-offering-users/{site.account}/", {"username": name})


def test_naming_ends_creation_and_clears(site: Site) -> None:
    site.stage.change("offerings", site.offering, {"plugin_options": {"enable_posix_account": True}})
    assert named(site, "alice").body["state"] == "OK"
    assert named(site, "alice").body["home_directory"] == "/home/alice"
    changed = site.world.offering_users[site.account].modified
    site.now += timedelta(minutes=1)
    named(site, "alice")
    assert site.world.offering_users[site.account].modified == changed
    assert named(site, "").body["username"] == ""
    assert named(site, 7).status == 400


def test_p33_naming_is_refused_where_the_provider_holds_accounts(site: Site) -> None:
    site.stage.change("offerings", site.offering, {"plugin_options": {"account_scope": "provider"}})
    assert named(site, "alice").status == 400


def test_username_filter_minds_case_and_login_does_not(site: Site) -> None:
    named(site, "alice")
    lengths = {
        "username=alice": 1, "username=Alice": 0, "user_username=ALICE@example.org": 1, "state=OK": 1,
        "state=Requested": 0,
    }  # fmt: skip
    for query, length in lengths.items():
        assert len(site.get(f"marketplace-offering-users/?{query}")) == length, query


@pytest.mark.parametrize("action", TRANSITIONS)
def test_state_actions_from_each_state(site: Site, action: str) -> None:
    sources, target = TRANSITIONS[action]
    path = f"marketplace-offering-users/{site.account}/{action}/"
    for state in ("Requested", "Creating", "OK", "Deleting", "Deleted", "Error creating", "Error deleting"):
        site.stage.change("offering_users", site.account, {"state": state})
        answer = site.call("POST", path)
        assert answer.status == (200 if state in sources else 409), state
        assert site.world.offering_users[site.account].state == (target if state in sources else state)


def test_comments_are_made_harmless(site: Site) -> None:
    site.stage.change("offering_users", site.account, {"state": "Creating"})
    path = f"marketplace-offering-users/{site.account}/"
    site.call("POST", f"{path}set_pending_account_linking/", {"comment": "<script>"})
    assert "<" not in site.get(path)["service_provider_comment"]


def test_creation_by_url_or_uuid_never_both(site: Site) -> None:
    user, path = site.stage.add_user("carol@example.org"), "marketplace-offering-users/"
    by_uuid = {"offering_uuid": site.offering, "user_uuid": user}
    by_url = {"offering": f"https://inner/api/o/{site.offering}/", "user": f"https://inner/api/users/{user}/"}
    assert site.call("POST", path, by_uuid | by_url).status == 400
    assert site.call("POST", path, by_uuid).status == 400
    site.stage.change(
        "offerings", site.offering, {"plugin_options": {"service_provider_can_create_offering_user": True}}
    )
    assert site.call("POST", path, by_url | {"username": "carol"}).body["state"] == "OK"
    assert site.call("POST", path, by_uuid).status == 400


def test_posix_ids_are_the_pools_and_nobody_elses(site: Site) -> None:
    other = site.stage.add_user("bob@example.org")
    taken = site.stage.add_offering_user(site.offering, other, uidnumber=5_000_007)
    path = f"marketplace-offering-users/{site.account}/set_posix_attributes/"
    for body, status in (
        ({}, 400), ({"uidnumber": 1}, 400), ({"uidnumber": 5_000_007}, 400), ({"uidnumber": 5_000_008}, 200),
    ):  # fmt: skip
        assert site.call("POST", path, body).status == status, body
    assert site.world.offering_users[taken].uidnumber == 5_000_007


def order(site: Site, uuid: str, action: str) -> int:
    return site.call("POST", f"marketplace-orders/{uuid}/{action}/").status


def test_order_runs_once_and_moves_the_resource(site: Site) -> None:
    uuid = site.stage.add_order(
        site.resource, "Update", limits={"node": 7}, attributes={"old_limits": {"node": 100}}
    )
    assert (order(site, uuid, "set_state_done"), row(site)["state"]) == (409, "OK")
    assert (order(site, uuid, "approve_by_provider"), row(site)["state"]) == (200, "Updating")
    assert order(site, uuid, "approve_by_provider") == 409
    assert (order(site, uuid, "set_state_done"), row(site)["limits"]) == (200, {"node": 7})
    assert (order(site, uuid, "set_state_erred"), row(site)["state"]) == (200, "Erred")
    assert order(site, uuid, "cancel") == 409


def test_order_of_another_kind_of_offering(site: Site) -> None:
    site.stage.change("offerings", site.offering, {"type": "OpenStack.Tenant"})
    uuid = site.stage.add_order(site.resource)
    assert order(site, uuid, "approve_by_provider") == 405


def test_termination_that_erred_leaves_the_resource(site: Site) -> None:
    uuid = site.stage.add_order(site.resource, "Terminate")
    order(site, uuid, "approve_by_provider")
    order(site, uuid, "set_state_erred")
    assert row(site)["state"] == "OK"

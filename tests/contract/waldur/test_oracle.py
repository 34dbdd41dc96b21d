"""waldur-api-client 8.1.3, generated from Waldur's own OpenAPI, reads every answer of the simulator (X8)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.environments import EnvironmentUnbuildable, environment
from tests.simulators.waldur.process import WaldurProcess

HERE = Path(__file__).parent
RESOURCES = 230

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the oracle read, and beside it under `made` what stood there."""
    try:
        python = environment("waldur-oracle", HERE / "oracle-requirements.txt")
    except EnvironmentUnbuildable as error:
        pytest.fail(f"no oracle, so nothing is proven: {error}", pytrace=False)
    with WaldurProcess(tmp_path_factory.mktemp("waldur")) as waldur:
        token, uuids, made = stage(waldur)
        done = subprocess.run(
            [python, "-W", "error::SyntaxWarning", HERE / "oracle.py", waldur.api, waldur.ca_file],
            input=json.dumps({"token": token, "uuids": uuids}), capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-4000:]
        yield json.loads(done.stdout) | {"made": made}


def stage(waldur: WaldurProcess) -> tuple[str, dict[str, str], dict[str, Any]]:
    """A provider with more resources than two of the client's pages hold, two members and an order."""
    options = {
        "enable_posix_account": True,
        "service_provider_can_create_offering_user": True,
        "enable_membership_sync_status": True,
    }
    made = waldur.stand(**options)
    project = waldur.act("add_project", name="Lattice", customer=made["customer"])
    resources = [
        waldur.act("add_resource", offering=made["offering"], project=project, name=f"allocation {number}")
        for number in range(RESOURCES)
    ]
    waldur.act("add_resource", offering=made["offering"], project=project, name="gone", state="Terminated")
    users = [waldur.act("add_user", username=f"{name}@example.org") for name in ("alice", "bob", "carol")]
    accounts = [waldur.act("add_member", project=project, user=user)[0] for user in users[:2]]
    waldur.act("add_user_usage_limit", resource=resources[0], type="node", username="bob", limit="100.00")
    order = waldur.act("add_order", resource=resources[1])
    uuids = {
        "offering": made["offering"], "project": project, "resource": resources[0], "order": order,
        "offering_user": accounts[0], "other_offering_user": accounts[1], "user": users[1],
        "stranger": users[2], "username": "alice@example.org",
    }  # fmt: skip
    return made["owner"], uuids, made | {"resources": resources}


def test_no_field_is_invented(found: dict[str, Any]) -> None:
    assert found["undeclared"] == {}


def test_resources_are_walked_whole_in_order(found: dict[str, Any]) -> None:
    read = found["resources"]
    assert read["uuids"] == found["made"]["resources"]
    assert (read["trimmed"], read["trimmed_name"]) == (RESOURCES + 1, True)


def test_what_a_provider_writes_is_read_back(found: dict[str, Any]) -> None:
    read = found["resources"]
    assert read["metadata"]["qos"] == "normal"
    assert list(read["metadata"]["accounts"]) == ["alice"]
    assert (read["backend_id"], read["limits"], read["paused"]) == ("proj_a", {"node": 1.5}, True)
    assert read["erred"] == ["Erred", "no such account"]
    assert (read["state"], read["report"], read["count"]) == ("OK", 1, 200)
    assert read["synced"]["stored"] == 1
    assert read["role_syncs"] == [200, 429]


def test_team_has_a_row_a_user_named_or_not(found: dict[str, Any]) -> None:
    team = found["resources"]["team"]
    assert team == [[f"{name}@example.org", "PROJECT.MEMBER", None] for name in ("alice", "bob")]


def test_offering_user_goes_through_its_states(found: dict[str, Any]) -> None:
    read = found["offering_users"]
    assert read["states"] == [
        "Requested", "Creating", "Pending account linking", "Pending additional validation", "OK",
        "Requested deletion", "Error deleting", "Deleting", "Deleted",
    ]  # fmt: skip
    assert read["illegal"] == 409
    assert read["named"] == ["bob", "OK", "/home/bob"]
    assert (read["made"], read["rows"]) == (["carol", "OK"], 1)
    ids = [["uid", 5_000_001], ["gid", 5_500_001]]
    assert (read["groups"], read["ids"], read["held"]) == (["project_group"], ids, ["uid", "gid"])


def test_usage_is_a_string_the_model_calls_int(found: dict[str, Any]) -> None:
    read = found["usage"]
    assert read["rows"] == [["node", "25.50", 1]]
    assert read["per_user"] == [["alice", "5.00"], ["bob", "21.00"]]
    assert read["limits"] == [["bob", "100.00"]]


def test_order_is_approved_and_done_once(found: dict[str, Any]) -> None:
    assert found["orders"] == {"pending": 1, "state": "done", "again": 409, "backend_id": "o-1"}


def test_catalogue(found: dict[str, Any]) -> None:
    read, made = found["catalogue"], found["made"]
    assert read["version"] == "8.1.3"
    assert read["roles"] == [["CUSTOMER.OWNER", "customer", made["provider"]]]
    assert read["components"] == [["node", "limit", "total"]]
    assert (read["account_scope"], read["exposed"]) == ("offering", ["username", "full_name", "email"])
    assert (read["pools"], read["providers"], read["offerings"]) == ([5_000_000, 1], 1, 1)
    assert (read["people"], read["accounts"]) == (["PROJECT.MEMBER"] * 2, [[], []])


def test_site_agent_registers_once(found: dict[str, Any]) -> None:
    assert found["agents"] == {"same": True, "services": ["report"], "known": 1}

"""Central speaks docs/wire.md: bodies byte for byte, refusals by code (E3, E6, X4, X10)."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from central.grants.entrypoints.grant_route import GrantBody
from central.kernel.strict_json import decode, encode
from central.ssh_access.entrypoints import wire
from tests.contract.central_apps import Apps, make_apps, send
from tests.contract.goldens import Golden, Refused, key_vectors, load
from tests.contract.member_keys_suite import ed25519

BODIES: dict[str, type[msgspec.Struct]] = {
    "member-key-add": wire.AddBody,
    "member-key": wire.KeyBody,
    "member-keys": wire.KeysBody,
    "site-grant": GrantBody,
    "ssh-access-changes": wire.ChangesBody,
    "ssh-access-results": wire.ResultsBody,
    "ssh-access-receipts": wire.ReceiptsBody,
}
SERVED = ("member-key-add", "ssh-access-changes-request", "ssh-access-results")


@pytest.fixture
def apps() -> Apps:
    return make_apps()


def valid_bodies() -> Iterator[Any]:
    for name, kind in BODIES.items():
        for body in load(name).valid:
            yield pytest.param(kind, body.canonical, id=f"{name}-{body.name}")


def refused_requests() -> Iterator[Any]:
    for name in SERVED:
        golden = load(name)
        for case in golden.refused:
            yield pytest.param(golden, case, id=f"{name}-{case.name}")


def with_grant(request: dict[str, Any]) -> dict[str, Any]:
    """A Site's golden that names no credential is sent with a valid one."""
    return {**request, "headers": {"Authorization": "$GRANT", "Pharos-Schema": "1-1", **request["headers"]}}


@pytest.mark.parametrize(("kind", "body"), list(valid_bodies()))
def test_a_valid_body_is_read_and_written_byte_for_byte(kind: type[msgspec.Struct], body: bytes) -> None:
    assert encode(decode(body, kind)) == body


@pytest.mark.parametrize(("golden", "case"), list(refused_requests()))
def test_a_refused_request_gets_its_code(golden: Golden, case: Refused, apps: Apps) -> None:
    request = with_grant(case.request) if golden.name == "ssh-access-results" else case.request
    body = case.raw if golden.request["method"] == "POST" else None
    status, problem, headers = send(apps, request, body)
    assert (status, problem["code"]) == (case.status, case.code)
    assert problem["type"] == f"urn:pharos:problem:{case.code}"
    assert headers["Content-Type"] == "application/problem+json"
    assert apps.keys.keys == {}


def add(apps: Apps, line: str, *, name: str = "laptop", token: str = "$MEMBER", number: int = 41) -> Any:
    request = {
        "method": "POST",
        "path": "/api/v1/me/ssh-keys",
        "headers": {
            "Authorization": token,
            "Idempotency-Key": f"00000000-0000-4000-8000-0000000000{number}",
            "Content-Type": "application/json; charset=utf-8",
        },
    }
    body = json.dumps({"schema": 1, "site": "slurm", "publicKey": line, "name": name}).encode()
    return send(apps, request, body)


@pytest.mark.parametrize("row", key_vectors()["refused"], ids=lambda row: f"{row['case']}_{row['name']}")
def test_c_cases_are_refused_over_http_with_their_code(row: dict[str, Any], apps: Apps) -> None:
    status, problem, _ = add(apps, row["line"])
    if "\x00" in row["line"]:
        assert (status, problem["code"]) == (400, "json_bad_string")  # JSON's own rule comes first (X4)
        return
    assert (status, problem["code"]) == (row["status"], row["code"])
    assert problem["errors"][0]["pointer"] == "/publicKey"
    assert "ERERERERER" not in problem["detail"]  # the fill of every vector: no part of a key comes back (X5)


@pytest.mark.parametrize("row", key_vectors()["valid"], ids=lambda row: f"{row['case']}_{row['name']}")
def test_c_cases_are_accepted_over_http_without_their_comment(row: dict[str, Any], apps: Apps) -> None:
    status, key, _ = add(apps, row["line"])
    assert (status, key["publicKey"], key["fingerprint"]) == (201, row["stored"], row["fingerprint"])
    assert key["state"] == "pending"


@pytest.mark.parametrize("body", load("member-key-add").valid, ids=lambda body: body.name)
def test_an_add_is_answered_as_the_wire_says(body: Any, apps: Apps) -> None:
    golden = load("member-key-add")
    status, key, _ = send(apps, golden.request, body.canonical)
    again, same, _ = send(apps, golden.request, body.canonical)
    assert (status, again) == (201, 200)
    assert key == same
    assert list(key) == list(load("member-key").valid[0].body)
    assert key["addedAt"] == key["changedAt"] == "2026-11-02T10:00:30Z"
    status, keys, _ = send(apps, {**golden.request, "method": "GET"}, None)
    assert (status, keys) == (200, {"schema": 1, "keys": [key]})


def test_a_key_goes_from_member_to_site_and_back(apps: Apps) -> None:
    _, key, _ = add(apps, key_vectors()["valid"][0]["line"])
    request = load("ssh-access-changes-request").request
    status, page, _ = send(apps, {**request, "path": "/v1/site/ssh-access/changes?after=0"}, None)
    assert status == 200
    assert list(page) == list(load("ssh-access-changes").valid[0].body)
    (change,) = page["changes"]
    assert (change["act"], change["keyId"], change["target"]["username"]) == (
        "present",
        key["keyId"],
        "alice",
    )
    results = load("ssh-access-results")
    report = {
        "schema": 1,
        "reportId": "00000000-0000-4000-8000-000000000031",
        "observedAt": "2026-11-02T10:00:35Z",
        "results": [
            {**{k: change[k] for k in ("changeId", "sequence", "keyId")}, "outcome": "applied", "code": None}
        ],
    }
    status, receipts, _ = send(apps, with_grant(results.request), json.dumps(report).encode())
    assert (status, receipts) == (
        200,
        {"schema": 1, "receipts": [{"changeId": change["changeId"], "outcome": "recorded"}]},
    )
    removal = {
        "method": "DELETE",
        "path": f"/api/v1/me/ssh-keys/{key['keyId']}",
        "headers": {"Authorization": "$MEMBER", "Idempotency-Key": "00000000-0000-4000-8000-000000000042"},
    }
    status, gone, _ = send(apps, removal, None)
    assert (status, gone["state"], gone["reportedAt"]) == (202, "removing", "2026-11-02T10:00:35Z")


def test_the_grant_says_what_it_is(apps: Apps) -> None:
    golden = load("site-grant")
    request = {**golden.request, "headers": {"Authorization": "$GRANT", "Pharos-Schema": "1-1"}}
    status, grant, _ = send(apps, request, None)
    assert (status, grant) == (200, golden.valid[0].body)


@pytest.mark.parametrize(
    ("token", "line", "code", "status"),
    [
        ("Bearer carol", "valid", "account_absent", 409),
        ("Bearer dave", "valid", "not_eligible", 403),
        ("Bearer erin", "valid", "unavailable", 503),
        ("Bearer mallory", "valid", "unauthenticated", 401),
    ],
)
def test_who_cannot_add(token: str, line: str, code: str, status: int, apps: Apps) -> None:
    answered, problem, _ = add(apps, key_vectors()[line][0]["line"], token=token)
    assert (answered, problem["code"]) == (status, code)


def test_x1_who_waits_for_the_site_is_told_so(apps: Apps) -> None:
    """Nothing is wrong that waiting does not mend; of a contradiction the member is told nothing more."""
    status, problem, headers = add(apps, key_vectors()["valid"][0]["line"], token="Bearer frank")
    assert (status, problem["code"], headers["Retry-After"]) == (503, "unavailable", "60")
    assert problem["detail"].startswith(
        "The Site has not confirmed the account yet: its account was not reported lately. Try again in some "
        "minutes"
    )
    status, problem, headers = add(apps, key_vectors()["valid"][0]["line"], token="Bearer erin")
    assert (status, problem["code"], headers["Retry-After"]) == (503, "unavailable", "2")
    assert "contradict" not in problem["detail"]


def test_the_21st_key_is_refused(apps: Apps) -> None:
    """`key_limit`: 20 keys that are not removed at a Site."""
    for number in range(20):
        assert add(apps, ed25519(number + 1), number=50 + number)[0] == 201
    status, problem, _ = add(apps, ed25519(99), number=99)
    assert (status, problem["code"]) == (409, "key_limit")
    assert "20" in problem["detail"]


def test_the_same_key_again_names_the_one_that_is_there(apps: Apps) -> None:
    add(apps, ed25519(1))
    status, problem, _ = add(apps, ed25519(1), number=42)
    assert (status, problem["code"]) == (409, "key_exists")
    assert str(next(iter(apps.keys.keys))) in problem["detail"]


@pytest.mark.parametrize("key_id", ["x", "00000000-0000-4000-8000-00000000002", "%F0%9F%94%91", "0" * 32])
def test_a_key_that_is_none_of_mine_is_unknown(key_id: str, apps: Apps) -> None:
    request = {
        "method": "DELETE",
        "path": f"/api/v1/me/ssh-keys/{key_id}",
        "headers": {"Authorization": "$MEMBER", "Idempotency-Key": "00000000-0000-4000-8000-000000000042"},
    }
    status, problem, _ = send(apps, request, None)
    assert (status, problem["code"]) == (404, "key_unknown")

"""Garbage, tricks and strangers against the running APIs: a 4xx with its code, never a 5xx (E, G; X4, X5)."""

import base64
import json
import re
import socket
import threading
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from central.grants.domain.grant import Scope
from tests.contract.goldens import load
from tests.contract.member_keys_suite import ed25519
from tests.postgres.ssh_access.conftest import Running, add_body

ADD = "/api/v1/me/ssh-keys"


@pytest.fixture(scope="module")
def token(running: Running) -> str:
    return running.token()


@pytest.fixture(scope="module")
def grant(running: Running) -> str:
    return running.grant()


def post(running: Running, token: str, content: bytes, **headers: str) -> tuple[int, str]:
    answer = running.member(token, "POST", body=content, **headers)
    return answer.status, answer.body["code"]


def ask(
    running: Running, url: str, method: str, path: str, headers: dict[str, str]
) -> tuple[bytes, bytes, bytes]:
    """One request as bytes, for paths and headers a client would tidy: head, separator, body."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{lines}\r\n"
    return running.raw(url, request.encode("latin-1")).partition(b"\r\n\r\n")


@pytest.mark.parametrize("case", load("member-key-add").refused, ids=lambda case: case.name)
def test_the_running_member_api_refuses_each_golden(case: Any, running: Running, token: str) -> None:
    stand_ins = {"$MEMBER": f"Bearer {token}"}
    headers = {name: stand_ins.get(value, value) for name, value in case.request["headers"].items()}
    answer = running.send("POST", f"{running.member_url}{ADD}", headers, case.raw)
    assert (answer.status, answer.body["code"]) == (case.status, case.code)


@pytest.mark.parametrize("case", load("ssh-access-changes-request").refused, ids=lambda case: case.name)
def test_the_running_site_api_refuses_each_golden(case: Any, running: Running, grant: str) -> None:
    """Sent as raw bytes: a client would tidy the paths."""
    headers = {
        name: f"Bearer {grant}" if value == "$GRANT" else value
        for name, value in case.request.get("headers", {}).items()
    }
    head, _, body = ask(running, running.site_url, case.request["method"], case.request["path"], headers)
    assert int(head.split()[1]) == case.status
    assert json.loads(body)["code"] == case.code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"schema":1,"name":"a\\u0000b"}', "json_bad_string"),
        (b'{"name":"\\ud800"}', "json_bad_string"),
        (b'{"a":"\xff"}', "json_not_utf8"),
        (b'{"party":"p1","party":"p2"}', "json_duplicate_key"),
        (b"[" * 5000, "json_too_deep"),
        (b"\xef\xbb\xbf{}", "json_malformed"),
        (b"{}" * 2, "json_malformed"),
        (b"null", "json_not_object"),
    ],
    ids=["E01", "E02", "E03", "E04", "deep", "bom", "two", "null"],
)
def test_bodies_that_are_no_json_object(content: bytes, code: str, running: Running, token: str) -> None:
    assert post(running, token, content) == (400, code)


def test_e01_nul_in_a_path_is_400(running: Running, token: str) -> None:
    credential = {"Authorization": f"Bearer {token}"}
    head, _, _ = ask(running, running.member_url, "DELETE", f"{ADD}/a%00b", credential)
    assert b" 400 " in head.split(b"\r\n", 1)[0]


def test_e08_content_types(running: Running, token: str) -> None:
    body = json.dumps(add_body(3000)).encode()
    assert post(running, token, body, **{"Content-Type": "text/plain"}) == (415, "media_type_refused")
    assert post(running, token, body, **{"Content-Type": "application/json; charset=latin-1"})[0] == 415
    answer = running.member(token, "POST", body=body, **{"Content-Type": "application/json; charset=utf-8"})
    assert answer.status == 201


def test_content_encoding_is_refused_before_the_credential(running: Running) -> None:
    answer = running.send("POST", f"{running.member_url}{ADD}", {"Content-Encoding": "gzip"}, b"\x1f\x8b")
    assert (answer.status, answer.body["code"]) == (415, "content_encoding_refused")


@pytest.mark.parametrize(
    "time",
    [
        "2026-01-01T00:00:00",
        "20260101T000000Z",
        "2026-W01-1T00:00Z",
        "2026-01-01",
        "2026-01-01T00:00:00,5Z",
        "2026-01-01T00:00:00+00:00:30",
        "2026-01-01T00:00:00.1234567Z",
        "2026-06-30T23:59:60Z",
        "infinity",
        "2026-01-01T00:00:00Z\n",
    ],
)
def test_e09_e12_times_outside_rfc_3339_are_refused(time: str, running: Running, grant: str) -> None:
    body = {**load("ssh-access-results").valid[0].body, "observedAt": time, "reportId": str(uuid4())}
    answer = running.site(grant, "POST", "/results", body)
    assert (answer.status, answer.body["code"]) == (400, "time_invalid")


def test_e12_z_and_zero_offset_are_one_instant(running: Running, grant: str) -> None:
    added = running.member(running.token("bob"), "POST", body=add_body(3001)).body
    changes = running.site(grant, "GET", "/changes?after=0").body["changes"]
    change = next(change for change in changes if change["keyId"] == added["keyId"])
    outcomes = []
    for time in ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"):
        body = {
            "schema": 1,
            "reportId": str(uuid4()),
            "observedAt": time,
            "results": [
                {
                    "changeId": change["changeId"],
                    "sequence": change["sequence"],
                    "keyId": change["keyId"],
                    "outcome": "applied",
                    "code": None,
                }
            ],
        }
        outcomes.append(running.site(grant, "POST", "/results", body).body["receipts"][0]["outcome"])
    assert outcomes == ["recorded", "unchanged", "unchanged"]


def test_a_report_with_another_body_under_its_id_is_refused(running: Running, grant: str) -> None:
    body = {**load("ssh-access-results").valid[0].body, "reportId": str(uuid4())}
    first = running.site(grant, "POST", "/results", body)
    again = running.site(grant, "POST", "/results", body)
    other = running.site(grant, "POST", "/results", {**body, "observedAt": "2026-01-01T00:00:00Z"})
    assert (first.status, again.body) == (200, first.body)
    assert (other.status, other.body["code"]) == (409, "command_reused")


@pytest.mark.parametrize("query", ["?token=SECRET", "?%74oken=SECRET", "?after=0&access_token=SECRET"])
def test_e18_a_token_in_the_query_opens_nothing_and_is_not_logged(
    query: str, running: Running, grant: str
) -> None:
    url = f"{running.site_url}/v1/site/ssh-access/changes{query.replace('SECRET', grant)}"
    answer = running.send("GET", url, {"Pharos-Schema": "1-1"})
    assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
    assert grant.split("_", 2)[2] not in running.logs["site-api"].read_text()


def test_x5_no_credential_and_no_key_comment_is_in_any_log(running: Running, token: str, grant: str) -> None:
    """Adds a key with a telling comment, uses both tokens well and badly, then reads all that was logged."""
    body = {**add_body(3002), "publicKey": f"{ed25519(3002)} telltale-comment"}
    assert running.member(token, "POST", body=body).status == 201
    running.site(grant[:-4] + "AAAA", "GET", "/grant")
    running.member(token[:-8] + "AAAAAAAA", "GET")
    written = "".join(log.read_text() for log in running.logs.values())
    assert '"event":"key_added"' in written
    assert '"alice"' not in written
    for secret in (token.split(".")[2], grant.split("_", 2)[2][:-4], "telltale-comment"):
        assert secret not in written
    with psycopg.connect(running.admin_url) as connection:
        row = connection.execute(
            "SELECT (SELECT string_agg(k::text, '') FROM ssh_access.member_keys k)"
            " || (SELECT string_agg(v::text, '') FROM ssh_access.aggregate_versions v)"
        ).fetchone()
    assert row is not None
    assert "telltale-comment" not in row[0]


@pytest.mark.parametrize(
    "path",
    ["//v1/site/ssh-access/grant", "/v1/site/ssh-access%2Fgrant", "/%2e%2e/v1/site/ssh-access/grant",
     "/v1/site/ssh-access/grant/", "/V1/site/ssh-access/grant", "/v1/site/ssh-access/./grant"],
)  # fmt: skip
def test_e19_path_tricks_are_404_without_a_redirect(path: str, running: Running, grant: str) -> None:
    credential = {"Authorization": f"Bearer {grant}", "Pharos-Schema": "1-1"}
    head, _, _ = ask(running, running.site_url, "GET", path, credential)
    assert b" 404 " in head.split(b"\r\n", 1)[0]
    assert b"location:" not in head.lower()


def test_i18_neither_origin_serves_the_others_paths(running: Running, token: str, grant: str) -> None:
    member = {"Authorization": f"Bearer {token}"}
    site = {"Authorization": f"Bearer {grant}", "Pharos-Schema": "1-1"}
    assert running.send("GET", f"{running.site_url}{ADD}", member).status == 404
    assert running.send("GET", f"{running.member_url}/v1/site/ssh-access/grant", site).status == 404
    assert (
        running.send("GET", f"{running.member_url}{ADD}", {"Authorization": f"Bearer {grant}"}).status == 401
    )
    assert running.site(token, "GET", "/grant").status == 401


def test_i18_a_grant_of_the_other_scope_is_403(running: Running) -> None:
    other = running.grant("k8s", Scope.COMMANDS)
    answer = running.site(other, "GET", "/grant")
    assert (answer.status, answer.body["code"]) == (403, "forbidden")


def test_a_site_sees_its_own_changes_only(running: Running, token: str) -> None:
    added = running.member(token, "POST", body=add_body(3003, "k8s")).body
    of = {
        site: [
            c["keyId"] for c in running.site(running.grant(site), "GET", "/changes?after=0").body["changes"]
        ]
        for site in ("slurm", "k8s")
    }
    assert added["keyId"] in of["k8s"]
    assert added["keyId"] not in of["slurm"]


@pytest.mark.parametrize(
    "lines",
    [
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: ,chunked",
        "Transfer-Encoding: \x0bchunked",
        "Transfer-Encoding: identity, chunked\r\nContent-Length: 0",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Content-Length : 5",
    ],
)
def test_g04_requests_two_readers_would_read_differently_are_400(
    lines: str, running: Running, grant: str
) -> None:
    """Another request follows in the same bytes; it is never answered."""
    smuggled = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    request = (
        f"POST /v1/site/ssh-access/results HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {grant}\r\n"
        f"Pharos-Schema: 1-1\r\nContent-Type: application/json\r\n{lines}\r\n\r\n"
    )
    received = running.raw(running.site_url, request.encode("latin-1") + smuggled)
    assert b" 400 " in received.split(b"\r\n", 1)[0]
    assert b'"alive"' not in received


def test_g05_underscore_headers_and_script_name_change_nothing(running: Running, grant: str) -> None:
    request = (
        f"GET /v1/site/ssh-access/grant HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {grant}\r\nPharos-Schema: 1-1\r\nPharos_Schema: 9-9\r\n"
        "Script_Name: /v1\r\nSCRIPT-NAME: /v1\r\nX_Forwarded_Proto: https\r\n\r\n"
    )
    head = running.raw(running.site_url, request.encode()).split(b"\r\n", 1)[0]
    assert b" 200 " in head


def test_g06_a_strangers_forwarded_address_is_not_believed(running: Running, grant: str) -> None:
    running.site(grant, "GET", "/grant", **{"X-Forwarded-For": "192.0.2.77"})
    written = running.logs["site-api"].read_text()
    assert "192.0.2.77" not in written
    assert '"peer":"127.0.0.1"' in written


def test_g02_a_client_that_goes_away_mid_body_changes_nothing(running: Running, token: str) -> None:
    body = json.dumps(add_body(3004)).encode()
    request = (
        f"POST {ADD} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\n"
        f"Idempotency-Key: {uuid4()}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body[:-10]
    host, _, port = running.member_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(65536)
    keys = running.member(token, "GET").body["keys"]
    assert not [key for key in keys if key["publicKey"] == ed25519(3004)]


def test_bodies_over_the_cap_are_413(running: Running, token: str, grant: str) -> None:
    assert post(running, token, b"{" + b" " * 16_384 + b"}")[1] == "body_too_large"
    answer = running.site(grant, "POST", "/results", b"{" + b" " * 262_144 + b"}")
    assert (answer.status, answer.body["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "bearer a.b.c", "Bearer " + "a" * 8000, "Bearer é"],
)
def test_odd_authorization_headers_are_401(authorization: str, running: Running) -> None:
    for url, path in ((running.member_url, ADD), (running.site_url, "/v1/site/ssh-access/grant")):
        head, _, body = ask(running, url, "GET", path, {"Authorization": authorization})
        assert b" 401 " in head.split(b"\r\n", 1)[0]
        assert b"www-authenticate: bearer" in head.lower()
        assert json.loads(body)["code"] == "unauthenticated"


def test_tokens_that_prove_nothing_are_401(running: Running) -> None:
    good = running.token()
    head, claims, signature = good.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","kid":"x"}').decode().rstrip("=")
    for token in (
        f"{head}.{claims}.{signature[:-6]}AAAAAA",
        f"{none}.{claims}.",
        f"{none}.{claims}.{signature}",
        running.token(lifetime=-60),
        running.token(audience="somebody-else"),
    ):
        assert running.member(token, "GET").status == 401


def test_garbage_of_every_kind_is_never_a_500(running: Running, token: str, grant: str) -> None:
    """Raw bytes at both ends; whatever comes back is a 4xx or a closed connection."""
    garbage = [
        b"\x00" * 64,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(200)) + b"\r\n",
        b"BREW /v1/site/ssh-access/grant HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /v1/site/ssh-access/results HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n"
        b"Connection: close\r\nAuthorization: Bearer " + grant.encode() + b"\r\nPharos-Schema: 1-1\r\n\r\n",
        b"PUT " + ADD.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /v1/site/ssh-access/changes?after=0&limit=%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        b"Authorization: Bearer " + grant.encode() + b"\r\nPharos-Schema: 1-1\r\n\r\n",
    ]
    for url in (running.site_url, running.member_url):
        for request in garbage:
            received = running.raw(url, request, half_close=True)
            status = received.split(b" ", 2)[1:2]
            assert not status or status[0][:1] == b"4", received[:200]
    lines = "".join(log.read_text() for log in running.logs.values())
    assert not re.search(r'"status":5\d\d(?!.*"code":"unavailable")', lines.replace('"status":503', ""))
    assert "Traceback" not in lines


def test_slow_uploads_do_not_stop_the_service(running: Running) -> None:
    """Four clients that send a byte and wait: others are answered."""
    host, _, port = running.member_url.removeprefix("http://").partition(":")
    sockets = [socket.create_connection((host, int(port)), timeout=60) for _ in range(4)]
    try:
        for connection in sockets:
            connection.sendall(f"POST {ADD} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode())
        done = threading.Event()

        def ask_health() -> None:
            assert running.send("GET", f"{running.member_url}/healthz", {}).status == 200
            done.set()

        threading.Thread(target=ask_health, daemon=True).start()
        assert done.wait(60)
    finally:
        for connection in sockets:
            connection.close()

"""The HTTP application: documents for every refusal, nothing before its turn, one line a request (X4, X9)."""

import io
import json
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from flask import Flask, Response
from werkzeug.test import TestResponse

from central.kernel.errors import CorruptState, Unavailable
from central.kernel.http import (
    HttpLimits,
    answer,
    bearer_token,
    create_app,
    idempotency_key,
    read_json,
    read_query,
)
from central.kernel.observability import Metrics
from central.kernel.problems import FORBIDDEN, Problem
from central.kernel.times import parse_rfc3339


class Body(msgspec.Struct, forbid_unknown_fields=True):
    cpu: int


class Fault(Exception):
    """Raised by the view ``/fails``."""


FAILURES: dict[str, Exception] = {
    "problem": Problem(FORBIDDEN, "not with this scope", headers={"X-Why": "scope"}),
    "unavailable": Unavailable("database_busy", "no connection within 5 s", retry_after=7),
    "other-unavailable": Unavailable("ldap_down", "secret-host refused"),
    "corrupt": CorruptState("row hunter2 differs"),
    "bug": Fault("hunter2"),
}


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("trial")


@pytest.fixture
def app(metrics: Metrics) -> Flask:
    app = create_app("trial", metrics=metrics, ready=lambda: None, limits=HttpLimits(body_bytes=200))

    @app.post("/v1/things")
    def add() -> Response:
        token = bearer_token()
        key = idempotency_key()
        return answer({"cpu": read_json(Body).cpu, "token": len(token), "key": str(key)}, status=201)

    @app.get("/v1/things")
    def things() -> Response:
        bearer_token()
        query = read_query("limit", "after", "name")
        limit = query.integer("limit", default=100, minimum=1, maximum=500)
        return answer({"limit": limit, "name": query.text("name", max_length=8)})

    @app.get("/v1/required")
    def required() -> Response:
        return answer({"after": read_query("after").integer("after", minimum=0, maximum=9)})

    @app.post("/v1/big")
    def big() -> Response:
        return answer({"cpu": read_json(Body, body_bytes=1000).cpu})

    @app.get("/v1/fails/<name>")
    def fails(name: str) -> Response:
        if name == "time":
            parse_rfc3339("2026", field="observedAt")
        raise FAILURES[name]

    return app


AUTH = {"Authorization": "Bearer secret-token-k1"}
JSON = {"Content-Type": "application/json", "Idempotency-Key": "0b8f6d6e-6f0e-4d3e-8f5e-111111111111"}


def check(answered: TestResponse, status: int, code: str) -> dict[str, Any]:
    assert answered.content_type == "application/problem+json"
    document: dict[str, Any] = json.loads(answered.data)
    assert (answered.status_code, document["status"], document["code"]) == (status, status, code)
    assert document["requestId"] == answered.headers["X-Request-Id"]
    assert answered.headers["Cache-Control"] == "no-store"
    return document


def test_a_good_request(app: Flask) -> None:
    got = app.test_client().post("/v1/things", data=b'{"cpu":1}', headers=AUTH | JSON)
    assert (got.status_code, got.content_type) == (201, "application/json")
    assert got.json == {"cpu": 1, "token": 15, "key": JSON["Idempotency-Key"]}
    assert got.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"]
)
def test_e08_json_with_its_charset_is_accepted(app: Flask, content_type: str) -> None:
    headers = AUTH | JSON | {"Content-Type": content_type}
    assert app.test_client().post("/v1/things", data=b'{"cpu":1}', headers=headers).status_code == 201


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "", "application/json; charset=latin-1", "application/json; x=1", "application/jsonx",
     "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"],
)  # fmt: skip
def test_e08_another_content_type_is_415_as_a_document(app: Flask, content_type: str) -> None:
    headers = AUTH | JSON | {"Content-Type": content_type}
    check(app.test_client().post("/v1/things", data=b'{"cpu":1}', headers=headers), 415, "media_type_refused")


@pytest.mark.parametrize("encoding", ["gzip", "identity", "br, gzip", ""])
def test_x4_content_encoding_is_refused_before_the_credential(app: Flask, encoding: str) -> None:
    headers = JSON | {"Content-Encoding": encoding}
    got = app.test_client().post("/v1/things", data=b"x", headers=headers)
    check(got, 415, "content_encoding_refused")


def test_x4_the_credential_is_asked_before_the_body_and_the_query(app: Flask) -> None:
    client = app.test_client()
    got = client.post("/v1/things", data=b"\xff", headers={"Content-Type": "text/plain"})
    check(got, 401, "unauthenticated")
    assert got.headers["WWW-Authenticate"].startswith("Bearer")
    check(client.get("/v1/things?unknown=1"), 401, "unauthenticated")


def test_x4_the_body_cap_is_exact_and_named(app: Flask) -> None:
    client = app.test_client()
    fits = b'{"cpu":1}'.ljust(200)
    assert client.post("/v1/things", data=fits, headers=AUTH | JSON).status_code == 201
    over = client.post("/v1/things", data=fits + b" ", headers=AUTH | JSON)
    assert "200" in check(over, 413, "body_too_large")["detail"]
    assert client.post("/v1/big", data=fits.ljust(1000), headers=JSON).status_code == 200
    check(client.post("/v1/big", data=fits.ljust(1001), headers=JSON), 413, "body_too_large")


def test_x4_a_chunked_body_is_refused_whatever_its_size(app: Flask) -> None:
    got = app.test_client().post(
        "/v1/things",
        input_stream=io.BytesIO(b'{"cpu":1}'),
        headers=AUTH | JSON | {"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    check(got, 411, "length_required")


@pytest.mark.parametrize(
    "key",
    [None, "", "1", "0B8F6D6E6F0E4D3E8F5E111111111111", "{0b8f6d6e-6f0e-4d3e-8f5e-111111111111}", "x" * 400],
)
def test_x7_an_idempotency_key_is_one_uuid(app: Flask, key: str | None) -> None:
    headers = {**AUTH, "Content-Type": "application/json"} | (
        {"Idempotency-Key": key} if key is not None else {}
    )
    got = app.test_client().post("/v1/things", data=b'{"cpu":1}', headers=headers)
    check(got, 400, "request_malformed")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nothing", 404, "not_found"),
        ("//v1/things", 404, "not_found"),
        ("/v1//things", 404, "not_found"),
        ("/v1%2Fthings", 404, "not_found"),
        ("/v1/x%2F..%2Fthings", 404, "not_found"),
        ("/v1/%2e%2e/v1/things", 404, "not_found"),
        ("/v1/../v1/things", 404, "not_found"),
        ("/v1/./things", 404, "not_found"),
        ("/v1/things/", 404, "not_found"),
        ("/v1%5cthings", 404, "not_found"),
        ("/V1/things", 404, "not_found"),
        ("/healthz/", 404, "not_found"),
        ("/v1/things%00", 400, "request_malformed"),
        ("/" + "a" * 2048, 414, "uri_too_long"),
        ("/v1/things?" + "a" * 2049, 414, "uri_too_long"),
    ],
)
def test_e19_path_tricks_find_nothing_and_redirect_nowhere(
    app: Flask, path: str, status: int, code: str
) -> None:
    environ = {"RAW_URI": path, "REQUEST_URI": path}
    got = app.test_client().get(path, headers=AUTH, environ_overrides=environ)
    check(got, status, code)
    assert "Location" not in got.headers


def test_e19_an_absolute_target_is_read_by_its_path(app: Flask) -> None:
    environ = {"RAW_URI": "http://other.example/v1/things"}
    assert app.test_client().get("/v1/things", headers=AUTH, environ_overrides=environ).status_code == 200
    environ = {"RAW_URI": "http://other.example/v1%2fthings"}
    check(app.test_client().get("/v1/things", headers=AUTH, environ_overrides=environ), 404, "not_found")


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "PATCH", "FOO"])
def test_x4_another_method_is_405_with_allow(app: Flask, method: str) -> None:
    got = app.test_client().open("/v1/things", method=method)
    check(got, 405, "method_not_allowed")
    assert {"GET", "HEAD", "POST"} >= set(got.headers["Allow"].split(", ")) >= {"GET", "POST"}


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=-1", "limit=1e2", "limit=", "limit=%25%25", "limit=1&limit=2", "page=1",
     "limit=1&x", "limit=%EF%BC%91", "limit=99999999999999999999999", "name=123456789", "name=a%00"],
)  # fmt: skip
def test_e27_query_parameters_are_strict(app: Flask, query: str) -> None:
    document = check(app.test_client().get(f"/v1/things?{query}", headers=AUTH), 400, "query_invalid")
    assert len(document["errors"]) == 1


def test_e27_defaults_and_required_parameters(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/v1/things", headers=AUTH).json == {"limit": 100, "name": None}
    assert client.get("/v1/things?limit=500&name=abc", headers=AUTH).json == {"limit": 500, "name": "abc"}
    assert client.get("/v1/required?after=0").json == {"after": 0}
    assert check(client.get("/v1/required"), 400, "query_invalid")["errors"][0]["pointer"] == "after"


def test_x4_an_accept_that_excludes_json_is_406_and_probes_do_not_care(app: Flask) -> None:
    client = app.test_client()
    check(client.get("/v1/things", headers=AUTH | {"Accept": "text/html"}), 406, "not_acceptable")
    for accept in ("application/json", "*/*", "application/*", "text/html, */*;q=0.1"):
        assert client.get("/v1/things", headers=AUTH | {"Accept": accept}).status_code == 200
    assert client.get("/metrics", headers={"Accept": "text/plain"}).status_code == 200


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("problem", 403, "forbidden"),
        ("unavailable", 503, "database_busy"),
        ("other-unavailable", 503, "unavailable"),
        ("corrupt", 500, "state_corrupt"),
        ("bug", 500, "internal_error"),
        ("time", 400, "time_invalid"),
    ],
)
def test_x4_every_error_is_a_document_that_tells_nothing_inside(
    app: Flask, log_stream: io.StringIO, name: str, status: int, code: str
) -> None:
    got = app.test_client().get(f"/v1/fails/{name}")
    check(got, status, code)
    assert b"hunter2" not in got.data
    assert b"secret-host" not in got.data
    assert ("Retry-After" in got.headers) == (status == 503)
    logged = [json.loads(line) for line in log_stream.getvalue().splitlines()]
    assert all(line["requestId"] == got.headers["X-Request-Id"] for line in logged)


def test_x4_headers_of_a_problem_are_answered(app: Flask) -> None:
    got = app.test_client().get("/v1/fails/problem")
    assert got.headers["X-Why"] == "scope"
    assert app.test_client().get("/v1/fails/unavailable").headers["Retry-After"] == "7"


@pytest.mark.parametrize(
    "path", ["/v1/things?token=k1", "/v1/things?%74oken=k1", "/nothing?k1", "//x?a=k1#k1"]
)
def test_e18_a_secret_in_the_query_reaches_no_log(app: Flask, log_stream: io.StringIO, path: str) -> None:
    environ = {"RAW_URI": path}
    got = app.test_client().get(path, environ_overrides=environ)
    assert got.status_code in {401, 404}
    assert b"k1" not in got.data
    assert log_stream.getvalue()
    assert "k1" not in log_stream.getvalue()


def test_x5_the_credential_reaches_no_log(app: Flask, log_stream: io.StringIO) -> None:
    app.test_client().post("/v1/things", data=b'{"cpu":1}', headers=AUTH | JSON)
    assert "secret-token" not in log_stream.getvalue()


def test_x9_one_line_a_request_with_its_id(app: Flask, log_stream: io.StringIO) -> None:
    given = str(uuid4())
    got = app.test_client().get("/v1/things", headers=AUTH | {"X-Request-Id": given})
    assert got.headers["X-Request-Id"] == given
    (line,) = [json.loads(text) for text in log_stream.getvalue().splitlines()]
    assert line["event"] == "request"
    assert line["process"] == "trial"
    assert line["requestId"] == given
    assert (line["method"], line["route"], line["path"], line["status"]) == (
        "GET",
        "/v1/things",
        "/v1/things",
        200,
    )


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/fails/problem", 403, "forbidden"),
        ("/nothing", 404, "not_found"),
        ("/v1/fails/bug", 500, "internal_error"),
    ],
)
def test_x9_the_line_of_a_refused_request_has_its_code(
    app: Flask, log_stream: io.StringIO, path: str, status: int, code: str
) -> None:
    assert app.test_client().get(path).status_code == status
    line = [json.loads(text) for text in log_stream.getvalue().splitlines()][-1]
    assert (line["event"], line["status"], line["code"]) == ("request", status, code)


def test_x4_a_request_has_one_host(app: Flask) -> None:
    """RFC 9112, 3.2; HTTP/1.0 knows none."""
    client = app.test_client()
    two = client.get("/healthz", headers={"Host": "x,y"})
    assert (two.status_code, two.json and two.json["code"]) == (400, "request_malformed")
    assert client.get("/healthz", headers={"Host": "x"}).status_code == 200


@pytest.mark.parametrize("given", ["", "x", "610a62" * 9, "../../x"])
def test_x9_a_foreign_request_id_is_replaced(app: Flask, given: str) -> None:
    answered = app.test_client().get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"]
    assert answered != given
    assert UUID(answered)


@pytest.mark.parametrize(
    ("trusted", "forwarded", "peer"),
    [
        ((), "127.0.0.9", "192.0.2.7"),
        (("198.51.100.1",), "127.0.0.9", "192.0.2.7"),
        (("192.0.2.7",), "203.0.113.5", "203.0.113.5"),
        (("192.0.2.7",), "127.0.0.9, 203.0.113.5", "203.0.113.5"),
        (("192.0.2.7", "203.0.113.5"), "198.51.100.9, 203.0.113.5", "198.51.100.9"),
        (("192.0.2.7",), "", "192.0.2.7"),
    ],
)
def test_g06_forwarded_for_counts_from_a_configured_proxy_alone(
    log_stream: io.StringIO, metrics: Metrics, trusted: tuple[str, ...], forwarded: str, peer: str
) -> None:
    app = create_app("trial", metrics=metrics, ready=lambda: None, trusted_proxies=trusted)
    app.test_client().get(
        "/healthz", headers={"X-Forwarded-For": forwarded}, environ_overrides={"REMOTE_ADDR": "192.0.2.7"}
    )
    assert json.loads(log_stream.getvalue())["peer"] == peer


def test_f03_readiness_is_the_databases_and_health_the_processs(metrics: Metrics) -> None:
    def unready() -> None:
        raise Unavailable("database_unavailable", "the server is in recovery or read-only")

    client = create_app("trial", metrics=metrics, ready=unready).test_client()
    check(client.get("/readyz"), 503, "database_unavailable")
    assert client.get("/healthz").json == {"status": "alive"}


def test_x9_metrics_have_bounded_labels(app: Flask) -> None:
    client = app.test_client()
    for number in range(20):
        client.get(f"/nothing/{number}")
        client.open("/v1/things", method=f"M{number}")
    client.get("/v1/things", headers=AUTH)
    text = client.get("/metrics").text
    series = [line for line in text.splitlines() if line.startswith("pharos_http_requests_total{")]
    assert 'pharos_http_requests_total{method="GET",route="unmatched",status="404"} 20.0' in series
    assert 'pharos_http_requests_total{method="other",route="unmatched",status="405"} 20.0' in series
    assert len(series) == 3
    assert 'pharos_problems_total{code="not_found"} 20.0' in text

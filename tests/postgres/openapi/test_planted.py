"""The check of answers fails where it has to (X10)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from schemathesis.core.failures import FailureGroup

from tests.contract.goldens import load
from tests.postgres.openapi.published import check, documented, operations
from tests.postgres.openapi.world import PREFIX

LIST = load("retained-accounts").valid[0].body
PROBLEM = {
    "type": "urn:pharos:problem:not_found",
    "title": "Not found",
    "status": 404,
    "code": "not_found",
    "detail": "no such path",
    "requestId": "r1",
}


@contextmanager
def answering(status: int, body: dict[str, Any], kind: str, cache: str) -> Iterator[str]:
    """A server that answers everything so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Cache-Control", cache)
            self.send_header("X-Request-Id", "r1")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def asked(status: int, body: dict[str, Any], *, problem: bool, cache: str = "no-store") -> None:
    """Holds one answer to the list's question against the check."""
    (operation,) = [one for one in operations(PREFIX) if one.path.endswith("/retained-accounts")]
    case = operation.Case(path_parameters={"site": "slurm"}, headers={"Pharos-Schema": "1-1"})
    kind = "application/problem+json" if problem else "application/json"
    with answering(status, body, kind, cache) as url:
        check(case, case.call(base_url=url), documented())


def test_right_answers_pass() -> None:
    asked(200, LIST, problem=False)
    asked(404, PROBLEM, problem=True)


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (503, PROBLEM | {"status": 503, "code": "unavailable"}, True),
        (500, {}, False),
        (200, LIST | {"extra": 1}, False),
        (200, {name: value for name, value in LIST.items() if name != "count"}, False),
        (200, LIST, True),
        (404, PROBLEM | {"code": "Not a code"}, True),
    ],
    ids=["503", "500", "unknown field", "field missing", "another media type", "no code"],
)
def test_wrong_answers_do_not(status: int, body: dict[str, Any], problem: bool) -> None:
    with pytest.raises(FailureGroup):
        asked(status, body, problem=problem)


@pytest.mark.parametrize(
    ("status", "body", "cache"),
    [
        (404, PROBLEM | {"code": "nobody_knows"}, "no-store"),
        (403, PROBLEM, "no-store"),
        (404, PROBLEM | {"requestId": "r2"}, "no-store"),
        (404, PROBLEM, "private"),
    ],
    ids=["undocumented code", "another status", "another request", "kept in caches"],
)
def test_undocumented_problems_do_not(status: int, body: dict[str, Any], cache: str) -> None:
    with pytest.raises(AssertionError):
        asked(status, body, problem=True, cache=cache)

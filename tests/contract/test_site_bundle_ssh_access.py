"""The Site's half of the ssh-access calls: every golden read and written byte for byte (X10)."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

from site_bundle.kernel.documents import write_document
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object
from site_bundle.kernel.times import parse_time
from site_bundle.ssh_access.adapters.wire import (
    ChangesBody,
    GrantBody,
    ReceiptsBody,
    ResultsBody,
    encode_results,
)
from site_bundle.ssh_access.application.report_results import Result
from site_bundle.ssh_access.domain.desired import Outcome, Verdict
from tests.contract.goldens import Refused, Valid, load
from tests.simulators.site_api.history import History
from tests.simulators.site_api.server import TOKEN, SiteApiServer

MAX = 1 << 20
READ: dict[str, type[object]] = {
    "site-grant": GrantBody,
    "ssh-access-changes": ChangesBody,
    "ssh-access-receipts": ReceiptsBody,
}
NOW = datetime(2026, 11, 2, 10, 0, 30, tzinfo=UTC)


def read(name: str, raw: bytes) -> object:
    """What the adapters make of an answer."""
    body = decode_object(raw, READ[name], max_bytes=MAX)
    if isinstance(body, GrantBody):
        body.grant()
    elif isinstance(body, ChangesBody):
        body.page()
    elif isinstance(body, ReceiptsBody):
        asked = [UUID(f"00000000-0000-4000-8000-0000000000{tail}") for tail in ("11", "12")]
        body.of(asked)
    return body


def rows(*names: str) -> list[object]:
    return [pytest.param(name, row, id=f"{name}-{row.name}") for name in names for row in load(name).valid]


def refusals(*names: str) -> list[object]:
    return [pytest.param(name, row, id=f"{name}-{row.name}") for name in names for row in load(name).refused]


@pytest.mark.parametrize(("name", "row"), rows(*READ))
def test_answers_are_read_and_written_alike(name: str, row: Valid) -> None:
    assert write_document(read(name, row.canonical)) == row.canonical


@pytest.mark.parametrize(("name", "row"), refusals(*READ))
def test_broken_answers_are_refused(name: str, row: Refused) -> None:
    """`answer_malformed`: unavailable, never "nothing there" (X1)."""
    assert row.code == "answer_malformed"
    with pytest.raises((MalformedJsonError, ValueError)):
        read(name, row.raw)


@pytest.mark.parametrize(("name", "row"), rows("ssh-access-results"))
def test_reports_are_written_as_the_golden(name: str, row: Valid) -> None:
    body = decode_object(row.canonical, ResultsBody, max_bytes=MAX)
    results = [
        Result(r.change_id, r.sequence, r.key_id, Verdict(Outcome(r.outcome), r.code)) for r in body.results
    ]
    assert encode_results(body.report_id, parse_time(body.observed_at), results) == row.canonical


# The stand-in of the Site's tests keeps the same contract, so that it cannot teach the agent another one.


@pytest.fixture(scope="module")
def stand_in() -> Iterator[SiteApiServer]:
    server = SiteApiServer(("127.0.0.1", 0), History(), None)
    server.now = lambda: NOW
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def send(server: SiteApiServer, request: dict[str, object], raw: bytes) -> tuple[int, str | None]:
    headers = {"Pharos-Schema": "1-1", "Authorization": "$GRANT"} | dict(request.get("headers") or {})  # type: ignore[call-overload]
    headers = {name: value.replace("$GRANT", f"Bearer {TOKEN}") for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    try:
        connection.request(str(request["method"]), str(request["path"]), body=raw or None, headers=headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()).get("code")
    finally:
        connection.close()


def requests(*names: str) -> list[object]:
    return [pytest.param(row, id=f"{name}-{row.name}") for name in names for row in load(name).refused]


@pytest.mark.parametrize("row", requests("ssh-access-results", "ssh-access-changes-request"))
def test_stand_in_refuses_as_central(stand_in: SiteApiServer, row: Refused) -> None:
    headers = row.request.get("headers", {})
    if "Authorization" not in headers and row.code == "unauthenticated":
        headers = {**headers, "Authorization": ""}
    if "Pharos-Schema" not in headers and row.name == "schema_header_missing":
        headers = {**headers, "Pharos-Schema": ""}
    assert send(stand_in, {**row.request, "headers": headers}, row.raw) == (row.status, row.code)


@pytest.mark.parametrize(("name", "row"), rows("ssh-access-results"))
def test_stand_in_takes_what_is_valid(stand_in: SiteApiServer, name: str, row: Valid) -> None:
    stand_in.history.reports.clear()
    assert send(stand_in, row.request, row.canonical)[0] == 200

"""The table of faults is decidable, and bites: a careful reader concludes as it says, a careless one not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
import urllib3

from tests.simulators.waldur.fixtures import readable
from tests.simulators.waldur.reading import CASES, Case, Conclusion, Read, Readable

__all__ = ["readable"]
pytestmark = pytest.mark.slow
PAGE_SIZE, WALKS_MAX, BODY_MAX, WAITS = 300, 3, 4 << 20, 3.0
STATES = {"Creating", "OK", "Updating", "Terminating", "Terminated", "Erred"}
FIELDS = ("uuid", "state", "backend_id", "paused")


class Unavailable(Exception):
    """No value."""


class Refused(Exception):
    """401 or 403, or the offering is not visible."""


class Moved(Exception):
    """The rows changed during a walk."""


class Careful:
    """A reader as small as can be that keeps every rule of the table; its rules are the reporter's."""

    def __init__(self, readable: Readable) -> None:
        self._readable = readable
        self._http = urllib3.PoolManager(
            ca_certs=str(readable.ca_file), timeout=urllib3.Timeout(total=WAITS), retries=False
        )

    def read(self) -> Read:
        try:
            for _ in range(WALKS_MAX):
                try:
                    rows = self._walk()
                except Moved:
                    continue
                self._get(f"marketplace-provider-offerings/{self._readable.offering.hex}/?field=uuid")
                return _sorted_out(rows)
            return Read(Conclusion.UNAVAILABLE)
        except Refused:
            return Read(Conclusion.REFUSED)
        except (Unavailable, urllib3.exceptions.HTTPError, OSError, ValueError):
            return Read(Conclusion.UNAVAILABLE)

    def _walk(self) -> dict[UUID, dict[str, Any]]:
        rows: dict[UUID, dict[str, Any]] = {}
        counts: set[int] = set()
        page, seen = 1, 0
        while page == 1 or seen < max(counts):
            query = f"offering_uuid={self._readable.offering}&o=created&page_size={PAGE_SIZE}&page={page}"
            found, count = self._get(f"marketplace-provider-resources/?{query}", page=page)
            if not found and page > 1:
                raise Moved
            counts.add(count)
            seen += len(found)
            for row in found:
                rows[UUID(row["uuid"])] = row
            page += 1
        if len(counts) > 1 or len(rows) != max(counts) or seen != len(rows):
            self._get(f"marketplace-provider-offerings/{self._readable.offering.hex}/?field=uuid")
            raise Moved
        return rows

    def _get(self, path: str, page: int = 1) -> tuple[Any, int]:
        answer = self._http.request(
            "GET", self._readable.waldur.api + path, redirect=False, preload_content=False,
            decode_content=False, headers={"Authorization": f"Token {self._readable.token}"},
        )  # fmt: skip
        try:
            if answer.status in (401, 403) or (answer.status == 404 and "offerings" in path):
                raise Refused
            if answer.status == 404 and page > 1:
                raise Moved
            encoded = "Content-Encoding" in answer.headers
            if answer.status != 200 or encoded or answer.headers.get("Content-Type") != "application/json":
                raise Unavailable
            raw = _whole_body(answer)
        finally:
            answer.release_conn() if answer.status == 200 else answer.close()
        told = answer.headers.get("X-Result-Count", "")
        if "resources" in path and not (told.isascii() and told.isdigit()):
            raise Unavailable
        body = json.loads(raw)
        if isinstance(body, list) and not all("uuid" in row for row in body):
            raise Unavailable
        return body, int(told or 0)


def _whole_body(answer: urllib3.BaseHTTPResponse) -> bytes:
    """A body of bounded length in bounded time, however slowly it drips."""
    raw, end = bytearray(), time.monotonic() + WAITS
    while piece := answer.read1(1 << 16):
        raw += piece
        if len(raw) > BODY_MAX or time.monotonic() > end:
            raise Unavailable
    if len(raw) != int(answer.headers.get("Content-Length", -1)):
        raise Unavailable
    return bytes(raw)


def _sorted_out(rows: dict[UUID, dict[str, Any]]) -> Read:
    bad = frozenset(uuid for uuid, row in rows.items() if not _readable(row))
    whole = Conclusion.ROW if bad else Conclusion.WHOLE
    return Read(whole, frozenset(rows) - bad, bad)


def _readable(row: dict[str, Any]) -> bool:
    return (
        row.get("state") in STATES
        and isinstance(row.get("backend_id"), str)
        and isinstance(row.get("paused"), bool)
    )


def careless(readable: Readable) -> Read:
    """Follows `next` until there is none and believes what it gets, as a first draft does."""
    http = urllib3.PoolManager(ca_certs=str(readable.ca_file), timeout=WAITS, retries=False)
    url = f"{readable.waldur.api}marketplace-provider-resources/?page_size={PAGE_SIZE}"
    found: set[UUID] = set()
    for _ in range(10):
        answer = http.request("GET", url, headers={"Authorization": f"Token {readable.token}"})
        rows = json.loads(answer.data) if answer.status == 200 else []
        found |= {UUID(row["uuid"]) for row in rows if row.get("state") in STATES}
        onward = [part for part in answer.headers.get("Link", "").split(", ") if 'rel="next"' in part]
        if not onward:
            break
        url = onward[0].partition("<")[2].partition(">")[0]
    return Read(Conclusion.WHOLE, frozenset(found))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_careful_reader_concludes_as_the_table_says(case: Case, readable: Readable) -> None:
    case.arm(readable)
    case.judge(readable, Careful(readable).read())


FOOLED = (
    "row_gone_between_pages",
    "row_moved_in_the_heap",
    "bad_gateway_page",
    "no_link",
    "unknown_state",
    "role_lost",
    "token_expired",
)


@pytest.mark.parametrize("name", FOOLED)
def test_careless_reader_is_caught(name: str, readable: Readable) -> None:
    case = next(case for case in CASES if case.name == name)
    case.arm(readable)
    with pytest.raises(AssertionError):
        case.judge(readable, careless(readable))


def test_judge_catches_each_wrong_answer(readable: Readable) -> None:
    steady, broken = CASES[0], next(case for case in CASES if case.name == "dropped")
    rows = frozenset(readable.resources())
    wrong: tuple[tuple[Case, Callable[[], Read]], ...] = (
        (steady, lambda: Read(Conclusion.UNAVAILABLE)),
        (steady, lambda: Read(Conclusion.WHOLE, frozenset(list(rows)[1:]))),
        (steady, lambda: Read(Conclusion.WHOLE, rows, frozenset(list(rows)[:1]))),
        (broken, lambda: Read(Conclusion.WHOLE)),
        (broken, lambda: Read(Conclusion.UNAVAILABLE, rows)),
    )
    for case, read in wrong:
        case.arm(readable)
        with pytest.raises(AssertionError):
            case.judge(readable, read())

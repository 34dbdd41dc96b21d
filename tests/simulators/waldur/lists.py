"""Lists: filters, order, pages, trimmed rows, `Link` and `X-Result-Count`.

A filter that Waldur has and the simulator has not is refused (501), never passed over: a caller that spells a
filter wrongly would otherwise read rows it did not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from tests.simulators.waldur import fields
from tests.simulators.waldur.answers import Answer, Refusal, invalid, not_found
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.model import R, heap

PAGE_SIZE = 10
PAGE_SIZE_MAX = 300
ALWAYS = frozenset({"page", "page_size", "field", "o"})

T = TypeVar("T")
Test = Callable[[R], bool]
Filter = Callable[[str, list[str]], Test[R]]
Get = Callable[[R], Any]


def uuids(get: Get[R]) -> Filter[R]:
    """Any of several UUIDs."""

    def parse(name: str, values: list[str]) -> Test[R]:
        wanted = {fields.wanted_uuid(name, value) for value in values}
        return lambda row: get(row) in wanted

    return parse


def choices(known: Collection[str], get: Get[R]) -> Filter[R]:
    """Any of several values of an enumeration, exact case."""

    def parse(name: str, values: list[str]) -> Test[R]:
        wanted = {fields.choice(name, value, known) for value in values}
        return lambda row: get(row) in wanted

    return parse


def exact(get: Get[R]) -> Filter[R]:
    return lambda _, values: lambda row: get(row) == values[-1]


def same_letters(get: Get[R]) -> Filter[R]:
    """Equal but for case."""
    return lambda _, values: lambda row: str(get(row)).lower() == values[-1].lower()


def contains(*gets: Get[R]) -> Filter[R]:
    """Some field holds the text, whatever the case."""
    return lambda _, values: lambda row: any(values[-1].lower() in str(get(row)).lower() for get in gets)


def boolean(get: Get[R]) -> Filter[R]:
    def parse(name: str, values: list[str]) -> Test[R]:
        wanted = fields.truth(name, values[-1])
        return lambda row: bool(get(row)) is wanted

    return parse


def bound(
    read: Callable[[str, str], datetime | date], get: Get[R], *, holds: Callable[[Any, Any], bool]
) -> Filter[R]:
    """A time or day on one side of, or equal to, a given one."""

    def parse(name: str, values: list[str]) -> Test[R]:
        wanted = read(name, values[-1])
        return lambda row: holds(get(row), wanted)

    return parse


@dataclass(frozen=True, slots=True)
class Listing(Generic[R]):
    """What a list can be asked."""

    filters: Mapping[str, Filter[R]]
    orders: Mapping[str, Get[R]]

    def answer(self, call: Call, rows: Iterable[R], render: Callable[[R], dict[str, Any]]) -> Answer:
        """The page asked for; HEAD gets its headers only. Raises 400, 404 or 501."""
        wanted = self._tests(call)
        chosen = self._ordered(call, heap(row for row in rows if wanted(row)))
        page, headers = paged(call, chosen)
        if call.method == "HEAD":
            return Answer(200, empty=True, headers={"X-Result-Count": headers["X-Result-Count"]})
        return Answer(200, [trimmed(call, render(row)) for row in page], headers=headers)

    def _tests(self, call: Call) -> Test[R]:
        asked = {name for name, _ in call.query} - ALWAYS
        for name in sorted(asked - set(self.filters)):
            raise Refusal(501, {"detail": f"The simulator has no filter '{name}' for {call.path}."})
        tests = [self.filters[name](name, call.values(name)) for name in sorted(asked)]
        return lambda row: all(test(row) for test in tests)

    def _ordered(self, call: Call, rows: list[R]) -> list[R]:
        keys = [key for value in call.values("o") for key in value.split(",")]
        for key in reversed(keys):
            get = self.orders.get(key.removeprefix("-"))
            if get is None:
                raise invalid("o", f"Select a valid choice. {key} is not one of the available choices.")
            rows = sorted(rows, key=get, reverse=key.startswith("-"))
        return rows


def trimmed(call: Call, row: dict[str, Any]) -> dict[str, Any]:
    """A row with the fields asked for; a field that does not exist is merely missing."""
    asked = call.values("field")
    return {name: value for name, value in row.items() if name in asked} if asked else row


def paged(call: Call, rows: list[T]) -> tuple[list[T], dict[str, str]]:
    """One page and its headers. Raises a 404 for a page past the end."""
    size = _page_size(call)
    last = max(1, -(-len(rows) // size))
    text = (call.values("page") or ["1"])[-1]
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= last:
        raise not_found("Invalid page.")
    links = [(1, "first"), (number - 1, "prev")] if number > 1 else []
    links += [(number + 1, "next"), (last, "last")] if number < last else []
    headers = {"X-Result-Count": str(len(rows))}
    if links:
        headers["Link"] = ", ".join(f'<{_page_url(call, page)}>; rel="{name}"' for page, name in links)
    return rows[(number - 1) * size : number * size], headers


def _page_size(call: Call) -> int:
    text = (call.values("page_size") or [""])[-1]
    size = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return min(size, PAGE_SIZE_MAX) if size else PAGE_SIZE


def _page_url(call: Call, page: int) -> str:
    """The called URL with another page; page 1 goes without."""
    kept = [(name, value) for name, value in call.query if name != "page"]
    query = urlencode(kept + ([("page", str(page))] if page > 1 else []))
    return f"{call.base}{call.path}" + (f"?{query}" if query else "")

"""Faults on demand: which request they meet, how often, and what they do to its answer.

A fault meets requests whose `METHOD /path` its `call` matches (a regular expression, searched), lets `after`
of them pass, and works `times` times (None: for ever). Several may meet one request.

| kind | what the caller sees |
|---|---|
| `status` | `status` from the proxy: a page, or with `empty` nothing; the request was not carried out |
| `throttle` | 429 with `Retry-After: seconds` |
| `delay` | the right answer, `seconds` late |
| `drip` | a body that comes byte by byte for `seconds`, and never whole |
| `drop` | the connection ends without an answer; the request was not carried out |
| `lose` | the same, but the request was carried out |
| `truncate` | the body ends early, against its Content-Length |
| `garble` | the body ends early, and its Content-Length agrees |
| `page` | 200 with a page, as a proxy's login has it |
| `huge` | 200 with `size` bytes of JSON |
| `redirect` | 302 to `value` |
| `encoded` | a compressed body nobody asked for |
| `count` | `X-Result-Count` is off by `delta`; with `value` it is that text; with `value` "" it is missing |
| `link` | the `Link` header is `value`; with "" it is missing |
| `row` | row `index` of the list, or the object, has the fields of `set` and lacks those of `lack` |
| `double` | the first row comes twice |
| `host` | absolute URLs carry the origin `value` |
| `then` | the right answer; then `acts` happen to the world, so that rows move between pages |
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from msgspec import Struct, field

from tests.simulators.waldur.answers import Answer

INSTEAD = frozenset({"status", "throttle", "drop", "page", "huge", "redirect", "drip", "encoded"})
KINDS = INSTEAD | {"delay", "lose", "truncate", "garble", "count", "link", "row", "double", "host", "then"}


class Fault(Struct, kw_only=True, forbid_unknown_fields=True):
    """One fault; what its fields mean for its kind stands in the table above."""

    kind: str
    call: str = ""
    after: int = 0
    times: int | None = 1
    status: int = 502
    empty: bool = False
    seconds: float = 1
    delta: int = 0
    size: int = 1 << 20
    index: int = 0
    value: str | None = None
    set: dict[str, Any] = field(default_factory=dict)
    lack: list[str] = field(default_factory=list)
    acts: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no fault {self.kind!r}; there are {', '.join(sorted(KINDS))}")
        re.compile(self.call)


class Plan:
    """The faults still to come."""

    def __init__(self) -> None:
        self.coming: list[Fault] = []

    def meet(self, call: str) -> list[Fault]:
        """The faults this request meets; each is counted down."""
        met = []
        for fault in list(self.coming):
            if not re.search(fault.call, call):
                continue
            if fault.after > 0:
                fault.after -= 1
                continue
            met.append(fault)
            if fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    self.coming.remove(fault)
        return met


def falsified(answer: Answer, faults: list[Fault]) -> Answer:
    """The answer as the faults about its content leave it."""
    for fault in faults:
        if fault.kind == "row":
            answer = _one_row(answer, fault)
        elif fault.kind == "double" and isinstance(answer.body, list):
            answer = replace(answer, body=answer.body[:1] + answer.body)
        elif fault.kind == "count" and "X-Result-Count" in answer.headers:
            told = int(answer.headers["X-Result-Count"]) + fault.delta
            answer = _header(answer, "X-Result-Count", str(told) if fault.value is None else fault.value)
        elif fault.kind == "link" and "X-Result-Count" in answer.headers:
            answer = _header(answer, "Link", fault.value or "")
    return answer


def _header(answer: Answer, name: str, value: str) -> Answer:
    kept = {key: text for key, text in answer.headers.items() if key != name}
    return replace(answer, headers=kept | ({name: value} if value else {}))


def _one_row(answer: Answer, fault: Fault) -> Answer:
    def changed(row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        return {name: value for name, value in row.items() if name not in fault.lack} | fault.set

    if isinstance(answer.body, list) and fault.index < len(answer.body):
        body = list(answer.body)
        body[fault.index] = changed(body[fault.index])
        return replace(answer, body=body)
    return answer if isinstance(answer.body, list) else replace(answer, body=changed(answer.body))

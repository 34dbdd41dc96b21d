"""What a reader of the provider's resources must conclude from each fault: a table, and a judge.

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_reader(case: Case, readable: Readable) -> None:   # fixture of waldur/fixtures.py
        case.arm(readable)
        case.judge(readable, read=my_reader(readable.waldur.api, readable.ca_file, readable.token, …))

A reader may ask for what it likes (fields, order, page size, other endpoints beside the list) and must end in
one of the case's conclusions (X1, P34, S8). Times: it should give up on a silent answer within some seconds.

One thing no reader can see and no case asks for: a row leaves a page already read and another one joins the
end between two pages, so that the count stands still and a row in between is passed over. Therefore a missing
resource is never inferred terminated, whatever the list looked like.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.simulators.waldur.process import WaldurProcess

ROWS = 650
LIST = r"GET /api/marketplace-provider-resources/\?"
FIRST = LIST + r"(?!.*\bpage=([2-9]|\d\d))"
SECOND = LIST + r"(.*&)?page=2\b"
LATER = LIST + r"(.*&)?page=([2-9]|\d\d)"
ELSEWHERE = "https://waldur.internal.example:8443"


class Conclusion(StrEnum):
    """How a reading ends."""

    WHOLE = "every resource, once, as it is"
    ROW = "every resource but the one that is unreadable, and that one is named"
    UNAVAILABLE = "no value: nothing is renewed, removed or called empty; tried again later"
    REFUSED = "no value, and the credential or its roles are named as the cause"


WHOLE, ROW = Conclusion.WHOLE, Conclusion.ROW
UNAVAILABLE, REFUSED = Conclusion.UNAVAILABLE, Conclusion.REFUSED


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader came to: the UUIDs it holds, and those it named as unreadable."""

    conclusion: Conclusion
    resources: frozenset[UUID] = frozenset()
    unreadable: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class Readable:
    """A simulator with `ROWS` resources of one offering, two not OK, read as the provider's manager."""

    waldur: WaldurProcess
    offering: UUID
    token: str
    manager_role: str
    project: str

    @property
    def ca_file(self) -> Path:
        return self.waldur.ca_file

    def resources(self) -> dict[UUID, dict[str, Any]]:
        """The rows as they are now, in the order of their making."""
        rows = sorted(self.waldur.act("rows", table="resources"), key=lambda row: str(row["name"]))
        return {UUID(row["uuid"]): row for row in rows}


def stand_readable(waldur: WaldurProcess) -> Readable:
    """Stands the world of the table and marks it."""
    made = waldur.stand()
    project = waldur.act("add_project", name="Lattice", customer=made["customer"])
    for number in range(ROWS):
        state = {0: "Terminated", 1: "Erred"}.get(number, "OK")
        name = f"allocation {number:04}"
        waldur.act(
            "add_resource", offering=made["offering"], project=project, name=name, state=state,
            backend_id=f"proj{number:04}", limits={"node": 100.5},
        )  # fmt: skip
    role = next(row for row in waldur.act("rows", table="roles") if row["name"] == "CUSTOMER.MANAGER")
    waldur.mark()
    return Readable(waldur, UUID(made["offering"]), made["manager"], role["uuid"], project)


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table. `again`: the list must have been begun anew (None: may have been).

    In `faults` and `acts` the texts `$first`, `$project`, `$offering`, `$role` and `$token` stand for the
    first resource and the other things of `Readable`.
    """

    name: str
    concludes: Collection[Conclusion]
    faults: tuple[Mapping[str, Any], ...] = ()
    acts: tuple[Mapping[str, Any], ...] = ()
    again: bool | None = None

    def __str__(self) -> str:
        return self.name

    def arm(self, readable: Readable) -> None:
        """Goes back to the marked world and plans the faults."""
        readable.waldur.back()
        names = {
            "$first": next(iter(readable.resources())).hex,
            "$project": readable.project,
            "$offering": readable.offering.hex,
            "$role": readable.manager_role,
            "$token": readable.token,
        }
        for act in self.acts:
            readable.waldur.obey(_filled(act, names))
        for fault in self.faults:
            readable.waldur.fault(**_filled(fault, names))

    def judge(self, readable: Readable, read: Read) -> None:
        """Raises `AssertionError` unless the reader concluded rightly."""
        assert read.conclusion in self.concludes, f"{self}: {read.conclusion}"
        truth = frozenset(readable.resources())
        if read.conclusion is WHOLE:
            assert read.resources == truth, f"{self}: {len(read.resources ^ truth)} resources differ"
            assert not read.unreadable
        elif read.conclusion is ROW:
            assert len(read.unreadable) == 1
            assert read.resources == truth - read.unreadable
        else:
            assert not read.resources, f"{self}: rows of a reading that failed"
        asked = readable.waldur.requests()
        assert all(each["method"] in ("GET", "HEAD") for each in asked), "a reader writes nothing"
        if self.again is not None:
            begun = [each for each in asked if _begins(each)]
            assert (len(begun) > 1) is self.again, f"{self}: the list was begun {len(begun)} times"


def _begins(request: Mapping[str, Any]) -> bool:
    path, query = request["path"], f"&{request['query']}&"
    first = "&page=" not in query or "&page=1&" in query
    return bool(path == "/api/marketplace-provider-resources/" and request["method"] == "GET" and first)


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {key: _filled(each, names) for key, each in value.items()}
    return [_filled(each, names) for each in value] if isinstance(value, list | tuple) else value


def _then(*acts: Mapping[str, Any], call: str = FIRST, times: int | None = 1) -> Mapping[str, Any]:
    """After the first page, rows change."""
    return {"kind": "then", "call": call, "acts": list(acts), "times": times}


def _always(kind: str, call: str = LIST, **given: Any) -> Mapping[str, Any]:
    return {"kind": kind, "call": call, "times": None, **given}


def _row(**given: Any) -> Mapping[str, Any]:
    return {"kind": "row", "call": FIRST, "times": None, "index": 3, **given}


_GONE = {"act": "remove", "table": "resources", "uuid": "$first"}
_NEW = {
    "act": "add_resource",
    "offering": "$offering",
    "project": "$project",
    "name": "new",
    "backend_id": "n",
}
_MOVED = {"act": "change", "table": "resources", "uuid": "$first", "set": {}}
_PARTED = {
    "act": "change",
    "table": "resources",
    "uuid": "$first",
    "set": {"created": "2031-01-01T00:00:00Z"},
}

CASES: tuple[Case, ...] = (
    Case("steady", {WHOLE}, again=False),
    Case("row_gone_between_pages", {WHOLE}, (_then(_GONE),), again=True),
    Case("row_new_between_pages", {WHOLE}, (_then(_NEW),), again=True),
    Case("row_moved_in_the_heap", {WHOLE}, (_then(_MOVED),)),
    Case("row_moved_in_every_order", {WHOLE}, (_then(_PARTED, _MOVED),), again=True),
    Case("rows_never_still", {UNAVAILABLE}, (_then(_NEW, times=None),), again=True),
    Case("pages_vanish", {WHOLE}, (_then({"act": "keep_only", "offering": "$offering", "count": 250}),)),
    Case("count_wrong_once", {WHOLE}, ({"kind": "count", "call": FIRST, "delta": 1},), again=True),
    Case("count_always_high", {UNAVAILABLE}, (_always("count", delta=1),)),
    Case("count_always_low", {UNAVAILABLE}, (_always("count", delta=-1),)),
    Case("count_missing", {UNAVAILABLE}, (_always("count", value=""),)),
    Case("count_no_number", {UNAVAILABLE}, (_always("count", value="many"),)),
    Case("no_link", {WHOLE, UNAVAILABLE}, (_always("link", value=""),)),
    Case("link_to_itself", {WHOLE, UNAVAILABLE}, (_always("link", value='</api/?page=1>; rel="next"'),)),
    Case("other_host_in_urls", {WHOLE}, (_always("host", call="", value=ELSEWHERE),), again=False),
    Case("row_twice_once", {WHOLE}, ({"kind": "double", "call": LATER},), again=True),
    Case("row_twice_always", {UNAVAILABLE}, (_always("double", call=LATER),)),
    Case("unknown_state", {ROW}, (_row(set={"state": "Weird"}),)),
    Case("state_in_other_case", {ROW}, (_row(set={"state": "ok"}),)),
    Case("state_missing", {ROW}, (_row(lack=["state"]),)),
    Case("paused_no_boolean", {ROW}, (_row(set={"paused": "false"}),)),
    Case("backend_id_no_text", {ROW}, (_row(set={"backend_id": 7}),)),
    Case("uuid_missing", {UNAVAILABLE}, (_row(lack=["uuid"]),)),
    Case("unknown_field", {WHOLE}, (_row(set={"a_field_of_8_2": {"x": 1}}),)),
    Case("truncated", {UNAVAILABLE}, (_always("truncate", call=SECOND),)),
    Case("cut_with_fitting_length", {UNAVAILABLE}, (_always("garble", call=SECOND),)),
    Case("login_page", {UNAVAILABLE}, (_always("page"),)),
    Case("huge", {UNAVAILABLE}, (_always("huge", size=64 << 20),)),
    Case("redirected", {UNAVAILABLE}, (_always("redirect"),)),
    Case("encoded_unasked", {UNAVAILABLE}, (_always("encoded"),)),
    Case("dropped", {UNAVAILABLE}, (_always("drop"),)),
    Case("dropped_once", {WHOLE, UNAVAILABLE}, ({"kind": "drop", "call": SECOND},)),
    Case("drips", {UNAVAILABLE}, (_always("drip", seconds=20),)),
    Case("bad_gateway_page", {UNAVAILABLE}, (_always("status"),)),
    Case("bad_gateway_empty", {UNAVAILABLE}, (_always("status", empty=True),)),
    Case("bad_gateway_on_a_later_page", {UNAVAILABLE}, (_always("status", call=SECOND),)),
    Case("server_error", {UNAVAILABLE}, (_always("status", status=500),)),
    Case("maintenance", {UNAVAILABLE}, (_always("status", status=503),)),
    Case("throttled", {UNAVAILABLE}, (_always("throttle", call="", seconds=30),)),
    Case("token_expired", {REFUSED}, acts=({"act": "expire_token", "token": "$token"},)),
    Case("token_expires_between_pages", {REFUSED},
         (_then({"act": "expire_token", "token": "$token"}),)),
    Case("role_lost", {REFUSED}, acts=({"act": "remove", "table": "roles", "uuid": "$role"},)),
    Case("role_lost_between_pages", {REFUSED},
         (_then({"act": "remove", "table": "roles", "uuid": "$role"}),)),
)  # fmt: skip

"""A Hypothesis machine that reports to any intake and holds it against the model (P4–P9, P12).

Random order, replays, equal times, clocks that run ahead, Projects proven late or not readable. A subclass
gives `open_driver`; a driver answers as the wire does.
"""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.unit.central.provisioning.model import History, Model, Told

START = datetime(2026, 11, 2, 10, 0, 0, tzinfo=UTC)
NOW = 30
"""The intake's clock, in seconds after START; reports up to NOW + 5 are taken."""
SITES = ("slurm", "k8s")
REFS = ("00000000-0000-4000-8000-000000000310", "an opaque project")
PROJECTS = {ref: f"00000000-0000-4000-8000-00000000032{n}" for n, ref in enumerate(REFS)}
SMALL, LARGE = {"cpu": 1000}, {"cpu": 2000, "gpu.gh200": 2**62}


class Driver(Protocol):
    """An intake under test."""

    def report(self, site: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and body of the answer."""
        ...

    def allocation(self, site: str, allocation_id: str) -> tuple[int, Any]:
        """Status and body of the answer."""
        ...

    def bind(self, known: dict[str, str], readable: bool) -> None:
        """Which provider Projects resolve, and whether that can be read at all."""
        ...

    def stored(self) -> tuple[dict[str, int], int]:
        """Version by allocation id, and the number of receipts."""
        ...


def instant(seconds: int) -> str:
    """The wire's form of a model's time."""
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def wire(body: dict[str, Any]) -> dict[str, Any]:
    """A model's report as the wire writes it."""
    return {
        "schema": 1,
        "reportId": body["reportId"],
        "observedAt": instant(body["time"]),
        "resources": body["resources"],
    }


resources = st.fixed_dictionaries(
    {
        "resourceId": st.sampled_from([str(UUID(int=n)) for n in (1, 2, 3)]),
        "offeringId": st.sampled_from([str(UUID(int=9))] * 9 + [str(UUID(int=8))]),
        "providerProjectRef": st.sampled_from([REFS[0]] * 5 + [REFS[1]]),
        "nativeName": st.sampled_from(["p1-alloc1", None, "p1-renamed"]),
        "state": st.sampled_from(["ok"] * 8 + ["updating", "creating", "erred", "terminating", "terminated"]),
        "paused": st.sampled_from([False] * 4 + [True]),
        "configured": st.sampled_from([SMALL, SMALL, SMALL, LARGE, {}, None]),
        "applied": st.sampled_from([SMALL, SMALL, SMALL, LARGE, {}, None]),
        "used": st.sampled_from([{"cpu": 1}, {"cpu": 1}, {"cpu": 2}, None]),
    }
)
batches = st.lists(resources, min_size=0, max_size=3, unique_by=lambda resource: str(resource["resourceId"]))
reporters = st.sampled_from(["slurm"] * 4 + ["k8s"])


class AllocationMachine(RuleBasedStateMachine):
    """See the module."""

    driver: Driver

    def open_driver(self) -> Driver:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.driver = self.open_driver()
        self.model = Model()
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.ids: dict[str, str] = {}
        self.known: dict[str, str] = {REFS[0]: PROJECTS[REFS[0]]}
        self.readable = True
        self.driver.bind(self.known, self.readable)

    @rule(known=st.sets(st.sampled_from(REFS)), readable=st.sampled_from([True, True, False]))
    def projects_change(self, known: set[str], readable: bool) -> None:
        self.known = {ref: PROJECTS[ref] for ref in known}
        self.readable = readable
        self.driver.bind(self.known, readable)

    @rule(site=reporters, time=st.integers(1, NOW + 5), batch=batches)
    def report(self, site: str, time: int, batch: list[dict[str, Any]]) -> None:
        self.send(site, self.new(time, batch))

    @rule(site=reporters, batch=batches)
    def report_newest(self, site: str, batch: list[dict[str, Any]]) -> None:
        newest = max((h.last_seen() for h in self.model.allocations.values()), default=0)
        self.send(site, self.new(min(newest + 1, NOW + 5), batch))

    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        if self.sent:
            site, body = data.draw(st.sampled_from(self.sent))
            self.send(site, body)

    @rule(data=st.data(), step=st.integers(0, 2))
    def same_again_later(self, data: st.DataObject, step: int) -> None:
        if self.sent:
            site, body = data.draw(st.sampled_from(self.sent))
            self.send(site, self.new(min(body["time"] + step, NOW + 5), deepcopy(body["resources"])))

    @rule(data=st.data(), batch=batches)
    def reuse_an_id(self, data: st.DataObject, batch: list[dict[str, Any]]) -> None:
        if self.sent:
            site, body = data.draw(st.sampled_from(self.sent))
            self.send(site, {"reportId": body["reportId"], "time": body["time"], "resources": batch})

    @rule(site=reporters, ahead=st.integers(6, 3600), batch=batches)
    def clock_ahead(self, site: str, ahead: int, batch: list[dict[str, Any]]) -> None:
        status, answer = self.driver.report(site, wire(self.new(NOW + ahead, batch)))
        assert (status, answer["code"]) == (422, "observed_in_future")

    @invariant()
    def stands_as_the_model_says(self) -> None:
        if not hasattr(self, "driver"):
            return
        for resource, history in self.model.allocations.items():
            allocation = self.ids[resource]
            status, shown = self.driver.allocation(history.site, allocation)
            assert status == 200
            assert shown == self.expected(resource, history)
            other = SITES[1 - SITES.index(history.site)]
            assert self.driver.allocation(other, allocation)[0] == 404
        versions = {self.ids[r]: history.version() for r, history in self.model.allocations.items()}
        assert self.driver.stored() == (versions, self.model.commands)

    def expected(self, resource: str, history: History) -> dict[str, Any]:
        facts, (lifecycle, reasons) = history.facts(), history.lifecycle()
        return {
            "schema": 1,
            "allocationId": self.ids[resource],
            "site": history.site,
            "resourceId": resource,
            "projectId": facts["project"],
            "revision": history.revision(),
            "lifecycle": lifecycle,
            "reasons": reasons,
            "state": facts["state"],
            "paused": facts["paused"],
            "configured": facts["configured"],
            "applied": facts["applied"],
            "used": history.counted[-1][1]["used"],
            "observedAt": instant(history.observed()),
            "lastSeenAt": instant(history.last_seen()),
        }

    def new(self, time: int, batch: list[dict[str, Any]]) -> dict[str, Any]:
        self.numbered = getattr(self, "numbered", 0) + 1
        return {"reportId": str(UUID(int=0x500 + self.numbered)), "time": time, "resources": batch}

    def send(self, site: str, body: dict[str, Any]) -> None:
        note(f"{site}: {body}")
        expected = self.model.report(site, body, self.projects())
        status, answer = self.driver.report(site, wire(body))
        if expected is None:
            assert (status, answer["code"]) == (409, "command_reused")
            return
        assert status == 200, answer
        assert self.heard(answer) == expected
        self.sent.append((site, deepcopy(body)))

    def projects(self) -> dict[str, str]:
        """What resolves now."""
        return self.known if self.readable else {}

    def heard(self, answer: dict[str, Any]) -> list[Told]:
        """What an answer says, remembering the ids it names."""
        for outcome in answer["outcomes"]:
            known = self.ids.setdefault(outcome["resourceId"], outcome["allocationId"])
            assert known == outcome["allocationId"]
        return [(o["outcome"], o["revision"], o["code"]) for o in answer["outcomes"]]

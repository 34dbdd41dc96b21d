"""Agents that report to a served intake over HTTP and never give a report up.

Each keeps a report's bytes until they are answered, as the Site's journal does, and knows beforehand what
every answer must be: whatever fails in between, a report counts once.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.bench.intake import SITES, headers_of
from tests.contract.goldens import canonical
from tests.postgres.provisioning.conftest import report_body, resource

RESOURCES = 5
_GIVE_UP_SECONDS = 120


@dataclass(slots=True)
class Known:
    """What must stand of one resource."""

    body: dict[str, Any]
    version: int = 0
    revision: int = 0
    seen_at: str = ""


@dataclass(eq=False)
class Reporter(threading.Thread):
    """One agent with resources of its own; `failure` says what was answered otherwise than it had to be."""

    port: int
    number: int
    seed: int
    over: threading.Event
    counts: Counter[str] = field(default_factory=Counter)
    known: dict[str, Known] = field(default_factory=dict)
    reports: int = 0
    failure: str = ""

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._site = SITES[self.number % len(SITES)]
        self._random = random.Random(f"{self.seed}/{self.number}")
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self._first = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=6)
        self._bodies = [resource(1000 * self.number + n + 1) for n in range(RESOURCES)]
        self._known = [Known(body) for body in self._bodies]

    def run(self) -> None:
        """Reports until it is over, and at least three times."""
        try:
            while not self.over.is_set() or self.reports < 3:
                self._report()
        except Exception as error:
            self.failure = f"reporter {self.number}: {error!r}"
        finally:
            self._connection.close()

    def _report(self) -> None:
        stale = self.reports > 1 and self._random.random() < 0.15
        at = self._time(self.reports - 2 if stale else self.reports)
        bodies = [self._changed(known) for known in self._known]
        wanted = [known.revision for known in self._known]
        outcomes = ["stale_report"] * RESOURCES
        if not stale:
            pairs = list(zip(self._known, bodies, strict=True))
            wanted, outcomes = map(list, zip(*(self._expected(*pair, at) for pair in pairs), strict=True))
            self.reports += 1
        report_id = UUID(int=self._random.getrandbits(128), version=4)
        answer = self._send(canonical(report_body(at, *bodies, report_id=report_id)))
        told = [(each["outcome"], each["revision"]) for each in answer["outcomes"]]
        if told != list(zip(outcomes, wanted, strict=True)):
            raise AssertionError(f"report {self.reports} was told {told}, wanted {outcomes} {wanted}")
        self.counts.update(outcomes)
        self.known = {
            each["allocationId"]: known for each, known in zip(answer["outcomes"], self._known, strict=True)
        }

    def _time(self, number: int) -> str:
        return (self._first + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")

    def _changed(self, known: Known) -> dict[str, Any]:
        """What is said of it this time: the same, another pause, another usage."""
        kind = self._random.choice(["same", "same", "pause", "usage"])
        if kind == "pause":
            return known.body | {"paused": not known.body["paused"]}
        if kind == "usage":
            return known.body | {"used": {"cpu": self._random.randrange(1, 144_000)}}
        return known.body

    def _expected(self, known: Known, body: dict[str, Any], at: str) -> tuple[int, str]:
        """Revision and outcome, and what stands then (P5, P6)."""
        first = known.version == 0
        material = first or body["paused"] != known.body["paused"]
        changed = material or body["used"] != known.body["used"]
        known.revision += material
        known.version += changed
        known.body, known.seen_at = body, at
        return known.revision, "changed" if changed else "seen"

    def _send(self, body: bytes) -> Any:
        """The answer, after as many byte-equal retries as it takes."""
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        while time.monotonic() < deadline:
            try:
                self._connection.request(
                    "POST", f"/resource-provisioning/{self._site}/reports", body, headers_of(self._site)
                )
                answer = self._connection.getresponse()
                told = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                self.counts[f"retried after {type(error).__name__}"] += 1
            else:
                if answer.status == 200:
                    return json.loads(told)
                if answer.status != 503:
                    raise AssertionError(f"{answer.status}: {told[:300]!r}")
                self.counts["retried after 503"] += 1
            time.sleep(0.05)
        raise AssertionError(f"no answer within {_GIVE_UP_SECONDS} s")

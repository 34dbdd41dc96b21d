"""A small world of the simulated Waldur and one caller of its rules, for tests that open no socket."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.simulators.waldur import routes
from tests.simulators.waldur.answers import Answer
from tests.simulators.waldur.model import World
from tests.simulators.waldur.staging import Stage

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
BASE = "https://waldur.example.org"


@dataclass
class Site:
    """A provider with one offering, a project with one member, and one resource."""

    world: World = field(default_factory=World)
    now: datetime = NOW

    def __post_init__(self) -> None:
        self.made = self.stage.stand()
        self.offering = self.made["offering"]
        self.project = self.stage.add_project("Lattice", self.made["customer"])
        self.resource = self.stage.add_resource(self.offering, self.project, "one", limits={"node": 100})
        self.alice = self.stage.add_user("alice@example.org")
        self.account = self.stage.add_member(self.project, self.alice)[0]

    @property
    def stage(self) -> Stage:
        return Stage(self.world, self.now)

    def call(
        self, method: str, path: str, body: Any = None, *, who: str = "owner", raw: bytes | None = None,
        authorization: str | None = None, media_type: str = "application/json",
    ) -> Answer:  # fmt: skip
        """The rules' answer to a call of one of the made callers (`made`), or with a header of the test's."""
        sent = raw if raw is not None else (b"" if body is None else json.dumps(body).encode())
        header = authorization if authorization is not None else f"Token {self.made[who]}"
        request = routes.Request(method, f"/api/{path}", header, media_type, sent, BASE)
        return routes.answer(self.world, request, self.now)

    def get(self, path: str, who: str = "owner") -> Any:
        """The body of a GET that must be answered 200."""
        answer = self.call("GET", path, who=who)
        assert answer.status == 200, answer.body
        return answer.body

    def report(self, *usages: tuple[str, str], who: str = "owner", **more: Any) -> Answer:
        """`set_usage` of the resource."""
        items = [{"type": kind, "amount": amount} for kind, amount in usages]
        body = {"resource": self.resource, "usages": items} | more
        return self.call("POST", "marketplace-component-usages/set_usage/", body, who=who)

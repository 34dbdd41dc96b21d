"""Central speaks docs/wire.md of a member's execution consent and a Project's allocations (E5, P38, X10)."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from flask import Flask

from central.execution.application.member_consents import (
    GiveConsent,
    GrantRefused,
    ReadConsent,
    WithdrawConsent,
)
from central.execution.application.ports import MemberToken
from central.execution.domain.consent import Consent, Tokens
from central.execution.entrypoints.consent_routes import ConsentBody, ConsentGivenBody, ConsentRoutes
from central.kernel.http import create_app
from central.kernel.observability import Metrics
from central.kernel.strict_json import decode, encode
from central.provisioning.entrypoints.project_allocations import ProjectAllocationsBody
from tests.contract.asking import send, whoever
from tests.contract.goldens import Golden, Refused, load

CLOCK = datetime(2026, 11, 2, 10, 0, 1, 250000, tzinfo=UTC)
PARTY, OTHER = UUID(int=1), UUID(int=2)
BODIES: dict[str, type[msgspec.Struct]] = {
    "execution-consent-give": ConsentGivenBody,
    "execution-consent": ConsentBody,
    "project-allocations": ProjectAllocationsBody,
}


class Issuer:
    """The issuer: `subject` is whose code it is; a code serves once."""

    def __init__(self) -> None:
        self.subject = str(PARTY)
        self.used: set[str] = set()
        self.revoked: list[str] = []

    def redeem(self, code: str, verifier: str, redirect_uri: str, now: datetime) -> tuple[str, Tokens]:
        if code in self.used:
            raise GrantRefused
        self.used.add(code)
        return self.subject, Tokens("access-word", "refresh-word", now + timedelta(minutes=5))

    def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        raise GrantRefused

    def exchange(self, access_token: str, audience: str, now: datetime) -> MemberToken:
        raise GrantRefused

    def revoke(self, refresh_token: str) -> None:
        self.revoked.append(refresh_token)


class Consents:
    """The store."""

    def __init__(self) -> None:
        self.kept: dict[UUID, Consent] = {}

    def read(self, party: UUID) -> Consent | None:
        return self.kept.get(party)

    def change(self, party: UUID, change: Callable[[Consent | None], Consent]) -> Consent:
        self.kept[party] = change(self.kept.get(party))
        return self.kept[party]


class World:
    """The routes over both."""

    def __init__(self) -> None:
        self.issuer, self.consents = Issuer(), Consents()
        self.app = self._app()

    def _app(self) -> Flask:
        app = create_app("consent", metrics=Metrics("consent"), ready=lambda: None)
        routes = ConsentRoutes(
            member=whoever({"member": PARTY}),
            give=GiveConsent(self.issuer, self.consents, UUID),
            read=ReadConsent(self.consents),
            withdraw=WithdrawConsent(self.issuer, self.consents),
            clock=lambda: CLOCK,
        )
        app.register_blueprint(routes.blueprint())
        return app

    def send(self, request: dict[str, Any], body: bytes | None = None) -> tuple[int, Any]:
        status, answer, _ = send(self.app.test_client(), {"$MEMBER": "Bearer member"}, request, body)
        return status, answer

    def member(self, method: str) -> tuple[int, Any]:
        path = load("execution-consent").request["path"]
        return self.send({"method": method, "path": path, "headers": {"Authorization": "$MEMBER"}})

    def give(self, **changes: object) -> tuple[int, Any]:
        golden = load("execution-consent-give")
        return self.send(golden.request, json.dumps(golden.valid[0].body | changes).encode())


@pytest.fixture
def world() -> World:
    return World()


def cases() -> Iterator[Any]:
    for name, kind in BODIES.items():
        for body in load(name).valid:
            yield pytest.param(kind, body.canonical, id=f"{name}-{body.name}")


@pytest.mark.parametrize(("kind", "body"), list(cases()))
def test_a_valid_body_is_read_and_written_byte_for_byte(kind: type[msgspec.Struct], body: bytes) -> None:
    assert encode(decode(body, kind)) == body


@pytest.mark.parametrize(
    ("golden", "case"),
    [
        pytest.param(load("execution-consent-give"), case, id=case.name)
        for case in load("execution-consent-give").refused
    ],
)
def test_a_refused_consent_gets_its_code(golden: Golden, case: Refused, world: World) -> None:
    status, problem = world.send(case.request, case.raw)
    assert (status, problem["code"]) == (case.status, case.code)
    assert world.consents.kept == {}


def test_e5_a_consent_is_given_shown_and_withdrawn(world: World) -> None:
    none, standing, ended = (
        {body.name: body.body for body in load("execution-consent").valid}[name]
        for name in ("none", "standing", "ended")
    )
    assert world.member("GET") == (200, none)
    assert world.member("DELETE") == (200, none)
    assert world.give() == (200, standing)
    assert world.member("GET") == (200, standing)
    status, over = world.member("DELETE")
    assert (status, over) == (200, ended | {"consentedAt": standing["consentedAt"]})
    assert world.issuer.revoked == ["refresh-word"]


def test_x7_the_same_code_is_never_redeemed_twice(world: World) -> None:
    assert world.give() == world.give()
    status, problem = world.give(code="another")
    assert (status, problem["state"]) == (200, "standing")
    status, problem = world.give()
    assert (status, problem["code"]) == (422, "consent_refused")


def test_e5_somebody_elses_code_is_refused_and_its_session_ended(world: World) -> None:
    world.issuer.subject = str(OTHER)
    status, problem = world.give()
    assert (status, problem["code"], world.issuer.revoked) == (403, "consent_of_another", ["refresh-word"])
    assert world.consents.kept == {}


def test_x5_no_code_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        assert world.give(code="a-code-to-look-for")[0] == 200
    assert "a-code-to-look-for" not in caplog.text
    assert "access-word" not in repr(world.consents.kept)

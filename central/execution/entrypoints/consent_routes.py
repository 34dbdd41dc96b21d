"""`/api/v1/me/execution-consent`: the member's offline consent for Runs (E5)."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final, Literal
from uuid import UUID

from flask import Blueprint, Response
from msgspec import Meta, Struct

from central.execution import problems
from central.execution.application.member_consents import (
    GiveConsent,
    GrantRefused,
    ReadConsent,
    WithdrawConsent,
    WrongMember,
)
from central.execution.domain.consent import Consent
from central.execution.entrypoints.run_wire import SCHEMA, Schema
from central.kernel.http import answer, read_json, read_query
from central.kernel.observability import event
from central.kernel.problems import Problem
from central.kernel.times import Clock, format_rfc3339

CONSENT_BYTES_MAX: Final = 8_192
_LOG: Final = logging.getLogger("central.execution")

Code = Annotated[str, Meta(pattern=r"\A[\x21-\x7e]{1,2048}\Z")]
Verifier = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._~-]{43,128}\Z")]
"""RFC 7636 §4.1."""
RedirectUri = Annotated[str, Meta(pattern=r"\Ahttps?://[\x21-\x22\x24-\x7e]{1,2000}\Z")]
"""Absolute and without a fragment (RFC 6749 §3.1.2); the issuer knows which it sent the code to."""


class ConsentGivenBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`PUT`."""

    schema: Schema
    code: Code
    code_verifier: Verifier
    redirect_uri: RedirectUri


class ConsentBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """What stands."""

    schema: Schema
    state: Literal["none", "standing", "ended"]
    consented_at: str | None
    ended_at: str | None


@dataclass(frozen=True, slots=True)
class ConsentRoutes:
    """The three routes. `member` names the Party who asks, or raises the 401."""

    member: Callable[[], UUID]
    give: GiveConsent
    read: ReadConsent
    withdraw: WithdrawConsent
    clock: Clock

    def blueprint(self) -> Blueprint:
        """The routes, ready to be mounted."""
        blueprint = Blueprint("member_execution_consent", __name__, url_prefix="/api/v1/me")
        rule = "/execution-consent"
        blueprint.add_url_rule(rule, view_func=self.shown, methods=["GET"])
        blueprint.add_url_rule(rule, view_func=self.given, methods=["PUT"])
        blueprint.add_url_rule(rule, view_func=self.withdrawn, methods=["DELETE"])
        return blueprint

    def shown(self) -> Response:
        """What stands."""
        member = self.member()
        read_query()
        return answer(consent_body(self.read(member)))

    def given(self) -> Response:
        """Takes a code of the issuer. Nothing of it is logged."""
        member = self.member()
        read_query()
        body = read_json(ConsentGivenBody, body_bytes=CONSENT_BYTES_MAX)
        with _refusals():
            consent = self.give(member, body.code, body.code_verifier, body.redirect_uri, self.clock())
        event(_LOG, "consent_given", stands=consent.stands)
        return answer(consent_body(consent))

    def withdrawn(self) -> Response:
        """Ends it, here and at the issuer."""
        member = self.member()
        read_query()
        consent = self.withdraw(member, self.clock())
        event(_LOG, "consent_withdrawn", known=consent is not None)
        return answer(consent_body(consent))


def consent_body(consent: Consent | None) -> ConsentBody:
    """A consent as its member sees it; nothing of its tokens."""
    if consent is None:
        return ConsentBody(SCHEMA, "none", None, None)
    ended = format_rfc3339(consent.ended_at) if consent.ended_at is not None else None
    state: Literal["standing", "ended"] = "standing" if consent.stands else "ended"
    return ConsentBody(SCHEMA, state, format_rfc3339(consent.consented_at), ended)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except GrantRefused:
        raise Problem(
            problems.CONSENT_REFUSED, "the issuer refuses this code; sign in again and send the new one"
        ) from None
    except WrongMember:
        raise Problem(
            problems.CONSENT_OF_ANOTHER, "the code was given by another member; sign in as yourself"
        ) from None

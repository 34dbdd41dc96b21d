"""The Site's half of the commands: every golden read and written byte for byte (X10, E3)."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from site_bundle.kernel.documents import write_document
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object
from site_bundle.kernel.times import parse_time
from site_bundle.runtime.adapters.wire_commands import CommandsBody, decode_command, encode_command
from site_bundle.runtime.adapters.wire_words import (
    ReceiptBody,
    TokenBody,
    encode_ack,
    encode_result,
    encode_statement,
    encode_token_request,
)
from site_bundle.runtime.domain.feed import Page
from site_bundle.runtime.domain.jobs import JobRef
from site_bundle.runtime.domain.stage import NOT_UNDERSTOOD
from site_bundle.runtime.domain.verdict import End, Output, Usage, Verdict
from tests.contract.goldens import Refused, Valid, load
from tests.simulators.site_api import commands
from tests.simulators.site_api.checks import Problem

READ: dict[str, type[object]] = {
    "site-commands": CommandsBody,
    "command-receipt": ReceiptBody,
    "member-token": TokenBody,
}
CLOCK = parse_time("2026-11-02T10:00:30Z")


def read(name: str, raw: bytes) -> object:
    """What the adapters make of an answer."""
    body = decode_object(raw, READ[name], max_bytes=1 << 20)
    if isinstance(body, CommandsBody):
        body.page()
    elif isinstance(body, TokenBody):
        body.member_token()
    return body


def pages(raw: bytes) -> Page:
    return decode_object(raw, CommandsBody, max_bytes=1 << 20).page()


def rows(*names: str) -> list[object]:
    return [pytest.param(name, row, id=f"{name}-{row.name}") for name in names for row in load(name).valid]


def refusals(*names: str) -> list[object]:
    return [pytest.param(name, row, id=f"{name}-{row.name}") for name in names for row in load(name).refused]


@pytest.mark.parametrize(("name", "row"), rows(*READ))
def test_x10_answers_are_read_and_written_again(name: str, row: Valid) -> None:
    assert write_document(read(name, row.canonical)) == row.canonical


@pytest.mark.parametrize(("name", "row"), refusals(*READ))
def test_x4_answers_that_break_a_rule_are_malformed(name: str, row: Refused) -> None:
    """A page of commands is, unless the fault is one command's own: that one has only its name left (S1)."""
    if row.code == NOT_UNDERSTOOD:
        assert pages(row.raw).foreign
        return
    assert row.code == "answer_malformed"
    with pytest.raises((MalformedJsonError, ValueError)):
        read(name, row.raw)


@pytest.mark.parametrize("gone", ["sequence", "commandId", "attemptId"])
def test_x4_a_command_that_cannot_be_answered_makes_the_page_malformed(gone: str) -> None:
    body = json.loads(load("site-commands").valid[0].canonical)
    body["commands"][1] |= {"action": {"act": "hold"}}
    assert [one.sequence for one in pages(json.dumps(body).encode()).foreign] == [
        body["commands"][1]["sequence"]
    ]
    del body["commands"][1][gone]
    with pytest.raises(ValueError, match="missing"):
        pages(json.dumps(body).encode())


@pytest.mark.parametrize(("name", "row"), rows("site-commands"))
def test_s1_the_journals_form_is_the_commands(name: str, row: Valid) -> None:
    for command in decode_object(row.canonical, CommandsBody, max_bytes=1 << 20).page().commands:
        assert decode_command(encode_command(command)) == command


def written(name: str, body: dict[str, Any]) -> bytes:
    """What our encoder makes of the golden's values."""
    at = parse_time
    if name == "command-ack":
        job = JobRef(body["jobId"], body["cluster"], None) if body["jobId"] else None
        ids = UUID(body["ackId"]), UUID(body["attemptId"])
        return encode_ack(*ids, at(body["acknowledgedAt"]), job=job, code=body["code"])
    if name == "command-result":
        usage, output = body["usage"], body["output"]
        end = End(
            Verdict(body["verdict"]),
            body["exitCode"],
            body["signal"],
            at(body["startedAt"]) if body["startedAt"] else None,
            at(body["endedAt"]) if body["endedAt"] else None,
            Usage(usage["elapsedSeconds"], usage["allocated"]) if usage else None,
            Output(output["ref"], output["commit"]) if output else None,
            body["code"],
        )
        return encode_result(UUID(body["resultId"]), UUID(body["attemptId"]), at(body["observedAt"]), end)
    if name == "member-token-request":
        return encode_token_request(UUID(body["attemptId"]))
    until = at(body["until"]) if body["until"] else None
    named = UUID(body["statementId"]), at(body["observedAt"])
    return encode_statement(*named, draining=body["draining"], until=until, reason=body["reason"])


WRITTEN = ("command-ack", "command-result", "member-token-request", "site-maintenance")


@pytest.mark.parametrize(("name", "row"), rows(*WRITTEN))
def test_x10_what_the_runtime_says_is_the_golden(name: str, row: Valid) -> None:
    assert written(name, json.loads(row.canonical)) == row.canonical


STATEFUL = {
    "attempt_mismatch",
    "command_acknowledged",
    "command_unknown",
    "command_reused",
    "command_not_acknowledged",
    "consent_expired",
    "authority_refused",
    "unauthenticated",
    "forbidden",
    "schema_unsupported",
    "unavailable",
    "media_type_refused",
    "content_encoding_refused",
    "request_malformed",
}


def bodies_refused(*names: str) -> list[object]:
    """What is refused for the body alone, whatever state and headers are."""
    found = [(name, row) for name in names for row in load(name).refused if row.code not in STATEFUL]
    return [pytest.param(name, row, id=f"{name}-{row.name}") for name, row in found]


@pytest.mark.parametrize(("name", "row"), bodies_refused("command-ack", "command-result"))
def test_x4_the_stand_in_refuses_what_central_refuses(name: str, row: Refused) -> None:
    """The strict desk is as strict as the goldens, so that a test against it says something."""
    desk = commands.CommandDesk()
    kind = name.removeprefix("command-")
    with pytest.raises(Problem) as refused:
        desk.word("00000000-0000-4000-8000-000000000203", kind, row.raw, CLOCK)
    assert refused.value.status in {400, 413, 422}, refused.value.code

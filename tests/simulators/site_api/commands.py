"""The commands half of the stand-in: a strict desk that issues commands and keeps what it is told
(docs/wire.md).
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.simulators.site_api.checks import NAME, UUID, Problem, parse_json, parse_time, ranged_query

CALL = re.compile(
    r"/v1/site/commands(?:/(unacknowledged|maintenance|([0-9a-f-]{36})/(ack|result|member-token)))?"
)
VERDICTS = {"completed", "failed", "cancelled", "timed_out", "out_of_memory", "node_failed", "lost"}
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
COMPONENT = re.compile(r"cpu|memory|gpu\.[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)
REF = re.compile(r"refs/heads/pharos/runs/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FORMS = {
    "ack": ["schema", "ackId", "attemptId", "acknowledgedAt", "outcome", "jobId", "cluster", "code"],
    "result": [
        "schema", "resultId", "attemptId", "observedAt", "verdict", "exitCode", "signal", "startedAt",
        "endedAt", "usage", "output", "code",
    ],
    "member-token": ["schema", "attemptId"],
    "maintenance": ["schema", "statementId", "observedAt", "draining", "until", "reason"],
}  # fmt: skip


def _now() -> datetime:
    return datetime.now(UTC)


def rendered(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclass
class Issued:
    """A command with all that was said of it; `words` by kind: the bytes and the body."""

    body: dict[str, Any]
    words: dict[str, tuple[bytes, dict[str, Any]]] = field(default_factory=dict)
    tokens: int = 0

    @property
    def ack(self) -> dict[str, Any] | None:
        return self.words["ack"][1] if "ack" in self.words else None

    @property
    def result(self) -> dict[str, Any] | None:
        return self.words["result"][1] if "result" in self.words else None


@dataclass
class CommandDesk:
    """One Site's commands. `mint` makes a member's token; `credential` opens the repository, or None.

    `refuse_token`: the status and code the token call answers instead.
    """

    site: str = "slurm"
    feed: str = field(default_factory=lambda: str(uuid.uuid4()))
    valid_seconds: float = 60.0
    issued: list[Issued] = field(default_factory=list)
    mint: Callable[[str], str] = field(default=lambda login: f"token-of-{login}")
    credential: dict[str, str] | None = None
    refuse_token: tuple[int, str] | None = None
    statements: list[dict[str, Any]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def issue(
        self, identity: dict[str, Any], run_id: str, attempt_id: str, action: dict[str, Any], **more: Any
    ) -> Issued:
        """Puts a command into the feed."""
        with self.changed:
            body = {
                "sequence": len(self.issued) + 1,
                "commandId": str(uuid.uuid4()),
                "issuedAt": rendered(_now()),
                "validUntil": "",
                "runId": run_id,
                "attemptId": attempt_id,
                "attempt": 1,
                "identity": identity,
                "action": action,
            }
            issued = Issued(body | more)
            self.issued.append(issued)
            self.changed.notify_all()
            return issued

    def page(self, after: int, limit: int, wait: float, *, unacknowledged: bool) -> dict[str, Any]:
        """LookupError when the history ends before `after`."""
        with self.changed:
            if after > len(self.issued) and not unacknowledged:
                raise LookupError(after)
            if not unacknowledged:
                self.changed.wait_for(lambda: len(self.issued) > after, timeout=wait)
            later = [
                each
                for each in self.issued
                if each.body["sequence"] > after and not (unacknowledged and each.ack is not None)
            ]
            until = rendered(_now() + timedelta(seconds=self.valid_seconds))
            shown = [each.body | {"validUntil": each.body["validUntil"] or until} for each in later[:limit]]
            more = len(later) > len(shown)
            reach = shown[-1]["sequence"] if more else max(after, len(self.issued))
        return {
            "schema": 1, "site": self.site, "feed": self.feed, "after": after,
            "commands": shown, "next": reach, "more": more,
        }  # fmt: skip

    def find(self, command_id: str) -> Issued:
        for each in self.issued:
            if each.body["commandId"] == command_id:
                return each
        raise Problem(404, "command_unknown")

    def token(self, command_id: str, raw: bytes) -> dict[str, Any]:
        """A member token; only for a submit that is not acknowledged."""
        body = _body("member-token", raw)
        issued = self._attempted(command_id, body)
        if issued.ack is not None or issued.body["action"]["act"] != "submit":
            raise Problem(409, "command_acknowledged")
        if self.refuse_token is not None:
            raise Problem(*self.refuse_token)
        issued.tokens += 1
        until = _now() + timedelta(seconds=60)
        credential = None
        if issued.body["action"]["stage"] != "compute" and self.credential is not None:
            credential = self.credential | {"expiresAt": rendered(until + timedelta(hours=1))}
        return {
            "schema": 1, "token": self.mint(issued.body["identity"]["username"]),
            "expiresAt": rendered(until), "validUntil": rendered(until), "repositoryCredential": credential,
        }  # fmt: skip

    def word(self, command_id: str, kind: str, raw: bytes, now: datetime) -> dict[str, Any]:
        """Keeps an acknowledgement or a result; the same again is `unchanged`."""
        body = _body(kind, raw)
        (_check_ack if kind == "ack" else _check_result)(body, now)
        with self.changed:
            issued = self._attempted(command_id, body)
            known = issued.words.get(kind)
            if known is not None:
                if known[0] != raw:
                    same_id = known[1][f"{kind}Id"] == body[f"{kind}Id"]
                    raise Problem(409, "command_reused" if same_id else "command_acknowledged")
                return {"schema": 1, "commandId": command_id, "outcome": "unchanged"}
            if kind == "result" and (issued.ack is None or issued.ack["outcome"] != "accepted"):
                raise Problem(409, "command_not_acknowledged")
            submits = issued.body["action"]["act"] == "submit"
            if kind == "ack" and body["outcome"] == "accepted" and submits and body["jobId"] is None:
                raise Problem(400, "body_invalid")
            issued.words[kind] = (raw, body)
            self.changed.notify_all()
        return {"schema": 1, "commandId": command_id, "outcome": "recorded"}

    def wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Whether `done` became true in time."""
        with self.changed:
            return self.changed.wait_for(done, timeout=seconds)

    def _attempted(self, command_id: str, body: dict[str, Any]) -> Issued:
        issued = self.find(command_id)
        if body["attemptId"] != issued.body["attemptId"]:
            raise Problem(409, "attempt_mismatch")
        return issued


def _body(kind: str, raw: bytes) -> dict[str, Any]:
    """The canonical encoding is wanted: fields of the page in its order."""
    body = parse_json(raw)
    if list(body) != FORMS[kind] or body["schema"] != 1 or isinstance(body["schema"], bool):
        raise Problem(400, "body_invalid")
    for name in ("ackId", "resultId", "attemptId", "statementId"):
        if name in body and not (isinstance(body[name], str) and UUID.fullmatch(body[name])):
            raise Problem(400, "body_invalid")
    return body


def _named(value: Any) -> bool:
    return value is None or (isinstance(value, str) and NAME.fullmatch(value) is not None)


def _check_ack(body: dict[str, Any], now: datetime) -> None:
    if parse_time(body["acknowledgedAt"]) > now + timedelta(seconds=5):
        raise Problem(422, "observed_in_future")
    accepted = body["outcome"] == "accepted"
    if (
        body["outcome"] not in {"accepted", "refused"}
        or not _named(body["code"])
        or accepted == bool(body["code"])
    ):
        raise Problem(400, "body_invalid")
    job = body["jobId"]
    if job is not None and not (
        accepted and isinstance(job, str) and re.fullmatch(r"[1-9][0-9]{0,18}", job) and body["cluster"]
    ):
        raise Problem(400, "body_invalid")


def _check_result(body: dict[str, Any], now: datetime) -> None:
    if parse_time(body["observedAt"]) > now + timedelta(seconds=5):
        raise Problem(422, "observed_in_future")
    if body["verdict"] not in VERDICTS or not _named(body["code"]):
        raise Problem(400, "body_invalid")
    if body["verdict"] == "lost" and body["code"] is None:
        raise Problem(400, "body_invalid")
    if body["verdict"] == "completed" and body["exitCode"] not in {0, None}:
        raise Problem(400, "body_invalid")
    for name, most in (("exitCode", 255), ("signal", 127)):
        if body[name] is not None and not (type(body[name]) is int and 0 <= body[name] <= most):
            raise Problem(400, "body_invalid")
    times = [parse_time(body[name]) for name in ("startedAt", "endedAt") if body[name] is not None]
    if times != sorted(times):
        raise Problem(400, "body_invalid")
    usage, output = body["usage"], body["output"]
    if usage is not None and (list(usage) != ["elapsedSeconds", "allocated"] or not _amounts(usage)):
        raise Problem(400, "body_invalid")
    if output is not None and not (
        list(output) == ["ref", "commit"]
        and REF.fullmatch(output["ref"])
        and COMMIT.fullmatch(output["commit"])
    ):
        raise Problem(400, "body_invalid")


def _amounts(usage: dict[str, Any]) -> bool:
    numbers = [usage["elapsedSeconds"], *usage["allocated"].values()]
    return all(type(number) is int and 0 <= number < 2**63 for number in numbers) and all(
        COMPONENT.fullmatch(name) for name in usage["allocated"]
    )


def answer(  # noqa: PLR0917 - a request's parts
    desk: CommandDesk, method: str, path: str, query: str, raw: bytes, now: datetime
) -> dict[str, Any] | None:
    """The answer of one call of this half, after the credential was checked; None: 204."""
    match = CALL.fullmatch(path)
    if match is None:
        raise Problem(404, "not_found")
    named, command_id, kind = match.groups()
    wanted = {None: "GET", "unacknowledged": "GET", "maintenance": "PUT"}.get(named, "POST")
    if method != wanted:
        raise Problem(405, "method_not_allowed")
    if method == "GET":
        limits = {"after": (0, 2**63 - 1), "limit": (1, 100)} | ({"wait": (0, 55)} if named is None else {})
        asked = {"wait": 0, "limit": 100} | ranged_query(query, limits)
        try:
            return desk.page(asked["after"], asked["limit"], asked["wait"], unacknowledged=named is not None)
        except LookupError as error:
            raise Problem(409, "feed_position_unknown") from error
    if query:
        raise Problem(400, "query_invalid")
    if named == "maintenance":
        body = _body("maintenance", raw)
        if bool(body["draining"]) != (body["reason"] is not None):
            raise Problem(400, "body_invalid")
        desk.statements.append(body)
        return None
    return desk.token(command_id, raw) if kind == "member-token" else desk.word(command_id, kind, raw, now)

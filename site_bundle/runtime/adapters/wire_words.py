"""What the Runtime says of commands, and what central answers (docs/wire.md "Site API: commands", schema 1;
X10): exact in, byte-stable out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from site_bundle.kernel.documents import Length, Matching, write_document
from site_bundle.runtime.application.ports import MemberToken, RepositoryCredential
from site_bundle.runtime.domain.jobs import JobRef
from site_bundle.runtime.domain.verdict import End


@dataclass(frozen=True, slots=True)
class CredentialBody:
    username: Annotated[str, Length(1, 256), Matching(r"[\x21-\x39\x3b-\x7e]+")]
    password: Annotated[str, Length(1, 4096), Matching(r"[\x21-\x7e]+")]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TokenBody:
    schema: Literal[1]
    token: Annotated[str, Length(1, 16384), Matching(r"[\x21-\x7e]+")]
    expires_at: datetime
    valid_until: datetime
    repository_credential: CredentialBody | None

    def member_token(self) -> MemberToken:
        """ValueError. The texts of the errors name no value."""
        if self.valid_until > self.expires_at:
            raise ValueError("a token that is valid after it expired")
        given = self.repository_credential
        credential = RepositoryCredential(given.username, given.password) if given else None
        return MemberToken(self.token, self.valid_until, credential)


@dataclass(frozen=True, slots=True)
class ReceiptBody:
    schema: Literal[1]
    command_id: UUID
    outcome: Literal["recorded", "unchanged"]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    schema: int
    attempt_id: UUID


@dataclass(frozen=True, slots=True)
class AckBody:
    schema: int
    ack_id: UUID
    attempt_id: UUID
    acknowledged_at: datetime
    outcome: Literal["accepted", "refused"]
    job_id: str | None
    cluster: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class UsageBody:
    elapsed_seconds: int
    allocated: dict[str, int]


@dataclass(frozen=True, slots=True)
class OutputBody:
    ref: str
    commit: str


@dataclass(frozen=True, slots=True)
class ResultBody:
    schema: int
    result_id: UUID
    attempt_id: UUID
    observed_at: datetime
    verdict: str
    exit_code: int | None
    signal: int | None
    started_at: datetime | None
    ended_at: datetime | None
    usage: UsageBody | None
    output: OutputBody | None
    code: str | None


@dataclass(frozen=True, slots=True)
class MaintenanceBody:
    schema: Literal[1]
    statement_id: UUID
    observed_at: datetime
    draining: bool
    until: datetime | None
    reason: Annotated[str, Length(1, 200)] | None


def encode_ack(
    ack_id: UUID, attempt_id: UUID, now: datetime, *, job: JobRef | None, code: str | None
) -> bytes:
    """`accepted` without a code, `refused` with one."""
    outcome: Literal["accepted", "refused"] = "refused" if code else "accepted"
    job_id, cluster = (job.job_id, job.cluster) if job is not None else (None, None)
    return write_document(AckBody(1, ack_id, attempt_id, now, outcome, job_id, cluster, code))


def encode_result(result_id: UUID, attempt_id: UUID, now: datetime, end: End) -> bytes:
    """A definite end."""
    usage = UsageBody(end.usage.elapsed_seconds, dict(end.usage.allocated)) if end.usage else None
    output = OutputBody(end.output.ref, end.output.commit) if end.output else None
    body = ResultBody(
        1,
        result_id,
        attempt_id,
        now,
        end.verdict.value,
        end.exit_code,
        end.signal,
        end.started_at,
        end.ended_at,
        usage,
        output,
        end.code,
    )
    return write_document(body)


def encode_statement(
    statement_id: UUID, now: datetime, *, draining: bool, until: datetime | None, reason: str | None
) -> bytes:
    """S15."""
    return write_document(MaintenanceBody(1, statement_id, now, draining, until, reason))


def encode_token_request(attempt_id: UUID) -> bytes:
    return write_document(TokenRequest(1, attempt_id))

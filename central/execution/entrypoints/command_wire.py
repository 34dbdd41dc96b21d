"""Bodies of docs/wire.md "Site API: commands", schema 1, fields in the wire's order (E3, X4, X10)."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta, Struct

from central.execution.application.list_commands import Bounded
from central.execution.application.member_token import TokenAnswer
from central.execution.application.ports import CommandPage
from central.execution.domain.attempts import numbered
from central.execution.domain.command import Cancel, Submit
from central.execution.domain.run import Identity, StageName, Verdict
from central.execution.entrypoints.run_wire import (
    SCHEMA,
    Amount,
    Commit,
    RepositoryBody,
    Schema,
    UuidText,
)
from central.kernel.site_feed import fitting
from central.kernel.strict_json import encoded_size
from central.kernel.times import format_rfc3339

COMMAND_BYTES_MAX: Final = 65_536

Code = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,63}\Z")]
JobId = Annotated[str, Meta(pattern=r"\A[1-9][0-9]{0,18}\Z")]
ClusterName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
RunsRef = Annotated[
    str, Meta(pattern=r"\Arefs/heads/pharos/runs/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
]


class AckBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST …/{commandId}/ack`."""

    schema: Schema
    ack_id: UuidText
    attempt_id: UuidText
    acknowledged_at: str
    outcome: Literal["accepted", "refused"]
    job_id: JobId | None
    cluster: ClusterName | None
    code: Code | None


class UsageBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """What the stage's job held."""

    elapsed_seconds: Amount
    allocated: dict[str, Amount]


class ResultOutputBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What stage-out pushed."""

    ref: RunsRef
    commit: Commit


class ResultBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST …/{commandId}/result`."""

    schema: Schema
    result_id: UuidText
    attempt_id: UuidText
    observed_at: str
    verdict: Verdict
    exit_code: Annotated[int, Meta(ge=0, le=255)] | None
    signal: Annotated[int, Meta(ge=0, le=127)] | None
    started_at: str | None
    ended_at: str | None
    usage: UsageBody | None
    output: ResultOutputBody | None
    code: Code | None


class TokenRequestBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST …/{commandId}/member-token`."""

    schema: Schema
    attempt_id: UuidText


class MaintenanceBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`PUT /v1/site/commands/maintenance`."""

    schema: Schema
    statement_id: UuidText
    observed_at: str
    draining: bool
    until: str | None
    reason: Annotated[str, Meta(min_length=1, max_length=200)] | None


class CredentialBody(Struct, frozen=True, gc=False, rename="camel"):
    """Opens one repository, for one stage."""

    username: str
    password: str
    expires_at: str


class TokenBody(Struct, frozen=True, gc=False, rename="camel"):
    """The member's token. `Cache-Control: no-store` as everywhere."""

    schema: Schema
    token: str
    expires_at: str
    valid_until: str
    repository_credential: CredentialBody | None


class ReceiptBody(Struct, frozen=True, gc=False, rename="camel"):
    """What became of a word of the Site."""

    schema: Schema
    command_id: UUID
    outcome: Literal["recorded", "unchanged"]


class IdentityBody(Struct, frozen=True, gc=False, rename="camel"):
    """The saved account (E1)."""

    username: str
    uid_number: int
    native_uid: str
    account: str


class ComputeBody(Struct, frozen=True, gc=False):
    """What the compute stage runs."""

    argv: Sequence[str]
    environment: dict[str, str]


class OutputsBody(Struct, frozen=True, gc=False, rename="camel"):
    """What stage-out commits."""

    paths: Sequence[str]
    ref: str
    large_file_bytes: int


class SubmitBody(Struct, frozen=True, gc=False, rename="camel", tag_field="act", tag="submit"):
    """One job of the chain."""

    stage: StageName
    resources: dict[str, int]
    time_limit_seconds: int
    repository: RepositoryBody | None
    compute: ComputeBody | None
    outputs: OutputsBody | None


class CancelBody(Struct, frozen=True, gc=False, tag_field="act", tag="cancel"):
    """The job ends."""

    actor: UUID
    reason: str


class CleanupBody(Struct, frozen=True, gc=False, tag_field="act", tag="cleanup"):
    """The grant is released."""


class CommandBody(Struct, frozen=True, gc=False, rename="camel"):
    """One command."""

    sequence: int
    command_id: UUID
    issued_at: str
    valid_until: str
    run_id: UUID
    attempt_id: UUID
    attempt: int
    identity: IdentityBody
    action: SubmitBody | CancelBody | CleanupBody


class CommandsBody(Struct, frozen=True, gc=False):
    """`GET /v1/site/commands`."""

    schema: Schema
    site: str
    feed: UUID
    after: int
    commands: list[CommandBody]
    next: int
    more: bool


def commands_body(site: str, page: CommandPage, bounded: Sequence[Bounded]) -> CommandsBody:
    """A page of a Site's feed, cut where it grows too large."""
    bodies = map(_command_body, bounded)
    commands, reach, more = fitting(page, bodies, size=encoded_size, sequence=attrgetter("sequence"))
    return CommandsBody(SCHEMA, site, page.feed, page.after, commands, reach, more)


def token_body(answer: TokenAnswer) -> TokenBody:
    """What a Site gets for one submission."""
    given = answer.credential
    return TokenBody(
        schema=SCHEMA,
        token=answer.token.token,
        expires_at=format_rfc3339(answer.token.expires_at),
        valid_until=format_rfc3339(answer.valid_until),
        repository_credential=CredentialBody(given.username, given.password, format_rfc3339(given.expires_at))
        if given is not None
        else None,
    )


def receipt_body(command: UUID, *, changed: bool) -> ReceiptBody:
    """The answer to an acknowledgement or a result."""
    return ReceiptBody(SCHEMA, command, "recorded" if changed else "unchanged")


def _command_body(bounded: Bounded) -> CommandBody:
    listed = bounded.listed
    return CommandBody(
        sequence=listed.sequence,
        command_id=listed.command_id,
        issued_at=format_rfc3339(listed.issued_at),
        valid_until=format_rfc3339(bounded.valid_until),
        run_id=listed.run.run_id,
        attempt_id=listed.attempt_id,
        attempt=numbered(listed.run, listed.attempt_id),
        identity=_identity_body(listed.run.identity),
        action=_action_body(listed.action),
    )


def _identity_body(identity: Identity) -> IdentityBody:
    return IdentityBody(identity.username, identity.uid_number, identity.native_uid, identity.account)


def _action_body(action: object) -> SubmitBody | CancelBody | CleanupBody:
    if isinstance(action, Cancel):
        return CancelBody(action.actor, action.reason)
    if not isinstance(action, Submit):
        return CleanupBody()
    repository, compute, outputs = action.repository, action.compute, action.outputs
    return SubmitBody(
        stage=action.stage,
        resources=dict(sorted(action.resources)),
        time_limit_seconds=action.time_limit_seconds,
        repository=RepositoryBody(repository.url, repository.commit) if repository else None,
        compute=ComputeBody(compute.argv, dict(sorted(compute.environment))) if compute else None,
        outputs=OutputsBody(outputs.paths, outputs.ref, outputs.large_file_bytes) if outputs else None,
    )

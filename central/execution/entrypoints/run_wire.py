"""Bodies of docs/wire.md "Runs", schema 1, fields in the wire's order (E4, X4, X10)."""

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta, Struct

from central.execution.application.ports import RunPage
from central.execution.domain.run import (
    Attempt,
    EndCause,
    Result,
    Run,
    RunState,
    StageName,
    StageState,
    Verdict,
)
from central.execution.domain.words import words_of
from central.kernel.site_names import SITE_NAME
from central.kernel.strict_json import MAX_INTEGER
from central.kernel.times import format_rfc3339

SCHEMA: Final = 1
RUN_BYTES_MAX: Final = 262_144
WORD_BYTES_MAX: Final = 131_072

Schema = Literal[1]
UuidText = Annotated[
    str, Meta(pattern=r"\A[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\Z")
]
Commit = Annotated[str, Meta(pattern=r"\A(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")]
RepositoryUrl = Annotated[
    str,
    Meta(
        pattern=r"\Ahttps://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~!$&'()*+,;=%-]+)+\Z",
        max_length=2048,
    ),
]
Word = Annotated[str, Meta(pattern=r"\A[^\x00-\x08\x0b-\x1f\x7f]*\Z")]
EnvironmentName = Annotated[
    str,
    Meta(pattern=r"\A(?!SLURM_|SBATCH_|SRUN_|LD_|GIT_|PHAROS_)[A-Za-z_][A-Za-z0-9_]{0,127}\Z"),
]
OutputPath = Annotated[
    str,
    Meta(
        pattern=r"\A(?!/)(?!.*(?:^|/)(?:\.\.?|\.[gG][iI][tT])(?:/|$))(?!.*//)[^\x00-\x1f\x7f]{1,1024}\Z",
        max_length=1024,
    ),
]
Amount = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]


class RepositoryBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A repository at one commit."""

    url: RepositoryUrl
    commit: Commit


class RunCreateBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`POST …/runs`."""

    schema: Schema
    site: Annotated[str, Meta(pattern=rf"\A{SITE_NAME}\Z")]
    allocation_id: UuidText | None
    repository: RepositoryBody
    argv: Annotated[list[Word], Meta(min_length=1, max_length=256)]
    environment: dict[EnvironmentName, Word]
    resources: dict[str, Amount]
    time_limit_seconds: Annotated[int, Meta(ge=1, le=31_536_000)]
    outputs: Annotated[list[OutputPath], Meta(max_length=256)]
    deadline: str


class RunCancelBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """`POST …/runs/{runId}/cancel`."""

    schema: Schema
    reason: Annotated[str, Meta(min_length=1, max_length=200)] | None


class RunPlainBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """`POST …/runs/{runId}/retry` and `…/cleanup`: there is nothing more to say."""

    schema: Schema


class WaitingBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Since when a Run waits, what that means and what ends it."""

    since: str | None
    what: str
    remedy: str


class CleanupStateBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Where the cleanup of the latest attempt stands."""

    state: Literal["asked", "refused", "done", "settled"]
    reason: str | None


class StageBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """A stage as a member sees it."""

    stage: StageName
    state: StageState
    job_id: str | None
    verdict: Verdict | None
    exit_code: int | None
    started_at: str | None
    ended_at: str | None


class AttemptBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """An attempt with its stages."""

    attempt_id: UUID
    number: int
    asked_by: UUID | None
    stages: list[StageBody]


class OutputBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Where the outputs are, confirmed by the Git server."""

    ref: str
    commit: str


class RunBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`run`. The environment is not shown."""

    schema: Schema
    run_id: UUID
    project_id: UUID
    site: str
    allocation_id: UUID
    state: RunState
    reason: str | None
    repository: RepositoryBody
    argv: list[str]
    resources: dict[str, int]
    time_limit_seconds: int
    deadline: str
    created_by: UUID
    created_at: str
    changed_at: str
    revision: int
    attempts: list[AttemptBody]
    output: OutputBody | None
    cancelled_by: UUID | None
    waiting: WaitingBody | None
    cleanup: CleanupStateBody | None


class StageUsageBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """What a stage's job held (S8)."""

    elapsed_seconds: int
    allocated: dict[str, int]


class StageResultBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """What came of a stage that has ended."""

    stage: StageName
    verdict: Verdict
    exit_code: int | None
    signal: int | None
    usage: StageUsageBody | None
    code: str | None
    observed_at: str


class AttemptResultsBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """An attempt's ended stages, in order."""

    attempt_id: UUID
    number: int
    stages: list[StageResultBody]


class RunResultsBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`GET …/runs/{runId}/results`."""

    schema: Schema
    run_id: UUID
    state: RunState
    attempts: list[AttemptResultsBody]
    output: OutputBody | None


class ShortBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """A Run in a list."""

    run_id: UUID
    site: str
    state: RunState
    reason: str | None
    created_by: UUID
    created_at: str
    changed_at: str
    revision: int


class RunListBody(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename="camel"):
    """`GET …/runs`."""

    schema: Schema
    project_id: UUID
    runs: list[ShortBody]
    next_page_token: str | None


def run_body(run: Run) -> RunBody:
    """A Run as a member of its Project sees it."""
    wanted = run.request
    return RunBody(
        schema=SCHEMA,
        run_id=run.run_id,
        project_id=wanted.project_id,
        site=wanted.site,
        allocation_id=run.allocation_id,
        state=run.state,
        reason=run.reason,
        repository=RepositoryBody(wanted.repository.url, wanted.repository.commit),
        argv=list(wanted.argv),
        resources=dict(sorted(wanted.resources)),
        time_limit_seconds=wanted.time_limit_seconds,
        deadline=format_rfc3339(wanted.deadline),
        created_by=run.created_by,
        created_at=format_rfc3339(run.created_at),
        changed_at=format_rfc3339(run.changed_at),
        revision=run.revision,
        attempts=[_attempt_body(attempt) for attempt in run.attempts],
        output=OutputBody(run.output.ref, run.output.commit) if run.output else None,
        cancelled_by=_cancelled_by(run),
        waiting=_waiting(run),
        cleanup=_cleanup(run),
    )


def run_results_body(run: Run) -> RunResultsBody:
    """What came of every attempt, for who may read results (E7)."""
    return RunResultsBody(
        schema=SCHEMA,
        run_id=run.run_id,
        state=run.state,
        attempts=[
            AttemptResultsBody(
                attempt.attempt_id,
                attempt.number,
                [_result_body(each.name, each.result) for each in attempt.stages if each.result is not None],
            )
            for attempt in run.attempts
        ],
        output=OutputBody(run.output.ref, run.output.commit) if run.output else None,
    )


def run_list_body(project: UUID, page: RunPage, token: str | None) -> RunListBody:
    """A page of a Project's Runs."""
    return RunListBody(SCHEMA, project, [_short_body(run) for run in page.runs], token)


def _cancelled_by(run: Run) -> UUID | None:
    """Who asked for the end; a deadline that passed is nobody's asking."""
    asked = run.cancellation
    return asked.actor if asked is not None and asked.cause is EndCause.MEMBER_ASKED else None


def _short_body(run: Run) -> ShortBody:
    return ShortBody(
        run_id=run.run_id,
        site=run.request.site,
        state=run.state,
        reason=run.reason,
        created_by=run.created_by,
        created_at=format_rfc3339(run.created_at),
        changed_at=format_rfc3339(run.changed_at),
        revision=run.revision,
    )


def _attempt_body(attempt: Attempt) -> AttemptBody:
    stages = []
    for stage in attempt.stages:
        said, result = stage.acknowledgement, stage.result
        stages.append(
            StageBody(
                stage=stage.name,
                state=stage.state,
                job_id=said.job_id if said else None,
                verdict=result.verdict if result else None,
                exit_code=result.exit_code if result else None,
                started_at=_time(result.started_at if result else None),
                ended_at=_time(result.ended_at if result else None),
            )
        )
    return AttemptBody(attempt.attempt_id, attempt.number, attempt.asked_by, stages)


def _result_body(stage: StageName, result: Result) -> StageResultBody:
    usage = result.usage
    return StageResultBody(
        stage=stage,
        verdict=result.verdict,
        exit_code=result.exit_code,
        signal=result.signal,
        usage=StageUsageBody(usage.elapsed_seconds, dict(sorted(usage.allocated))) if usage else None,
        code=result.code,
        observed_at=format_rfc3339(result.observed_at),
    )


def _waiting(run: Run) -> WaitingBody | None:
    words = words_of(run.reason) if run.state is RunState.WAITING else None
    return WaitingBody(_time(run.waits_since), words.what, words.remedy) if words is not None else None


def _cleanup(run: Run) -> CleanupStateBody | None:
    known = run.cleanup
    if known is None:
        return None
    if known.settlement is not None:
        return CleanupStateBody("settled", known.settlement.reason)
    if known.done:
        return CleanupStateBody("done", None)
    return CleanupStateBody("asked" if known.refusal is None else "refused", known.refusal)


def _time(instant: datetime | None) -> str | None:
    return format_rfc3339(instant) if instant is not None else None

"""Bodies as domain values: what the schema alone cannot say is checked here (X2, X3, E4)."""

import re
from datetime import datetime
from typing import Final
from uuid import UUID

from central.execution.domain.maintenance import Statement
from central.execution.domain.request import Repository, RunRequest
from central.execution.domain.run import Acknowledgement, Output, Result, Usage, Verdict
from central.execution.entrypoints.command_wire import AckBody, MaintenanceBody, ResultBody
from central.execution.entrypoints.run_wire import WORD_BYTES_MAX, RunCreateBody
from central.kernel.problems import BODY_INVALID, FieldError, Problem
from central.kernel.times import parse_observed, parse_rfc3339
from central.kernel.units import COMPONENT

NEEDED: Final = ("cpu", "memory")
GPU: Final = "gpu."
ASKED_GPU: Final = re.compile(r"gpu\.[a-z0-9][a-z0-9_-]{0,31}")
"""Models as the commands' grammar has them: what a Site could not read would stand in every Run's way."""
KNOWN: Final = frozenset({"cpu", "memory", "ephemeral_storage"})
HELD: Final = KNOWN | {"storage"}


def run_request(project: UUID, body: RunCreateBody) -> RunRequest:
    """What a member asks for. Raises the `Problem` of the first rule broken."""
    for name in NEEDED:
        if body.resources.get(name, 0) <= 0:
            raise _invalid(f"/resources/{name}", "wanted a positive amount")
    _check_components(body.resources, KNOWN, ASKED_GPU, "/resources")
    words = [*body.argv, *(part for pair in body.environment.items() for part in pair)]
    if sum(len(word.encode()) for word in words) > WORD_BYTES_MAX:
        raise _invalid("/argv", f"argv and environment together hold at most {WORD_BYTES_MAX} bytes")
    return RunRequest(
        project_id=project,
        site=body.site,
        allocation_id=UUID(body.allocation_id) if body.allocation_id else None,
        repository=Repository(body.repository.url, body.repository.commit),
        argv=tuple(body.argv),
        environment=tuple(sorted(body.environment.items())),
        resources=tuple(sorted(body.resources.items())),
        time_limit_seconds=body.time_limit_seconds,
        outputs=tuple(body.outputs),
        deadline=parse_rfc3339(body.deadline, field="/deadline"),
    )


def acknowledgement(body: AckBody) -> tuple[Acknowledgement, datetime]:
    """What a Site acknowledges, and when it did."""
    accepted = body.outcome == "accepted"
    if accepted and body.code is not None:
        raise _invalid("/code", "an accepted command has no code; null is wanted")
    if not accepted and body.code is None:
        raise _invalid("/code", "a refusal says why")
    if not accepted and body.job_id is not None:
        raise _invalid("/jobId", "a refused command has no job; null is wanted")
    at = parse_observed(body.acknowledged_at, field="/acknowledgedAt")
    return Acknowledgement(UUID(body.ack_id), accepted, body.job_id, body.cluster, body.code), at


def result(body: ResultBody) -> Result:
    """What a Site observed of an ended stage."""
    if body.verdict is Verdict.COMPLETED and body.exit_code not in (None, 0):
        raise _invalid("/exitCode", "completed means exit code 0")
    if body.verdict is Verdict.LOST and body.code is None:
        raise _invalid("/code", "a lost job says why it is known to be lost")
    started, ended = _time(body.started_at, "/startedAt"), _time(body.ended_at, "/endedAt")
    if started is not None and ended is not None and ended < started:
        raise _invalid("/endedAt", "it is before startedAt")
    usage = None
    if body.usage is not None:
        _check_components(body.usage.allocated, HELD, COMPONENT, "/usage/allocated")
        usage = Usage(body.usage.elapsed_seconds, tuple(sorted(body.usage.allocated.items())))
    return Result(
        result_id=UUID(body.result_id),
        observed_at=parse_observed(body.observed_at, field="/observedAt"),
        verdict=body.verdict,
        exit_code=body.exit_code,
        signal=body.signal,
        started_at=started,
        ended_at=ended,
        usage=usage,
        output=Output(body.output.ref, body.output.commit) if body.output else None,
        code=body.code,
    )


def statement(body: MaintenanceBody) -> Statement:
    """What a Site says of new work (S15)."""
    if body.draining != (body.reason is not None):
        raise _invalid("/reason", "draining has a reason, not draining has none")
    if not body.draining and body.until is not None:
        raise _invalid("/until", "who does not drain names no end; null is wanted")
    observed = parse_observed(body.observed_at, field="/observedAt")
    until = _time(body.until, "/until")
    return Statement(UUID(body.statement_id), observed, body.draining, until, body.reason)


def _check_components(
    amounts: dict[str, int], known: frozenset[str], others: re.Pattern[str], at: str
) -> None:
    for name in amounts:
        if not (name in known or (name.startswith(GPU) and others.fullmatch(name))):
            raise _invalid(at, f"a component is unknown; known: {', '.join(sorted(known))}, gpu.<model>")


def _time(text: str | None, field: str) -> datetime | None:
    return None if text is None else parse_rfc3339(text, field=field)


def _invalid(pointer: str, reason: str) -> Problem:
    return Problem(BODY_INVALID, f"{pointer}: {reason}", errors=[FieldError(pointer, reason)])

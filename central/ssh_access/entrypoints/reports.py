"""A Site's report as domain values: what the schema alone cannot say is checked here."""

from datetime import datetime
from typing import Final
from uuid import UUID

from central.kernel.problems import BODY_INVALID, FieldError, Problem
from central.ssh_access.application.ports import SiteResult
from central.ssh_access.domain.member_key import Outcome, Result
from central.ssh_access.entrypoints.wire import ResultBody, ResultsBody

_WITHOUT_CODE: Final = (Outcome.APPLIED, Outcome.REMOVED_FROM_DIRECTORY)


def site_results(body: ResultsBody, observed_at: datetime) -> list[SiteResult]:
    """The results in order. A code that does not fit its outcome, or a change named twice, is a `Problem`."""
    results = [_site_result(index, entry, observed_at) for index, entry in enumerate(body.results)]
    seen: set[UUID] = set()
    for index, entry in enumerate(results):
        if entry.result.change_id in seen:
            raise _invalid(
                f"/results/{index}/changeId", "the change is named twice; a report names each once"
            )
        seen.add(entry.result.change_id)
    return results


def _site_result(index: int, body: ResultBody, observed_at: datetime) -> SiteResult:
    outcome = Outcome(body.outcome)
    if outcome is Outcome.REFUSED and body.code is None:
        raise _invalid(f"/results/{index}/code", "a refusal says why")
    if outcome in _WITHOUT_CODE and body.code is not None:
        raise _invalid(f"/results/{index}/code", f"{outcome.value} has no code; null is wanted")
    return SiteResult(
        sequence=body.sequence,
        key_id=UUID(body.key_id),
        result=Result(UUID(body.change_id), outcome, body.code, observed_at),
    )


def _invalid(pointer: str, reason: str) -> Problem:
    return Problem(BODY_INVALID, f"{pointer}: {reason}", errors=[FieldError(pointer, reason)])

"""Every way a request can fail, as one problem document (X4: never a 500 for what a caller sent)."""

import logging
from collections.abc import Callable

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from central.kernel import problems
from central.kernel.errors import CorruptState, InvalidTime, Unavailable
from central.kernel.observability import Metrics, bound_fields, event
from central.kernel.problems import Problem, ProblemSpec

PROBLEM_CODE = "pharos.problem"
"""Where the environment holds the code of the answer's problem, for the request's log line."""
PROBLEM_TYPE = "application/problem+json"
Respond = Callable[[Problem, Metrics], Response]
"""Makes the answer for a problem and counts it."""
_LOG = logging.getLogger("central.http")
_BY_STATUS: dict[int, ProblemSpec] = {
    400: problems.REQUEST_MALFORMED,
    401: problems.UNAUTHENTICATED,
    403: problems.FORBIDDEN,
    404: problems.NOT_FOUND,
    405: problems.METHOD_NOT_ALLOWED,
    406: problems.NOT_ACCEPTABLE,
    411: problems.LENGTH_REQUIRED,
    413: problems.BODY_TOO_LARGE,
    414: problems.URI_TOO_LONG,
    415: problems.MEDIA_TYPE_REFUSED,
    431: problems.HEADERS_TOO_LARGE,
}
_DETAILS = {
    404: "no such path",
    405: "this path does not answer this method",
    413: "the body is larger than this path's cap",
}


def as_problem(error: Exception) -> Problem:
    """Return the refusal an error stands for; an unknown error is ``internal_error`` and is logged whole."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Unavailable):
        spec = problems.PROBLEMS.get(error.code, problems.UNAVAILABLE)
        spec = spec if spec.status == 503 else problems.UNAVAILABLE
        event(_LOG, "unavailable", level=logging.WARNING, code=error.code, reason=error.detail)
        return Problem(spec, spec.meaning, headers={"Retry-After": str(error.retry_after)})
    if isinstance(error, InvalidTime):
        return Problem(problems.TIME_INVALID, str(error))
    if isinstance(error, CorruptState):
        event(_LOG, "state_corrupt", level=logging.CRITICAL, reason=str(error))
        return Problem(problems.STATE_CORRUPT, problems.STATE_CORRUPT.meaning)
    if isinstance(error, HTTPException) and error.code in _BY_STATUS:
        spec = _BY_STATUS[error.code]
        headers = {name: value for name, value in error.get_headers() if name == "Allow"}
        return Problem(spec, _DETAILS.get(error.code, spec.meaning), headers=headers)
    event(_LOG, "internal_error", level=logging.ERROR, error=error)
    return Problem(problems.INTERNAL_ERROR, problems.INTERNAL_ERROR.meaning)


def problem_response(problem: Problem, metrics: Metrics) -> Response:
    """Return the answer for ``problem`` and count it."""
    metrics.problems.labels(problem.code).inc()
    body = problem.document(request_id=bound_fields().get("requestId"))
    return Response(body, status=problem.status, content_type=PROBLEM_TYPE, headers=problem.headers)


def install_error_handlers(app: Flask, metrics: Metrics, respond: Respond = problem_response) -> None:
    """Answer every exception of ``app`` with a problem document, or as ``respond`` does."""

    def answer(error: Exception) -> Response:
        problem = as_problem(error)
        request.environ[PROBLEM_CODE] = problem.code
        return respond(problem, metrics)

    app.register_error_handler(Exception, answer)

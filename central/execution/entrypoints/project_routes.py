"""`/api/v1/projects/{projectId}/runs`: a member's Runs (E4, E7)."""

import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from flask import Blueprint, Response

from central.execution import problems
from central.execution.application.cancel_run import CancelRun
from central.execution.application.create_run import (
    CreateRun,
    NoAccount,
    SiteUnknown,
)
from central.execution.application.permitted import NotAllowed
from central.execution.application.ports import (
    AccountAwaits,
    AccountChanged,
    AccountSeveral,
    RunUnknown,
    Saved,
    SiteNotQualified,
    StoreCommand,
)
from central.execution.application.read_runs import ReadRuns
from central.execution.application.retry_run import RetryRun
from central.execution.application.settle_cleanup import CleanUpRun
from central.execution.domain.command import COMMANDS
from central.execution.domain.permission import Permission
from central.execution.domain.planning import PlanRefusal, PlanRefused
from central.execution.domain.progress import StepRefused
from central.execution.entrypoints import run_wire as wire
from central.execution.entrypoints.requests import run_request
from central.kernel.aggregates import request_digest
from central.kernel.http import answer, idempotency_key, read_json, read_query
from central.kernel.observability import bound, event
from central.kernel.problems import FORBIDDEN, QUERY_INVALID, FieldError, Problem
from central.kernel.shared_problems import ACCOUNT_ABSENT, ACCOUNT_AWAITING_SITE, SITE_UNKNOWN
from central.kernel.strict_json import encode
from central.kernel.times import Clock
from central.kernel.uuids import dashed_uuid

_LOG: Final = logging.getLogger("central.execution")
PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 500
LATER: Final = {"Retry-After": "60"}
"""A Site reports every minute."""


@dataclass(frozen=True, slots=True)
class ProjectRoutes:
    """The seven routes. `member` names the Party who asks, or raises the 401."""

    member: Callable[[], UUID]
    create_run: CreateRun
    read_runs: ReadRuns
    cancel_run: CancelRun
    retry_run: RetryRun
    clean_up_run: CleanUpRun
    clock: Clock

    def blueprint(self) -> Blueprint:
        """The routes, ready to be mounted."""
        blueprint = Blueprint("project_runs", __name__, url_prefix="/api/v1/projects")
        rule = "/<string:project>/runs"
        blueprint.add_url_rule(rule, view_func=self.create, methods=["POST"])
        blueprint.add_url_rule(rule, view_func=self.list, methods=["GET"])
        blueprint.add_url_rule(f"{rule}/<string:run>", view_func=self.read, methods=["GET"])
        one = f"{rule}/<string:run>"
        blueprint.add_url_rule(f"{one}/results", view_func=self.results, methods=["GET"])
        blueprint.add_url_rule(f"{one}/cancel", view_func=self.cancel, methods=["POST"])
        blueprint.add_url_rule(f"{one}/retry", view_func=self.retry, methods=["POST"])
        blueprint.add_url_rule(f"{one}/cleanup", view_func=self.clean_up, methods=["POST"])
        return blueprint

    def create(self, project: str) -> Response:
        """Accepts a Run: 201, or 200 where this command had been accepted before."""
        member, project_id = self.member(), _project(project)
        read_query()
        key = idempotency_key()
        body = read_json(wire.RunCreateBody, body_bytes=wire.RUN_BYTES_MAX)
        request = run_request(project_id, body)
        command = _command(member, key, b"create", project_id.bytes, encode(body))
        with bound(commandId=str(command.id)), self._refusals():
            saved = self.create_run(command, request, member, self.clock())
            _tell("run_accepted", saved)
        return answer(wire.run_body(saved.run), status=200 if saved.repeated else 201)

    def list(self, project: str) -> Response:
        """Lists the Project's Runs."""
        member, project_id = self.member(), _project(project)
        query = read_query("page_size", "page_token")
        size = query.integer("page_size", default=PAGE_DEFAULT, minimum=1, maximum=PAGE_MAX)
        after = _after(query.text("page_token"))
        with self._refusals():
            page = self.read_runs.page(project_id, after, size, member, self.clock())
        token = None if page.next is None else urlsafe_b64encode(page.next.bytes).decode().rstrip("=")
        return answer(wire.run_list_body(project_id, page, token))

    def read(self, project: str, run: str) -> Response:
        """One Run."""
        member, project_id = self.member(), _project(project)
        read_query()
        with self._refusals():
            return answer(wire.run_body(self.read_runs.one(project_id, _run(run), member, self.clock())))

    def results(self, project: str, run: str) -> Response:
        """What came of one Run."""
        member, project_id = self.member(), _project(project)
        read_query()
        with self._refusals():
            found = self.read_runs.one(
                project_id, _run(run), member, self.clock(), permission=Permission.RESULTS
            )
        return answer(wire.run_results_body(found))

    def cancel(self, project: str, run: str) -> Response:
        """Asks for a Run's end: 202 with the Run as it stands."""
        member, project_id = self.member(), _project(project)
        read_query()
        key = idempotency_key()
        body = read_json(wire.RunCancelBody, body_bytes=wire.RUN_BYTES_MAX)
        run_id = _run(run)
        command = _command(member, key, b"cancel", run_id.bytes, encode(body))
        with bound(commandId=str(command.id)), self._refusals():
            saved = self.cancel_run(
                command, project_id, run_id, member=member, reason=body.reason, now=self.clock()
            )
            _tell("run_cancel_asked", saved)
        return answer(wire.run_body(saved.run), status=202)

    def retry(self, project: str, run: str) -> Response:
        """Tries an ended Run again: 202 with the Run and its next attempt."""
        return self._again(project, run, "retry", self.retry_run)

    def clean_up(self, project: str, run: str) -> Response:
        """Has a refused cleanup asked for again: 202 with the Run."""
        return self._again(project, run, "cleanup", self.clean_up_run)

    def _again(self, project: str, run: str, act: str, use_case: RetryRun | CleanUpRun) -> Response:
        member, project_id = self.member(), _project(project)
        read_query()
        key = idempotency_key()
        body = read_json(wire.RunPlainBody, body_bytes=wire.RUN_BYTES_MAX)
        run_id = _run(run)
        command = _command(member, key, act.encode(), run_id.bytes, encode(body))
        with bound(commandId=str(command.id)), self._refusals():
            saved = use_case(command, project_id, run_id, member=member, now=self.clock())
            _tell(f"run_{act}_asked", saved)
        return answer(wire.run_body(saved.run), status=202)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except NotAllowed as refused:
            raise Problem(FORBIDDEN, f"Beto does not allow you {refused} here") from None
        except SiteUnknown as unknown:
            raise Problem(SITE_UNKNOWN, f"there is no Site {unknown}") from None
        except SiteNotQualified as paused:
            raise Problem(problems.SITE_NOT_QUALIFIED, f"execution is paused for {paused}") from None
        except PlanRefused as refused:
            raise _plan_problem(refused) from None
        except NoAccount:
            raise Problem(ACCOUNT_ABSENT, "you have no account at this Site") from None
        except AccountSeveral:
            raise Problem(
                problems.ACCOUNT_AMBIGUOUS, "several of your accounts fit; name an allocation"
            ) from None
        except AccountAwaits as awaits:
            detail = f"the Site has not confirmed your account: {awaits.reason}"
            raise Problem(
                ACCOUNT_AWAITING_SITE, detail, extra={"reason": awaits.reason}, headers=LATER
            ) from None
        except AccountChanged:
            raise Problem(
                problems.ACCOUNT_CHANGED, "the account of then is not the one of now; ask for a new Run"
            ) from None
        except RunUnknown:
            raise _unknown() from None
        except StepRefused as refused:
            raise Problem(problems.STEP_REFUSED[refused.refusal], "nothing was changed") from None


def _plan_problem(refused: PlanRefused) -> Problem:
    spec = problems.PLAN_REFUSED[refused.refusal]
    over = f": {refused.component}" if refused.component else ""
    later = LATER if refused.refusal is PlanRefusal.RESOURCE_NOT_READY else None
    return Problem(spec, f"{spec.meaning.rstrip('.')}{over}", headers=later)


def _command(member: UUID, key: UUID, *parts: bytes) -> StoreCommand:
    """A member's own name space of ids: nobody meets another member's receipt."""
    return StoreCommand(uuid5(COMMANDS, f"member {key} {member}"), request_digest(*parts))


def _tell(what: str, saved: Saved) -> None:
    run = saved.run
    event(
        _LOG,
        what,
        runId=str(run.run_id),
        site=run.request.site,
        state=run.state.value,
        repeated=saved.repeated,
    )


def _project(text: str) -> UUID:
    """What is no UUID names no Project anybody may look into."""
    known = dashed_uuid(text)
    if known is None:
        raise Problem(FORBIDDEN, "no Project of yours has this id")
    return known


def _run(text: str) -> UUID:
    known = dashed_uuid(text)
    if known is None:
        raise _unknown()
    return known


def _unknown() -> Problem:
    return Problem(problems.RUN_UNKNOWN, "this Project has no Run of this id; list its Runs")


def _after(token: str | None) -> UUID | None:
    if token is None:
        return None
    try:
        return UUID(bytes=urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except ValueError:
        reason = "this token was not answered here; begin without one"
        raise Problem(
            QUERY_INVALID, f"page_token: {reason}", errors=[FieldError("page_token", reason)]
        ) from None

"""`/v1/site/commands*`: what a Site's Runtime reads and says (E3, X13)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from flask import Blueprint, Response

from central.execution import problems
from central.execution.application.list_commands import ListCommands
from central.execution.application.member_token import FetchMemberToken
from central.execution.application.permitted import NotAllowed
from central.execution.application.ports import (
    AccountAwaits,
    AccountChanged,
    AttemptMismatch,
    CommandPage,
    ConsentExpired,
    RunUnknown,
    StoreCommand,
)
from central.execution.application.record_site import RecordSite
from central.execution.application.state_maintenance import StateMaintenance
from central.execution.domain.command import COMMANDS
from central.execution.domain.progress import Refusal, StepRefused
from central.execution.entrypoints import command_wire as wire
from central.execution.entrypoints import requests
from central.grants.domain.grant import Scope
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.aggregates import request_digest
from central.kernel.errors import ObservedInFuture, Unavailable
from central.kernel.http import answer, read_json, read_query
from central.kernel.observability import bound, event
from central.kernel.problems import OBSERVED_IN_FUTURE, Problem
from central.kernel.site_feed import never
from central.kernel.site_polls import SitePolls, positions, read_poll
from central.kernel.strict_json import encode
from central.kernel.times import Clock, check_not_ahead
from central.kernel.uuids import dashed_uuid

_LOG: Final = logging.getLogger("central.execution")
LIMIT_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class CommandRoutes:
    """The routes."""

    caller: SiteCaller
    list_commands: ListCommands
    record_site: RecordSite
    fetch_token: FetchMemberToken
    state_maintenance: StateMaintenance
    polls: SitePolls
    clock: Clock

    def blueprint(self) -> Blueprint:
        """The routes, ready to be mounted."""
        blueprint = Blueprint("site_commands", __name__, url_prefix="/v1/site/commands")
        blueprint.add_url_rule("", view_func=self.commands, methods=["GET"])
        blueprint.add_url_rule("/unacknowledged", view_func=self.unacknowledged, methods=["GET"])
        blueprint.add_url_rule("/maintenance", view_func=self.maintenance, methods=["PUT"])
        one = "/<string:command>"
        blueprint.add_url_rule(f"{one}/ack", view_func=self.ack, methods=["POST"])
        blueprint.add_url_rule(f"{one}/result", view_func=self.result, methods=["POST"])
        blueprint.add_url_rule(f"{one}/member-token", view_func=self.member_token, methods=["POST"])
        return blueprint

    def commands(self) -> Response:
        """Lists later commands; parks up to `wait` seconds while there are none."""
        site = self.caller.grant(Scope.COMMANDS).site
        poll = read_poll(LIMIT_MAX)
        with positions():
            page = self.polls.first(
                site,
                poll.wait,
                lambda wait: self.list_commands.page(
                    site, poll.after, poll.limit, unacknowledged=False, wait=wait
                ),
                lambda token: self.caller.check(token, Scope.COMMANDS),
            )
        return self._answer(site, page)

    def unacknowledged(self) -> Response:
        """Lists what is not acknowledged yet: the Runtime walks it once at start."""
        site = self.caller.grant(Scope.COMMANDS).site
        poll = read_poll(LIMIT_MAX, waits=False)
        with positions():
            page = self.list_commands.page(site, poll.after, poll.limit, unacknowledged=True, wait=never)
        return self._answer(site, page)

    def ack(self, command: str) -> Response:
        """Records that a command's job id, or its definite refusal, is journalled."""
        site = self.caller.grant(Scope.COMMANDS).site
        read_query()
        body = read_json(wire.AckBody, body_bytes=wire.COMMAND_BYTES_MAX)
        said, at = requests.acknowledgement(body)
        store = _command(site, f"ack {body.ack_id}", command, encode(body))
        target = (_id(command), UUID(body.attempt_id))
        with _refusals(), bound(commandId=command):
            now = self.clock()
            check_not_ahead(at, now)
            changed = self.record_site.acknowledge(store, site, target, said, now)
            event(
                _LOG, "command_acknowledged", site=site, outcome=body.outcome, code=body.code, changed=changed
            )
        return answer(wire.receipt_body(target[0], changed=changed))

    def result(self, command: str) -> Response:
        """Records the definite end of a command."""
        site = self.caller.grant(Scope.COMMANDS).site
        read_query()
        body = read_json(wire.ResultBody, body_bytes=wire.COMMAND_BYTES_MAX)
        observed = requests.result(body)
        store = _command(site, f"result {body.result_id}", command, encode(body))
        target = (_id(command), UUID(body.attempt_id))
        with _refusals(), bound(commandId=command):
            changed = self.record_site.result(store, site, target, observed, self.clock())
            event(_LOG, "command_result", site=site, verdict=body.verdict.value, changed=changed)
        return answer(wire.receipt_body(target[0], changed=changed))

    def member_token(self, command: str) -> Response:
        """Gives the member's token for one unacknowledged submission. Nothing of it is kept (E5)."""
        site = self.caller.grant(Scope.COMMANDS).site
        read_query()
        body = read_json(wire.TokenRequestBody, body_bytes=wire.COMMAND_BYTES_MAX)
        target = (_id(command), UUID(body.attempt_id))
        with _refusals(), bound(commandId=command):
            given = self.fetch_token(site, target, self.clock())
            event(_LOG, "member_token_given", site=site, expiresAt=given.token.expires_at.isoformat())
        return answer(wire.token_body(given))

    def maintenance(self) -> Response:
        """Records whether the Site takes new work (S15)."""
        site = self.caller.grant(Scope.COMMANDS).site
        read_query()
        said = requests.statement(read_json(wire.MaintenanceBody, body_bytes=wire.COMMAND_BYTES_MAX))
        with _refusals():
            changed = self.state_maintenance(site, said, self.clock())
        event(_LOG, "site_maintenance", site=site, draining=said.draining, changed=changed)
        return Response(status=204)

    def _answer(self, site: str, page: CommandPage) -> Response:
        return answer(wire.commands_body(site, page, self.list_commands.bound(page, self.clock())))


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except RunUnknown:
        raise _unknown() from None
    except AttemptMismatch:
        raise Problem(
            problems.ATTEMPT_MISMATCH, "the body names another Attempt than the command's"
        ) from None
    except StepRefused as refused:
        raise Problem(problems.STEP_REFUSED[refused.refusal], "nothing was changed") from None
    except NotAllowed as refused:
        raise Problem(problems.AUTHORITY_REFUSED, f"the member may not {refused} now") from None
    except ConsentExpired:
        raise Problem(problems.CONSENT_EXPIRED, "the member's consent has ended; the Run waits") from None
    except AccountChanged:
        raise Problem(
            problems.AUTHORITY_REFUSED, "the Site confirms another account than the saved one"
        ) from None
    except AccountAwaits as awaits:
        raise Unavailable("unavailable", f"the account is not confirmed now: {awaits.reason}") from None
    except ObservedInFuture as error:
        raise Problem(OBSERVED_IN_FUTURE, f"{error}; at most 5 s are accepted") from None


def _command(site: str, what: str, command: str, body: bytes) -> StoreCommand:
    """A Site's own name space of ids, one a command: an ackId used for two is two words."""
    return StoreCommand(uuid5(COMMANDS, f"site {site} {command.lower()} {what}"), request_digest(body))


def _id(text: str) -> UUID:
    known = dashed_uuid(text)
    if known is None:
        raise _unknown()
    return known


def _unknown() -> Problem:
    spec = problems.STEP_REFUSED[Refusal.COMMAND_UNKNOWN]
    return Problem(spec, "the path names no command of this Site; list the commands")

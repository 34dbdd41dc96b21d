"""`/v1/site/ssh-access/*`: what a Site's agent asks and says (E3)."""

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from flask import Blueprint, Response

from central.grants.domain.grant import Scope
from central.grants.entrypoints.grant_route import say_grant
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.aggregates import request_digest
from central.kernel.errors import ObservedInFuture
from central.kernel.http import answer, read_json, read_query
from central.kernel.observability import bound, event
from central.kernel.problems import OBSERVED_IN_FUTURE, Problem
from central.kernel.site_names import Site
from central.kernel.site_polls import SitePolls, positions, read_poll
from central.kernel.strict_json import encode
from central.kernel.times import Clock, parse_observed
from central.ssh_access.application.list_changes import ListChanges
from central.ssh_access.application.record_results import RecordResults
from central.ssh_access.domain.command import Command, report_command
from central.ssh_access.entrypoints import wire
from central.ssh_access.entrypoints.reports import site_results

_LOG: Final = logging.getLogger("central.ssh_access")
LIMIT_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class SiteRoutes:
    """The three routes."""

    caller: SiteCaller
    list_changes: ListChanges
    record_results: RecordResults
    polls: SitePolls
    clock: Clock

    def blueprint(self) -> Blueprint:
        """The routes, ready to be mounted."""
        blueprint = Blueprint("site_ssh_access", __name__, url_prefix="/v1/site/ssh-access")
        blueprint.add_url_rule("/grant", view_func=say_grant(self.caller, Scope.SSH_ACCESS), methods=["GET"])
        blueprint.add_url_rule("/changes", view_func=self.changes, methods=["GET"])
        blueprint.add_url_rule("/results", view_func=self.results, methods=["POST"])
        return blueprint

    def changes(self) -> Response:
        """Lists changes; parks up to `wait` seconds while there are none."""
        site = Site(self.caller.grant(Scope.SSH_ACCESS).site)
        poll = read_poll(LIMIT_MAX)
        with positions():
            page = self.polls.first(
                site,
                poll.wait,
                lambda wait: self.list_changes(site, poll.after, poll.limit, wait),
                lambda token: self.caller.check(token, Scope.SSH_ACCESS),
            )
        return answer(wire.changes_body(site, page))

    def results(self) -> Response:
        """Records what became of changes."""
        site = Site(self.caller.grant(Scope.SSH_ACCESS).site)
        read_query()
        body = read_json(wire.ResultsBody, body_bytes=wire.REPORT_BYTES_MAX)
        observed_at = parse_observed(body.observed_at, field="/observedAt")
        results = site_results(body, observed_at)
        command = Command(report_command(site, UUID(body.report_id)), request_digest(encode(body)))
        with bound(commandId=str(command.id), reportId=body.report_id):
            try:
                receipts = self.record_results(command, site, observed_at, results, self.clock())
            except ObservedInFuture as error:
                raise Problem(OBSERVED_IN_FUTURE, f"{error}; at most 5 s are accepted") from None
            counts = dict(Counter(receipt.value for receipt in receipts))
            event(_LOG, "results_recorded", site=site, receipts=counts)
        return answer(wire.receipts_body([entry.result.change_id for entry in results], receipts))

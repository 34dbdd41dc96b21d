"""`/v1/site/ssh-access/*`: what a Site's agent asks and says (E3)."""

import logging
from collections import Counter
from dataclasses import dataclass
from time import monotonic
from typing import Final
from uuid import UUID

from flask import Blueprint, Response

from central.grants.domain.grant import Scope
from central.grants.entrypoints.grant_route import say_grant
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.aggregates import request_digest
from central.kernel.errors import ObservedInFuture
from central.kernel.http import answer, bearer_token, read_json, read_query
from central.kernel.notifications import Waiters
from central.kernel.observability import bound, event
from central.kernel.problems import OBSERVED_IN_FUTURE, Problem
from central.kernel.shared_problems import FEED_POSITION_UNKNOWN
from central.kernel.site_names import Site
from central.kernel.strict_json import MAX_INTEGER, encode
from central.kernel.times import Clock, parse_observed
from central.ssh_access.application.list_changes import ListChanges
from central.ssh_access.application.record_results import RecordResults
from central.ssh_access.domain.command import Command, report_command
from central.ssh_access.domain.feed import ChangePage, PositionUnknown
from central.ssh_access.entrypoints import wire
from central.ssh_access.entrypoints.reports import site_results

_LOG: Final = logging.getLogger("central.ssh_access")
WAIT_MAX: Final = 55
LIMIT_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class SiteRoutes:
    """The three routes. `channel` is where news for a Site is said, `pollers` how many polls it may park."""

    caller: SiteCaller
    list_changes: ListChanges
    record_results: RecordResults
    waiters: Waiters
    channel: str
    pollers: int
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
        query = read_query("after", "wait", "limit")
        after = query.integer("after", minimum=0, maximum=MAX_INTEGER)
        wait = query.integer("wait", default=0, minimum=0, maximum=WAIT_MAX)
        limit = query.integer("limit", default=LIMIT_MAX, minimum=1, maximum=LIMIT_MAX)
        try:
            if wait:
                page = self._parked(site, after, limit, monotonic() + wait)
            else:
                page = self.list_changes(site, after, limit, _never)
        except PositionUnknown as error:
            raise Problem(
                FEED_POSITION_UNKNOWN,
                f"{error}; ask for after=0",
                extra={"feed": str(error.feed), "head": error.head},
            ) from None
        return answer(wire.changes_body(site, page))

    def _parked(self, site: Site, after: int, limit: int, deadline: float) -> ChangePage:
        """Waits without a connection (X13); a grant revoked meanwhile is refused before the next read.

        A poll beyond the Site's `pollers` answers what stands: the threads it would take are the others'.
        """
        token = bearer_token()
        with self.waiters.watch(self.channel, site, at_most=self.pollers) as watch:

            def park() -> bool:
                woken = watch.wait(deadline)
                self.caller.check(token, Scope.SSH_ACCESS)
                return woken

            return self.list_changes(site, after, limit, park)

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


def _never() -> bool:
    return False

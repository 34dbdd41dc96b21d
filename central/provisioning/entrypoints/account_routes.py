"""`POST /resource-provisioning/<site>/accounts` and `…/account-sets`: the complete set of one allocation's
accounts, and those of many at once (P12, P21).
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from flask import Blueprint, Response

from central.kernel.http import answer, read_json
from central.kernel.observability import bound, event
from central.kernel.problems import OBSERVED_IN_FUTURE, Problem, ProblemSpec
from central.kernel.shared_problems import ALLOCATION_UNKNOWN
from central.kernel.site_names import Site
from central.kernel.times import Clock
from central.provisioning.application.report_accounts import AccountsRefused, ReportAccounts
from central.provisioning.domain.account_report import AccountsRefusal
from central.provisioning.entrypoints import account_wire
from central.provisioning.entrypoints.account_reports import AccountReportReader
from central.provisioning.entrypoints.intake_keys import IntakeKeys
from central.provisioning.entrypoints.intake_routes import LIMITS, open_site
from central.provisioning.problems import CONFLICTING_REPORT, STALE_REPORT

_LOG = logging.getLogger("central.provisioning")

_REFUSED: Final[dict[AccountsRefusal, tuple[ProblemSpec, str]]] = {
    AccountsRefusal.ALLOCATION_UNKNOWN: (
        ALLOCATION_UNKNOWN,
        "this Site has no such allocation; report its resource first",
    ),
    AccountsRefusal.STALE_REPORT: (STALE_REPORT, "a later observation is saved; drop this one"),
    AccountsRefusal.CONFLICTING_REPORT: (
        CONFLICTING_REPORT,
        "another set of exactly this time is saved; observe again",
    ),
    AccountsRefusal.OBSERVED_IN_FUTURE: (
        OBSERVED_IN_FUTURE,
        "observed more than 5 s ahead of our clock; set the host's clock",
    ),
}


@dataclass(frozen=True, slots=True)
class AccountRoutes:
    """The route of every Site that has a key; nothing is mounted for another."""

    keys: IntakeKeys
    reader: AccountReportReader
    report_accounts: ReportAccounts
    clock: Clock

    def blueprints(self) -> list[Blueprint]:
        """One blueprint a Site, ready to be mounted."""
        return [self._blueprint(site) for site in self.keys.sites]

    def _blueprint(self, site: Site) -> Blueprint:
        blueprint = Blueprint(
            f"intake_accounts_{site}", __name__, url_prefix=f"/resource-provisioning/{site}"
        )
        for path, view in (("accounts", self.accounts), ("account-sets", self.account_sets)):
            blueprint.add_url_rule(f"/{path}", path, partial(view, site), methods=["POST"])
        return blueprint

    def accounts(self, site: Site) -> Response:
        """Takes a complete set."""
        open_site(self.keys, site)
        body = read_json(
            account_wire.AccountReportBody, limits=LIMITS, body_bytes=account_wire.ACCOUNTS_BYTES_MAX
        )
        now = self.clock()
        report = self.reader.read(body, site)
        with bound(commandId=str(report.report_id)):
            with _refusing(site):
                outcome = self.report_accounts(report, now)
            event(_LOG, "accounts", site=site, accounts=len(body.accounts), outcome=outcome.value)
        return answer(
            account_wire.account_receipt(
                report.report_id, report.sets[0].allocation_id, outcome, len(body.accounts), now
            )
        )

    def account_sets(self, site: Site) -> Response:
        """Takes the complete sets of several allocations; one that is refused takes no other with it."""
        open_site(self.keys, site)
        body = read_json(
            account_wire.AccountSetsReportBody, limits=LIMITS, body_bytes=account_wire.SETS_BYTES_MAX
        )
        now = self.clock()
        report = self.reader.read_sets(body, site)
        with bound(commandId=str(report.report_id)):
            with _refusing(site):
                told = self.report_accounts.each(report, now)
            counts = dict(Counter([outcome.value for outcome in told]))
            event(_LOG, "account_sets", site=site, sets=len(told), outcomes=counts)
        return answer(account_wire.set_outcomes(report, told, now))


@contextmanager
def _refusing(site: Site) -> Iterator[None]:
    """A report that is refused as a whole is told so, and logged."""
    try:
        yield
    except AccountsRefused as error:
        event(_LOG, "accounts_refused", level=logging.WARNING, site=site, code=error.reason.value)
        raise Problem(*_REFUSED[error.reason]) from None

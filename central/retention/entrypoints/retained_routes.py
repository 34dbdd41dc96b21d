"""`GET /resource-provisioning/<site>/retained-accounts`: whom a Site keeps accounts for (P28).

Mounted by the intake's composition root, which knows the Sites and their keys.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from flask import Blueprint, Response

from central.kernel.http import answer, read_query
from central.kernel.problems import Problem
from central.kernel.site_names import Site
from central.kernel.times import Clock, format_rfc3339
from central.retention.application.retained_accounts import RecoveryPending, RetainedAccounts
from central.retention.entrypoints.wire import retained_body
from central.retention.problems import RECOVERY_PENDING

_PREFIX: Final = "/resource-provisioning"


@dataclass(frozen=True, slots=True)
class RetainedRoutes:
    """The route of every Site. `admit` checks the caller's credential and schema range for a Site."""

    retained: RetainedAccounts
    admit: Callable[[Site], None]
    clock: Clock

    def blueprint(self, sites: Iterable[Site]) -> Blueprint:
        """One blueprint for all Sites, ready to be mounted."""
        blueprint = Blueprint("retained_accounts", __name__, url_prefix=_PREFIX)
        for site in sites:
            blueprint.add_url_rule(
                f"/{site}/retained-accounts", site, partial(self.accounts, site), methods=["GET"]
            )
        return blueprint

    def accounts(self, site: Site) -> Response:
        """Answers the complete list, or 503 and never a short one."""
        self.admit(site)
        read_query()
        now = self.clock()
        try:
            accounts = self.retained.list(site, now)
        except RecoveryPending as error:
            headers = {"Retry-After": str(error.retry_after)}
            raise Problem(RECOVERY_PENDING, error.detail, headers=headers) from None
        return answer(retained_body(site, format_rfc3339(now), accounts))

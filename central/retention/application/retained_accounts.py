"""The accounts a Site keeps for accepted work, complete or not at all (P28)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.retention.application.ports import ProjectFences, WorkStore
from central.retention.domain.ids import Owner
from central.retention.domain.recovery import RecoveryLimits
from central.retention.domain.retained import RetainedAccount, Unknown, retained


class RecoveryPending(Unavailable):
    """No complete recovery pass stands; the detail says why."""

    def __init__(self, reason: str) -> None:
        super().__init__("recovery_pending", reason, retry_after=30)


@dataclass(frozen=True, slots=True)
class RetainedAccounts:
    """The use case. `owners` are the configured ones, the same as the worker's."""

    store: WorkStore
    fences: ProjectFences
    owners: tuple[Owner, ...]
    limits: RecoveryLimits

    def list(self, site: Site, now: datetime) -> Sequence[RetainedAccount]:
        """Distinct and in order. Raises `RecoveryPending`, or `Unavailable` where one account cannot be
        judged.
        """
        snapshot = self.store.required(site)
        missing = snapshot.recovery.missing(self.owners, now, self.limits)
        if missing is not None:
            raise RecoveryPending(missing)
        known = self.fences.of({one.holder for one in snapshot.required}, now)
        accounts = retained(snapshot.required, known)
        if isinstance(accounts, Unknown):
            raise Unavailable("unavailable", accounts.reason, retry_after=30)
        return accounts

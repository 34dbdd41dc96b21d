"""One exact account, as the Site last confirmed it (P24, P25)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from central.provisioning.application.account_ports import AccountReads
from central.provisioning.application.ports import SavedAllocations
from central.provisioning.domain.confirmation import (
    AccountKey,
    AccountUnconfirmed,
    Confirmation,
    Unconfirmed,
    belongs,
    confirm,
)


@dataclass(frozen=True, slots=True)
class ConfirmedAccounts:
    """The use case. `max_age` is RESOURCE_PROVISIONING_ACCOUNT_MAX_AGE_SECONDS, the same in every process."""

    allocations: SavedAllocations
    accounts: AccountReads
    max_age: timedelta

    def get(self, key: AccountKey, now: datetime) -> Confirmation:
        """The account, or why it is not confirmed. Raises `CorruptState`, `Unavailable`."""
        saved = self.allocations.by_id(key.allocation_id)
        if not belongs(saved.allocation if saved else None, key):
            return AccountUnconfirmed(Unconfirmed.NOT_CONFIRMED)
        found = self.accounts.of_party(key.allocation_id, key.site, key.party_id)
        return confirm(found, key, now, self.max_age)

"""Complete sets of accounts into PostgreSQL: three statements, whatever the sets and their accounts (P21)."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from central.kernel.database import Transaction
from central.kernel.driver_errors import TransactionConflict
from central.kernel.queries import Queries
from central.provisioning.adapters.account_rows import STATES
from central.provisioning.adapters.arrays import plain_array, text_array
from central.provisioning.application.account_ports import AccountSet


@dataclass(frozen=True, slots=True)
class Replacement:
    """A set that takes the place of the one at `version` - 1."""

    found: AccountSet
    version: int


def write_sets(
    tx: Transaction, queries: Queries, params: dict[str, object], replacements: Sequence[Replacement]
) -> None:
    """Writes the sets; `params` names Site and time. `TransactionConflict` if one was replaced meanwhile."""
    made = [(each.found.allocation_id, each.found.accounts()) for each in replacements]
    rows = [(owner, account) for owner, accounts in made for account in accounts]
    columns: dict[str, object] = {
        **params,
        "allocations": plain_array(owner for owner, _ in made),
        "versions": plain_array(each.version for each in replacements),
        "contents": plain_array(UUID(each.found.content) for each in replacements),
        "counts": plain_array(len(accounts) for _, accounts in made),
        "owners": plain_array(owner for owner, _ in rows),
        "parties": plain_array(account.party_id for _, account in rows),
        "bindings": plain_array(account.binding_id for _, account in rows),
        "generations": plain_array(account.generation for _, account in rows),
        "uids": text_array(account.native_uid for _, account in rows),
        "names": text_array(account.name for _, account in rows),
        "numbers": plain_array(account.uid_number for _, account in rows),
        "states": plain_array(STATES[account.state] for _, account in rows),
    }
    if tx.execute(queries["put_sets"], columns) != len(made):
        raise TransactionConflict("a set was replaced while it was judged")
    tx.execute(queries["mark_absent"], columns)
    if rows:
        tx.execute(queries["put_accounts"], columns)

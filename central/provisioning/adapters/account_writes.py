"""Complete sets of accounts into PostgreSQL: three statements, whatever the sets and their accounts (P21)."""

from collections.abc import Sequence
from dataclasses import dataclass

from central.kernel.binary_arrays import integer_array, uuid_array, uuid_text_array
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
        "allocations": uuid_array(owner for owner, _ in made),
        "versions": integer_array([each.version for each in replacements]),
        "contents": uuid_text_array(each.found.content for each in replacements),
        "counts": integer_array([len(accounts) for _, accounts in made]),
        "owners": uuid_array(owner for owner, _ in rows),
        "parties": uuid_array(account.party_id for _, account in rows),
        "bindings": uuid_array(account.binding_id for _, account in rows),
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

"""How many statements a piece of work runs: what is set-based does not run more for more rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from central.kernel.database import Transaction
from central.kernel.queries import Query


@contextmanager
def counted() -> Iterator[list[str]]:
    """The names of the queries a block reads by."""
    names: list[str] = []
    kept = Transaction.all

    def all_(self: Transaction, row: Any, query: Query, params: Any = None) -> Any:
        names.append(query.name)
        return kept(self, row, query, params)

    Transaction.all = all_  # type: ignore[method-assign]
    try:
        yield names
    finally:
        Transaction.all = kept  # type: ignore[method-assign]

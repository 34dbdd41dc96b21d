"""SQL lives in ``.sql`` files beside the code that runs it (style 1.3).

A file holds named blocks; the comment lines after ``-- name:`` describe the query and belong to it::

    -- name: grant_by_id
    -- The grant with this id, revoked ones included.
    SELECT ... FROM {schema}.grants WHERE id = %(id)s;

``{schema}`` is the only thing Python fills in, as a quoted identifier.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: ([a-z][a-z0-9_]*)[ \t]*$", re.MULTILINE)
_SCHEMA = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Query:
    """One named statement, as the bytes the driver sends."""

    name: str
    statement: bytes


class Queries(Mapping[str, Query]):
    """The statements of one file by name."""

    def __init__(self, source: str, queries: Mapping[str, Query]) -> None:
        self._source = source
        self._queries = dict(queries)

    def __getitem__(self, name: str) -> Query:
        try:
            return self._queries[name]
        except KeyError:
            raise KeyError(f"{self._source} has no query named {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


@cache
def load_queries(package: str, file: str = "queries.sql", *, schema: str | None = None) -> Queries:
    """Read ``<package>/sql/<file>``; call it in a constructor, never at import.

    Raises ``ValueError`` for a file with a repeated name, text before the first name, or ``{schema}``
    unfilled.
    """
    text = resources.files(package).joinpath("sql", file).read_text(encoding="utf-8")
    return parse_queries(text, source=f"{package}/sql/{file}", schema=schema)


def parse_queries(text: str, *, source: str, schema: str | None = None) -> Queries:
    """Split ``text`` into its named statements."""
    parts = _NAME.split(text)
    if any(line.strip() and not line.startswith("--") for line in parts[0].splitlines()):
        raise ValueError(f"{source}: SQL before the first `-- name:` line")
    if schema is not None and _SCHEMA.fullmatch(schema) is None:
        raise ValueError(f"{source}: the schema name is not a plain identifier")
    queries: dict[str, Query] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        if name in queries:
            raise ValueError(f"{source}: two queries are named {name}")
        if "{schema}" in body and schema is None:
            raise ValueError(f"{source}: {name} needs a schema")
        sql = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("--")).strip()
        if not sql:
            raise ValueError(f"{source}: {name} is empty")
        queries[name] = Query(name, sql.replace("{schema}", f'"{schema}"').encode())
    return Queries(source, queries)

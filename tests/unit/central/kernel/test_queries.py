"""SQL in named blocks of one file (style 1.3)."""

import pytest

from central.kernel.queries import load_queries, parse_queries

FILE = """-- What the file is about.

-- name: first
-- Describes it.
SELECT 1
FROM {schema}.a;

-- name: second
SELECT 2;
"""


def test_blocks_are_found_by_name_without_their_comments() -> None:
    queries = parse_queries(FILE, source="f", schema="ctx")
    assert list(queries) == ["first", "second"]
    assert queries["first"].statement == b'SELECT 1\nFROM "ctx".a;'
    with pytest.raises(KeyError, match="no query named 'third'"):
        queries["third"]


@pytest.mark.parametrize(
    ("text", "schema", "fault"),
    [
        (FILE, None, "needs a schema"),
        (FILE, 'a"; DROP', "plain identifier"),
        ("SELECT 1;\n" + FILE, "ctx", "before the first"),
        (FILE + "-- name: first\nSELECT 3;", "ctx", "two queries are named first"),
        ("-- name: empty\n-- only words\n", None, "is empty"),
    ],
)
def test_a_file_with_a_fault_is_refused(text: str, schema: str | None, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse_queries(text, source="f", schema=schema)


def test_the_kernels_own_files_load() -> None:
    assert "is_writable" in load_queries("central.kernel", "database.sql")
    assert (
        b'"x".receipts' in load_queries("central.kernel", "aggregates.sql", schema="x")["receipt"].statement
    )
    assert "record" in load_queries("central.kernel", "migrations.sql")

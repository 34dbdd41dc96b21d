"""What the catalogue of a whole central database says about rights (P7, P37, O2)."""

from collections.abc import Iterator

import psycopg
import pytest

OURS = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'public') AND n.nspname !~ '^pg_'"


@pytest.fixture
def catalogue(database_url: str) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    with psycopg.connect(database_url) as connection:
        yield connection


def rows(connection: "psycopg.Connection[tuple[object, ...]]", query: str) -> list[tuple[object, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_p37_everything_belongs_to_the_owner(catalogue: "psycopg.Connection[tuple[object, ...]]") -> None:
    owners = rows(
        catalogue,
        f"SELECT DISTINCT r.rolname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" JOIN pg_roles r ON r.oid = c.relowner WHERE {OURS}"
        f" UNION SELECT r.rolname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
        f" JOIN pg_roles r ON r.oid = p.proowner WHERE {OURS}"
        f" UNION SELECT r.rolname FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE {OURS}",
    )
    assert owners == [("pharos_central_owner",)]


def test_p37_public_may_nothing(catalogue: "psycopg.Connection[tuple[object, ...]]") -> None:
    found = rows(
        catalogue,
        f"SELECT n.nspname, c.relname, a.privilege_type FROM pg_class c"
        f" JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a"
        f" WHERE a.grantee = 0 AND {OURS}"
        f" UNION ALL SELECT n.nspname, p.proname, a.privilege_type FROM pg_proc p"
        f" JOIN pg_namespace n ON n.oid = p.pronamespace,"
        f" aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0 AND {OURS}"
        f" UNION ALL SELECT n.nspname, '', a.privilege_type FROM pg_namespace n, aclexplode(n.nspacl) a"
        f" WHERE a.grantee = 0 AND {OURS}",
    )
    assert found == []


def test_p37_history_can_only_be_added_to(catalogue: "psycopg.Connection[tuple[object, ...]]") -> None:
    granted = rows(
        catalogue,
        "SELECT n.nspname, c.relname, r.rolname, a.privilege_type FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a"
        " JOIN pg_roles r ON r.oid = a.grantee"
        " WHERE c.relname IN ('aggregate_versions', 'receipts') AND a.grantee <> c.relowner",
    )
    assert granted, "some process decides commands"
    assert {privilege for *_, privilege in granted} == {"SELECT", "INSERT"}
    columns = rows(
        catalogue,
        "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE c.relname IN ('aggregate_versions', 'receipts') AND a.attacl IS NOT NULL",
    )
    assert columns == []


def test_p37_nobody_truncates_or_makes_triggers(catalogue: "psycopg.Connection[tuple[object, ...]]") -> None:
    found = rows(
        catalogue,
        f"SELECT n.nspname, c.relname, a.privilege_type FROM pg_class c"
        f" JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a"
        f" WHERE a.grantee <> c.relowner AND {OURS} AND (a.is_grantable"
        f" OR a.privilege_type IN ('TRUNCATE', 'TRIGGER', 'REFERENCES', 'MAINTAIN'))",
    )
    assert found == []


def test_p37_functions_with_their_owners_rights_pin_their_path(
    catalogue: "psycopg.Connection[tuple[object, ...]]",
) -> None:
    found = rows(
        catalogue,
        f"SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
        f" WHERE {OURS} AND NOT coalesce(p.proconfig::text, '') LIKE '%search_path=pg_catalog, pg_temp%'",
    )
    assert found == []


def test_f12_every_stored_time_carries_a_zone(catalogue: "psycopg.Connection[tuple[object, ...]]") -> None:
    found = rows(
        catalogue,
        f"SELECT n.nspname, c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        f" JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE {OURS} AND c.relkind = 'r' AND a.atttypid = 'timestamp'::regtype",
    )
    assert found == []

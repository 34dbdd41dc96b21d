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


def grants(
    connection: "psycopg.Connection[tuple[object, ...]]", roles: tuple[str, ...]
) -> set[tuple[str, str, str, str]]:
    """Role, schema, table and privilege of these roles, columns included."""
    named = ", ".join(f"'{role}'" for role in roles)
    found = rows(
        connection,
        f"SELECT r.rolname, n.nspname, c.relname, a.privilege_type FROM pg_class c"
        f" JOIN pg_namespace n ON n.oid = c.relnamespace,"
        f" LATERAL (SELECT * FROM aclexplode(c.relacl) UNION ALL SELECT x.* FROM pg_attribute t,"
        f" aclexplode(t.attacl) x WHERE t.attrelid = c.oid) a"
        f" JOIN pg_roles r ON r.oid = a.grantee WHERE {OURS} AND r.rolname IN ({named})",
    )
    return {(str(role), str(schema), str(table), str(act)) for role, schema, table, act in found}


def test_p37_only_the_owner_processes_write_provisionings_tables(
    catalogue: "psycopg.Connection[tuple[object, ...]]",
) -> None:
    everybody = tuple(str(name) for (name,) in rows(catalogue, "SELECT rolname FROM pg_roles"))
    writing = {
        role
        for role, schema, _, privilege in grants(catalogue, everybody)
        if schema in {"provisioning", "projects", "retention"} and privilege != "SELECT"
    } - {"pharos_central_owner"}
    assert writing == {"pharos_resource_provisioning"}


def test_p37_the_reader_reads_what_account_evidence_needs_and_nothing_else(
    catalogue: "psycopg.Connection[tuple[object, ...]]",
) -> None:
    reader = "pharos_resource_provisioning_reader"
    tables = {
        "pharos": {"migrations"},
        "projects": {"scopes", "items", "party_bindings", "memberships"},
        "provisioning": {
            "aggregate_heads",
            "aggregate_versions",
            "allocation_sightings",
            "account_sets",
            "accounts",
        },
    }
    assert grants(catalogue, (reader,)) == {
        (reader, schema, table, "SELECT") for schema, names in tables.items() for table in names
    }


def test_o1_the_overview_reads_what_it_shows_and_writes_nothing(
    catalogue: "psycopg.Connection[tuple[object, ...]]",
) -> None:
    found = grants(catalogue, ("pharos_overview",))
    assert {privilege for *_, privilege in found} == {"SELECT"}
    assert {schema for _, schema, _, _ in found} == {
        "pharos", "ssh_access", "site_grants", "projects", "provisioning", "retention", "execution",
    }  # fmt: skip
    assert not {table for _, _, table, _ in found} & {"receipts", "reports", "inbox", "leases"}


def test_x12_identities_at_the_broker_have_no_table_of_their_own(
    catalogue: "psycopg.Connection[tuple[object, ...]]",
) -> None:
    """Until the broker's administration enrols them, they may do nothing at all (P37)."""
    roles = ("pharos_resource_provisioning_views", "pharos_resource_provisioning_queries")
    assert grants(catalogue, roles) == set()


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

"""What each process may do with Runs (P37, X5): walked in the catalogue and tried."""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres.conftest import PgServer

MAY_WRITE = {
    "pharos_project_api": {
        "aggregate_heads", "aggregate_versions", "receipts", "runs", "feeds", "commands", "past_items",
        "audit",
    },
    "pharos_site_api": {
        "aggregate_heads", "aggregate_versions", "receipts", "runs", "feeds", "commands", "consents",
        "credentials", "maintenance", "audit",
    },
    "pharos_execution": {
        "aggregate_heads", "aggregate_versions", "receipts", "runs", "feeds", "commands", "credentials",
        "inventories", "inventory_items", "git_silences",
    },
    "pharos_member_api": {"consents"},
    "pharos_operator": {"aggregate_heads", "aggregate_versions", "receipts", "runs", "feeds", "commands"},
}  # fmt: skip


def test_p37_only_these_processes_write_these_tables(pg_server: PgServer, database_name: str) -> None:
    with psycopg.connect(pg_server.admin_url(database_name)) as connection:
        rows = connection.execute(
            "SELECT r.rolname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,"
            " LATERAL (SELECT * FROM aclexplode(c.relacl) UNION ALL SELECT x.* FROM pg_attribute t,"
            " aclexplode(t.attacl) x WHERE t.attrelid = c.oid) a JOIN pg_roles r ON r.oid = a.grantee"
            " WHERE n.nspname = 'execution' AND a.privilege_type <> 'SELECT'"
            " AND r.rolname <> 'pharos_central_owner'"
        ).fetchall()
    found: dict[str, set[str]] = {}
    for role, table in rows:
        found.setdefault(role, set()).add(table)
    assert found == MAY_WRITE


@pytest.mark.parametrize(
    "role", ["pharos_execution", "pharos_operator", "pharos_project_api", "pharos_overview"]
)
def test_x5_who_needs_no_token_reads_no_sealed_consent(
    role: str, pg_server: PgServer, database_name: str
) -> None:
    with (
        psycopg.connect(pg_server.role_url(role, database_name)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("SELECT sealed FROM execution.consents")


def test_p27_publishing_is_the_workers_alone(pg_server: PgServer, database_name: str) -> None:
    for role in ("pharos_project_api", "pharos_site_api"):
        with (
            psycopg.connect(pg_server.role_url(role, database_name)) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("UPDATE execution.runs SET published = revision")

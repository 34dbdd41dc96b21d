"""A database with the kernel's schema alone and the aggregate store ``trial``."""

from collections.abc import Callable, Iterator

import pytest

from central.kernel.database import Database, DatabaseOptions
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.serving_rig import start

__all__ = ["start"]


@pytest.fixture
def kernel_name(kernel_template: str, clone: Callable[[str], str]) -> str:
    return clone(kernel_template)


@pytest.fixture
def kernel_url(pg_server: PgServer, kernel_name: str) -> str:
    return pg_server.admin_url(kernel_name)


@pytest.fixture
def kernel_database(pg_server: PgServer, kernel_name: str) -> Iterator[Database]:
    """As the process role that may decide in ``trial``."""
    with Database(DatabaseOptions(pg_server.role_url("pharos_member_api", kernel_name))) as opened:
        yield opened

"""One world for all tests of this folder that need it."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres.conftest import PgServer
from tests.postgres.execution.site import ScriptedSite
from tests.postgres.execution.world import World, running


@pytest.fixture(scope="session")
def world(pg_server: PgServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Processes and stand-ins over a database of this run alone."""
    name = f"t_{secrets.token_hex(6)}"
    pg_server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    folder: Path = tmp_path_factory.mktemp("execution")
    try:
        with running(pg_server, name, folder) as made:
            yield made
    finally:
        pg_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def site(world: World) -> ScriptedSite:
    return ScriptedSite(world)

"""The tables the bare statements run on."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

import psycopg

from tests.bench.intake import ROWS

SIGHTINGS: Final = UUID(int=3)
HEADS: Final = UUID(int=4)


def bare_tables(admin: str) -> None:
    """Makes them anew."""
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS bench CASCADE")
        connection.execute("CREATE SCHEMA bench")
        connection.execute(
            "CREATE TABLE bench.sightings "
            "(id uuid PRIMARY KEY, version int, digest uuid, seen_at timestamptz) WITH (fillfactor = 50)"
        )
        connection.execute(
            "CREATE TABLE bench.heads (id uuid PRIMARY KEY, owner int, version int, seen_at timestamptz)"
        )
        connection.execute(
            "CREATE TABLE bench.versions (id uuid, version int, at timestamptz, snapshot jsonb, "
            "PRIMARY KEY (id, version))"
        )
        connection.execute("CREATE TABLE bench.receipts (id uuid PRIMARY KEY, head uuid, at timestamptz)")
        ids = sorted((str(uuid5(SIGHTINGS, str(row))) for row in range(ROWS)), key=lambda text: text[::-1])
        connection.execute(
            "INSERT INTO bench.sightings "
            "SELECT id, 1, gen_random_uuid(), now() FROM unnest(%s::uuid[]) u(id)",
            (ids,),
        )
        connection.execute("VACUUM ANALYZE bench.sightings")

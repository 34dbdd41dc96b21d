"""What an operator is told of a Run, and says of it."""

from __future__ import annotations

from typing import Any

from tests.postgres.execution.world import World


def links(world: World, run: str) -> dict[str, str]:
    """What an operator is told of a Run."""
    return {each["link"]: each["text"] for each in world.operator("explain", "run", run)["links"]}


def settle(world: World, run: str, reason: str) -> Any:
    variables = {"PHAROS_DATABASE_URL_FILE": world.programs.url("pharos_operator")}
    return world.programs.tried(variables, "runs", "settle", run, "--by", "ops@test", "--reason", reason)

"""`pharos-central broker`: what it makes, shows, replays and discards (P29, X12)."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from central.kernel.broker import Message
from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.projects.entrypoints.events import QUEUES
from tests.postgres.processes.rig import Programs

QUEUE = QUEUES[0]


def broker(programs: Programs, *words: str) -> Any:
    """The document a command of the group prints."""
    return json.loads(programs.run(programs.administrator(), "broker", *words, "--json").stdout)


def bury(programs: Programs, count: int) -> None:
    url = programs.server.admin_url(programs.database)
    with Database(DatabaseOptions(url)) as database:
        made = PostgresBroker(database, Waiters(url, CHANNELS))
        made.publish([Message(uuid4(), QUEUE.topics[0], b"{}") for _ in range(count)])
        with made.subscribe(QUEUE.name) as subscription:
            subscription.reject(subscription.fetch(count), "message_malformed: trial")


def test_x12_administer_shows_does_and_then_has_nothing_to_do(programs: Programs) -> None:
    planned = broker(programs, "administer", "--dry-run")
    assert QUEUE.name in planned["declared"]
    assert "beto.questions" in planned["declared"]
    assert broker(programs, "queues")["queues"] == []
    done = broker(programs, "administer")
    assert done == planned | {"dryRun": False}
    assert broker(programs, "administer") == {"schema": 1, "dryRun": False, "declared": [], "enrolled": []}
    identities = {one["identity"] for one in done["enrolled"]}
    owner = "pharos_resource_provisioning"
    assert identities == {f"{owner}_views", f"{owner}_queries", f"{owner}_reader", "pharos_execution"}
    assert {queue["queue"] for queue in broker(programs, "queues")["queues"]} == set(done["declared"])


def test_x12_dead_letters_are_listed_replayed_and_discarded(programs: Programs) -> None:
    programs.administer()
    bury(programs, 3)
    listed = broker(programs, "dead-letters", "list")["deadLetters"]
    assert [one["reason"] for one in listed] == ["message_malformed: trial"] * 3
    assert "body" not in listed[0]
    first = str(listed[0]["position"])
    replay = ("dead-letters", "replay", "--queue", QUEUE.name)
    assert broker(programs, *replay, first, "--dry-run")["count"] == 1
    assert len(broker(programs, "dead-letters", "list", "--queue", QUEUE.name)["deadLetters"]) == 3
    assert broker(programs, *replay, first)["count"] == 1
    again = programs.tried(programs.administrator(), "broker", *replay, str(listed[1]["position"]), first)
    refused = f"refused (dead_letter_unknown): {QUEUE.name} has no buried message at {first};"
    assert (again.returncode, refused in again.stderr) == (3, True), again.stderr
    assert broker(programs, "dead-letters", "discard", "--queue", QUEUE.name, "--all")["count"] == 2
    (shown,) = [queue for queue in broker(programs, "queues")["queues"] if queue["queue"] == QUEUE.name]
    assert (shown["waiting"], shown["buried"]) == (1, 0)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("replay", "--queue", "no.such", "--all"), 3, "refused (queue_unknown)"),
        (("list", "--queue", "no.such"), 3, "refused (queue_unknown)"),
        (("discard", "--queue", QUEUE.name), 2, "--all; one of the two"),
        (("discard", "--queue", QUEUE.name, "--all", "1"), 2, "--all; one of the two"),
        (("replay", "--queue", QUEUE.name, "0"), 2, "POSITIONS"),
    ],
)
def test_x12_what_cannot_be_done_says_why(
    programs: Programs, words: tuple[str, ...], code: int, told: str
) -> None:
    done = programs.tried(programs.administrator(), "broker", "dead-letters", *words)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


def test_x12_a_role_without_the_right_is_told_which_to_name(programs: Programs) -> None:
    operator = {"PHAROS_DATABASE_URL_FILE": programs.url("pharos_operator")}
    for words in (("queues",), ("administer", "--dry-run"), ("dead-letters", "list")):
        done = programs.tried(operator, "broker", *words)
        assert (done.returncode, "name the migrator's role" in done.stderr) == (3, True), done.stderr
    reader = {"RESOURCE_PROVISIONING_DATABASE_URL_FILE": programs.url("pharos_resource_provisioning_reader")}
    programs.run(reader, "view", "list")
    refused = programs.tried(reader, "view", "accept-restored", "projects")
    assert (refused.returncode, "name pharos_resource_provisioning" in refused.stderr) == (3, True)

"""72 polls of both feeds parked on one Site API, and everything else answers (X13)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from tests.contract.goldens import load
from tests.postgres.execution.site import ScriptedSite, started
from tests.postgres.execution.world import POLLERS, World
from tests.postgres.kernel.waiting import until
from tests.postgres.processes.rig import get

FEEDS = ("/v1/site/commands", "/v1/site/ssh-access/changes")


def parked(world: World) -> int:
    """How many polls wait now."""
    text = get(world.ports["site"], "/metrics")[1]
    [line] = [each for each in text.splitlines() if each.startswith("pharos_long_polls_parked ")]
    return int(float(line.split()[1]))


def middle(act: Callable[[], Any], times: int = 15) -> float:
    """The median of so many, in milliseconds."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        took.append(time.perf_counter() - begun)
    return sorted(took)[times // 2] * 1000


def test_x13_beside_72_parked_polls_of_both_feeds_everything_answers(
    world: World, site: ScriptedSite
) -> None:
    member = world.new_member()
    run = started(world, member)

    def poll(feed: str, after: int, wait: int = 55) -> tuple[int, Any]:
        return world.call("site", "GET", f"{feed}?after={after}&wait={wait}", world.grant)

    def head(feed: str) -> int:
        after, page = 0, {"more": True}
        while page["more"]:
            status, page = poll(feed, after, 0)
            assert status == 200, page
            after = page["next"]
        return after

    alone = middle(lambda: site.ask("GET", "?after=0&limit=1"))
    with ThreadPoolExecutor(2 * POLLERS) as pool:
        waiting: dict[str, list[Future[tuple[int, Any]]]] = {
            feed: [pool.submit(poll, feed, at) for _ in range(POLLERS)]
            for feed, at in [(each, head(each)) for each in FEEDS]
        }
        until(lambda: parked(world) == 2 * POLLERS)
        health = middle(lambda: get(world.ports["site"], "/healthz"))
        beside = middle(lambda: site.ask("GET", "?after=0&limit=1"))
        [command] = site.of(run)
        assert site.ack(command)[0] == 200
        assert not any(each.done() for polls in waiting.values() for each in polls)
        begun = time.perf_counter()
        assert site.result(command)[0] == 200  # the next stage is issued: news for one feed alone
        told = [each.result(60) for each in waiting[FEEDS[0]]]
        woken = (time.perf_counter() - begun) * 1000
        assert all(page["commands"][0]["runId"] == run for _, page in told)
        assert not any(each.done() for each in waiting[FEEDS[1]])
        key = load("member-key-add").valid[0].body
        headers = {"Idempotency-Key": str(uuid4())}
        answer = world.call(
            "member", "POST", "/api/v1/me/ssh-keys", world.issuer.mint(member.party), key, headers=headers
        )
        assert answer[0] == 201, answer
        assert all(len(each.result(60)[1]["changes"]) == 1 for each in waiting[FEEDS[1]])
    print(
        f"\n{2 * POLLERS} parked: healthz {health:.1f} ms, a page {beside:.1f} ms (alone {alone:.1f} ms),"
        f" {POLLERS} polls told in {woken:.0f} ms",
        file=sys.stderr,
    )

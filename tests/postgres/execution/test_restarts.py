"""Many Runs at once while central's processes are killed and started again (S1, X7, P27; G and K cases).

50 at once and 6 kills, 500 and 200 in a soak (`--soak`): it is starting a process again that takes long.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import psycopg
import pytest
import urllib3

from tests import long
from tests.postgres.execution.site import ScriptedSite, started
from tests.postgres.execution.world import Member, World
from tests.postgres.kernel.waiting import until

KILLED = ("project", "site", "execution")
"""Both APIs and the worker; what they stand on stays."""
FEW, MANY = 50, 500
KILLS, KILLS_SOAKED = 6, 200
PATIENCE = 900.0


@contextmanager
def killing(world: World, seed: int) -> Iterator[Counter[str]]:
    """Kills one of the processes again and again while the block runs; how often each."""
    chance, stop, killed = random.Random(seed), threading.Event(), Counter[str]()

    def kill() -> None:
        most = KILLS_SOAKED if long.SOAK else KILLS
        while not stop.is_set() and killed.total() < most:
            name = chance.choice(KILLED)
            world.kill(name)
            world.begin(name)
            killed[name] += 1
            stop.wait(chance.uniform(0.5, 2.0))

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join(120)


def persistent(world: World, member: Member, body: dict[str, object]) -> str:
    """A Run whose asker tries with one key until it knows."""
    key = f"00000000-0000-4000-8000-{random.Random(str(body['argv'])).getrandbits(48):012x}"
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(urllib3.exceptions.HTTPError):
            status, answer = world.start(member, key, **body)
            if status in (200, 201):
                return str(answer["runId"])
        time.sleep(0.2)
    raise AssertionError("no answer ever came")


@pytest.mark.soak
def test_s1_every_run_ends_once_and_true_whatever_is_killed(
    world: World, site: ScriptedSite, pytestconfig: pytest.Config
) -> None:
    many = MANY if long.SOAK else FEW
    member = world.new_member()
    started(world, member, argv=["true"])
    bodies = [world.run_body(argv=["sh", "-c", f"exit 0 # {number}"]) for number in range(many)]
    ended: dict[str, str] = {}

    def look(runs: list[str]) -> bool:
        site.work_through(push=False)
        for run in runs:
            if ended.get(run) not in ("completed", "failed"):
                with suppress(urllib3.exceptions.HTTPError):
                    ended[run] = world.state(member, run)[0]
        return all(ended.get(run) in ("completed", "failed") for run in runs)

    with killing(world, pytestconfig.getoption("--seed")) as killed:
        with ThreadPoolExecutor(8) as pool:
            runs = list(pool.map(lambda body: persistent(world, member, body), bodies))
        until(lambda: look(runs), PATIENCE)
    assert len(set(runs)) == many, "one Run an Idempotency-Key"
    assert Counter(ended[run] for run in runs) == Counter({"completed": many})
    assert sum(killed.values()) > 0, "something was killed"
    _consistent(world, runs)
    print(f"\n{many} Runs, {many} completed, {3 * many} jobs; killed {dict(killed)}", file=sys.stderr)


def _consistent(world: World, runs: list[str]) -> None:
    """Each Run had three jobs and one cleanup; the feed has no gap; all of it was said to the others."""
    url = world.programs.server.admin_url(world.programs.database)

    def settled() -> bool:
        with suppress(urllib3.exceptions.HTTPError):
            ScriptedSite(world).work_through(push=False)
        with psycopg.connect(url) as connection:
            row = connection.execute(
                "SELECT count(*) FROM execution.runs WHERE run_id = ANY (%s::uuid[])"
                " AND released AND published = revision",
                (runs,),
            ).fetchone()
        return row == (len(runs),)

    until(settled, PATIENCE)
    with psycopg.connect(url) as connection:
        jobs = connection.execute(
            "SELECT count(*), count(DISTINCT command_id), count(*) FILTER (WHERE action ? 'submit')"
            " FROM execution.commands WHERE run_id = ANY (%s::uuid[])",
            (runs,),
        ).fetchone()
        feed = connection.execute(
            "SELECT head = (SELECT count(*) FROM execution.commands c WHERE c.site = f.site)"
            " FROM execution.feeds f WHERE site = 'slurm'"
        ).fetchone()
    assert jobs == (4 * len(runs), 4 * len(runs), 3 * len(runs))
    assert feed == (True,)

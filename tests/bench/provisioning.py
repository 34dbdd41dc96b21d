"""The Site intake against the limits of the same machine in the same run.

Each measure takes what `intake.running()` yields. Everything shares the machine: only ratios of one run mean
anything.
"""

from __future__ import annotations

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg

from central.kernel.queries import load_queries
from tests.bench.drf import drf_peer
from tests.bench.intake import BATCH, ROWS, SITES, Bodies, Running, headers_of
from tests.bench.loads import AccountLoad, Load, Plain, ReportLoad, Sightings, racing
from tests.bench.measure import Result, paired
from tests.bench.tables import bare_tables

ROUNDS = 9


def _compared(over: Load, under: Load) -> Result:
    """Rows a second of one load by those of the other, in turns."""
    with racing(over=over, under=under) as rate:
        return paired(ROUNDS, over=lambda: rate("over"), under=lambda: rate("under"))


def report_unchanged_vs_limit(service: Running) -> Result:
    """Unchanged 1,000-resource reports over HTTP, authenticated, logged, metered / L1."""
    bare_tables(service.admin)
    return _compared(ReportLoad(service.port, BATCH), Sightings(service.admin))


def accounts_unchanged_vs_limit(service: Running) -> Result:
    """Unchanged sets of 1,000 accounts over HTTP / L1, in accounts and rows."""
    bare_tables(service.admin)
    return _compared(AccountLoad(service.port), Sightings(service.admin))


def batch_vs_single(service: Running) -> Result:
    """1,000-resource reports / one resource a request, the same path."""
    return _compared(ReportLoad(service.port, BATCH), ReportLoad(service.port, 1))


def batch_vs_drf(service: Running) -> Result:
    """1,000-resource reports / one resource a request to a Django REST framework view that does the same."""
    with drf_peer(service.admin) as peer:
        return _compared(ReportLoad(service.port, BATCH), peer)


def report_1pct_vs_unchanged(service: Running) -> Result:
    """Reports with 1 % changed / unchanged ones, of other rows: one would change back what the other did."""
    clean = ReportLoad(service.port, BATCH)
    dirty = ReportLoad(service.port, BATCH, BATCH // 100, first=ROWS)
    return _compared(dirty, clean)


def report_changed_vs_plain(service: Running) -> Result:
    """Reports in which every resource changed / a plain transaction of three statements each."""
    bare_tables(service.admin)
    return _compared(ReportLoad(service.port, BATCH, BATCH), Plain(service.admin))


@dataclass(frozen=True, slots=True)
class _Figure:
    """One figure of the server."""

    admin: str

    def __call__(self, statement: str) -> float:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            row = connection.execute(statement.encode()).fetchone()
        return float(row[0]) if row and row[0] is not None else 0.0


def hot_share(service: Running) -> Result:
    """HOT share, in percent, of the sightings' updates over 1,000 unchanged reports of 1,000 resources.

    From two connections, as the limit is measured: ten that never pause keep old rows from being pruned.
    """
    count = _Figure(service.admin)
    table = "pg_stat_user_tables WHERE relname = 'allocation_sightings'"
    with racing(load=ReportLoad(service.port, BATCH, width=len(SITES))) as rate:
        time.sleep(1.5)
        before = [count(f"SELECT {column} FROM {table}") for column in ("n_tup_upd", "n_tup_hot_upd")]
        updates = hot = 0.0
        deadline = time.monotonic() + 300
        while updates < 1_000 * BATCH and time.monotonic() < deadline:
            for _ in range(8):
                rate("load")
            time.sleep(1.5)
            updates = count(f"SELECT n_tup_upd FROM {table}") - before[0]
            hot = count(f"SELECT n_tup_hot_upd FROM {table}") - before[1]
    size = count("SELECT pg_relation_size('provisioning.allocation_sightings') / 1048576.0")
    return Result(100 * hot / updates, 1, {"updates": updates, "hot": hot, "megabytes": size})


def _report_all(service: Running) -> None:
    """Every row is there, as its Site last said."""
    with racing(load=ReportLoad(service.port, BATCH)):
        pass


def stale_renewals(service: Running) -> Result:
    """Sightings that renewed a version they had not seen: a change commits while each waits, 200 times."""
    races = 200
    _report_all(service)
    renew = load_queries("central.provisioning")["renew"].statement
    stale = waited = 0
    find = "SELECT allocation_id::text, content::text, site FROM provisioning.allocation_sightings LIMIT %s"
    change = (
        "UPDATE provisioning.allocation_sightings SET content = gen_random_uuid() WHERE allocation_id = %s"
    )
    with (
        psycopg.connect(service.admin, autocommit=True) as sighting,
        psycopg.connect(service.admin) as changing,
        ThreadPoolExecutor(1) as pool,
    ):
        rows = sighting.execute(find, (races,)).fetchall()
        for allocation, content, site in rows:
            changing.execute(change, (allocation,))
            params = {
                "ids": "{" + allocation + "}",
                "contents": "{" + content + "}",
                "site": site,
                "observed_at": datetime.now(UTC),
            }
            renewed = pool.submit(sighting.execute, renew, params)
            time.sleep(0.005)
            waited += not renewed.done()
            changing.commit()
            found = renewed.result(timeout=30).fetchone()
            stale += len(found[0]) if found else 0
    return Result(stale, races, {"races": float(len(rows)), "sightings that waited": float(waited)})


def deadlocks(service: Running) -> Result:
    """Deadlocks while every report is sent by two connections at once, its resources in either order."""
    count = _Figure(service.admin)
    statement = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    _report_all(service)
    before = count(statement)
    sent = 0
    with ThreadPoolExecutor(4) as pool:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            turns = [_Retry(service.port, SITES[n // 2], bool(n % 2)) for n in range(4)]
            sent += sum(pool.map(lambda turn: turn(), turns))
    time.sleep(1.5)
    return Result(count(statement) - before, 1, {"reports": float(sent)})


@dataclass(frozen=True, slots=True)
class _Retry:
    """The same rows again, straight or backwards."""

    port: int
    site: str
    backwards: bool

    def __call__(self) -> int:
        bodies = Bodies(self.site, BATCH)
        body = json.loads(bodies.next())
        if self.backwards:
            body["resources"].reverse()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(
            "POST", f"/resource-provisioning/{self.site}/reports", json.dumps(body), headers_of(self.site)
        )
        answer = connection.getresponse()
        told = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {told[:300]!r}")
        return 1


MEASURES = (
    report_unchanged_vs_limit,
    accounts_unchanged_vs_limit,
    batch_vs_single,
    batch_vs_drf,
    report_1pct_vs_unchanged,
    report_changed_vs_plain,
    hot_share,
    stale_renewals,
    deadlocks,
)
"""Each takes a `Running`; its name is its key in `targets.py`."""

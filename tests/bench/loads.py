"""Loads of the intake and of what it is compared with: a process each Site or connection.

`racing(…)` starts all of them once and lets one run at a time, so that short turns can follow each other and
a busy moment of the machine meets them all.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Protocol
from uuid import uuid4, uuid5

import psycopg

from tests.bench.intake import BATCH, MANY, ROWS, SITES, SPAWN, Bodies, headers_of
from tests.bench.tables import HEADS, SIGHTINGS

SECONDS = 1.5
"""One turn: many requests, for at its end one Site waits for the other's last."""
SETS = 5
ACCOUNTS = 1_000
_READY_SECONDS = 180

Turn = tuple[Callable[[], None], int]
"""What is done again and again, and how many rows it is worth."""


class Load(Protocol):
    """One load; it is sent to its processes, of which there are `width`."""

    @property
    def width(self) -> int: ...

    def begin(self, index: int) -> AbstractContextManager[Turn]:
        """Everything before the first turn, warmed up; `index` numbers the Site."""
        ...


@contextmanager
def racing(**loads: Load) -> Iterator[Callable[[str], float]]:
    """Yields `rate(name)`: rows a second of that load alone over the next `SECONDS`."""
    with ExitStack() as stack:
        pipes: dict[str, list[Connection]] = {}
        for name, load in loads.items():
            pipes[name] = [stack.enter_context(_process(load, index)) for index in range(load.width)]
            for pipe in pipes[name]:
                _answer(pipe)

        def rate(name: str) -> float:
            for pipe in pipes[name]:
                pipe.send(SECONDS)
            return sum(_answer(pipe) for pipe in pipes[name])

        yield rate


@contextmanager
def _process(load: Load, index: int) -> Iterator[Connection]:
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=_run, args=(load, index, theirs))
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(10)
        if process.is_alive():
            process.terminate()
            process.join(10)


def _answer(pipe: Connection) -> float:
    if not pipe.poll(_READY_SECONDS):
        raise RuntimeError(f"a load process said nothing for {_READY_SECONDS} s")
    try:
        return float(pipe.recv())
    except EOFError:
        raise RuntimeError("a load process failed; its error stands above") from None


def _run(load: Load, index: int, pipe: Connection) -> None:
    with load.begin(index) as (action, rows):
        pipe.send(0.0)
        while True:
            try:
                seconds = float(pipe.recv())
            except EOFError:
                return
            begin, done = time.perf_counter(), 0
            while time.perf_counter() < begin + seconds:
                action()
                done += rows
            pipe.send(done / (time.perf_counter() - begin))


class Agent:
    """One kept connection to the intake, speaking for a Site."""

    def __init__(self, port: int, site: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._site, self._headers = site, headers_of(site)

    def post(self, path: str, body: bytes) -> bytes:
        """The answer's body; anything but 200 ends the measurement.

        A connection that was closed between two turns is made again, as an agent does.
        """
        try:
            answer, told = self._send(path, body)
        except (http.client.RemoteDisconnected, ConnectionError):
            self._connection.close()
            answer, told = self._send(path, body)
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {told[:300]!r}")
        return told

    def _send(self, path: str, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        self._connection.request("POST", f"/resource-provisioning/{self._site}{path}", body, self._headers)
        answer = self._connection.getresponse()
        return answer, answer.read()


@dataclass(frozen=True, slots=True)
class ReportLoad:
    """Reports of `size` resources, of which `dirty` change; counts the resources taken."""

    port: int
    size: int
    dirty: int = 0
    first: int = 0
    width: int = len(MANY)

    @contextmanager
    def begin(self, index: int) -> Iterator[Turn]:
        """See `Load`."""
        agent = Agent(self.port, MANY[index])
        bodies = Bodies(MANY[index], self.size, self.dirty, self.first)

        def post() -> None:
            agent.post("/reports", bodies.next())

        for _ in range(2 * max(1, ROWS // len(MANY) // self.size) if self.size > 1 else 20):
            post()
        yield post, self.size


@dataclass(frozen=True, slots=True)
class AccountLoad:
    """Complete sets of 1,000 accounts, the same each time, of `SETS` allocations in turn (P21)."""

    port: int
    width: int = len(SITES)

    @contextmanager
    def begin(self, index: int) -> Iterator[Turn]:
        """See `Load`."""
        agent = Agent(self.port, SITES[index])
        told = json.loads(agent.post("/reports", Bodies(SITES[index], BATCH).next()))
        sets = [account_set(outcome["allocationId"]) for outcome in told["outcomes"][:SETS]]
        turn = 0

        def post() -> None:
            nonlocal turn
            now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            head = f'{{"schema":1,"reportId":"{uuid4()}","observedAt":"{now}",'
            agent.post("/accounts", head.encode() + sets[turn % SETS])
            turn += 1

        for _ in range(2 * SETS):
            post()
        yield post, ACCOUNTS


def account_set(allocation: str) -> bytes:
    """The rest of a body after `observedAt`."""
    accounts = [
        {
            "partyId": str(uuid5(SIGHTINGS, f"party/{number}")),
            "name": f"member{number}",
            "nativeUid": f"{uuid5(SIGHTINGS, f'entry/{number}')}/{number}",
            "uidNumber": 5_000_000 + number,
            "bindingId": str(uuid5(SIGHTINGS, f"binding/{number}")),
            "generation": 1,
            "state": "ready",
        }
        for number in range(ACCOUNTS)
    ]
    return json.dumps({"allocationId": allocation, "accounts": accounts}, separators=(",", ":")).encode()[1:]


@dataclass(frozen=True, slots=True)
class Sightings:
    """L1: the bare statement, prepared, 2 connections, 1,000 rows each."""

    admin: str
    width: int = 2

    @contextmanager
    def begin(self, index: int) -> Iterator[Turn]:
        """See `Load`."""
        ids = [str(uuid5(SIGHTINGS, str(row))) for row in range(index, ROWS, self.width)]
        batches = [sorted(ids[n : n + BATCH]) for n in range(0, len(ids), BATCH)]
        versions = [1] * BATCH
        turn = 0
        with psycopg.connect(self.admin, autocommit=True, prepare_threshold=0) as connection:

            def renew() -> None:
                nonlocal turn
                turn += 1
                done = connection.execute(
                    "UPDATE bench.sightings s SET seen_at = clock_timestamp() "
                    "FROM unnest(%s::uuid[], %s::int[]) u(id, v) WHERE s.id = u.id AND s.version = u.v",
                    (batches[turn % len(batches)], versions),
                )
                assert done.rowcount == BATCH

            for _ in batches:
                renew()
            yield renew, BATCH


@dataclass(frozen=True, slots=True)
class Plain:
    """A changed resource as a transaction of three statements, 2 connections."""

    admin: str
    width: int = 2

    @contextmanager
    def begin(self, index: int) -> Iterator[Turn]:
        """See `Load`."""
        ids = [uuid5(HEADS, f"{index}/{row}") for row in range(BATCH)]
        snapshot = json.dumps(
            {"configured": {"cpu": 144000}, "applied": {"cpu": 144000}, "padding": "x" * 640}
        )
        turn = 0
        with psycopg.connect(self.admin, autocommit=True, prepare_threshold=1) as connection:
            for row in ids:
                connection.execute("INSERT INTO bench.heads VALUES (%s, %s, 1, now())", (row, index))

            def change() -> None:
                nonlocal turn
                row, version = ids[turn % BATCH], 2 + turn // BATCH
                turn += 1
                with connection.transaction():
                    connection.execute(
                        "INSERT INTO bench.versions VALUES (%s, %s, now(), %s)", (row, version, snapshot)
                    )
                    connection.execute(
                        "UPDATE bench.heads SET version = version + 1, seen_at = now() WHERE id = %s", (row,)
                    )
                    connection.execute("INSERT INTO bench.receipts VALUES (%s, %s, now())", (uuid4(), row))

            for _ in range(20):
                change()
            yield change, 1

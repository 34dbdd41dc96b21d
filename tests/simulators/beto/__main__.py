"""Beto and the owners of accepted work as a process at a PostgreSQL broker.

    python -m tests.simulators.beto --broker-url-file FILE [--state FILE] [--control SOCKET]

A development stand-in (X8): it says so on start. It declares its own queues, answers questions, and obeys one
command a line (`steering`), each answered with one line of JSON: on standard input until that ends, or with
`--control` on a socket in the file system until it is told to stop. With `--state` the truth survives.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from central.kernel.broker_postgres import CHANNELS, PostgresBroker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.notifications import Waiters
from central.kernel.socket_paths import short_path
from tests.simulators.beto.speaker import speaking
from tests.simulators.beto.steering import World

Obey = Callable[[dict[str, Any]], dict[str, Any]]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="beto", description="Beto's stand-in for development and tests.")
    parser.add_argument("--broker-url-file", type=Path, required=True, help="private file: PostgreSQL's URL")
    parser.add_argument("--state", type=Path, help="file that keeps the truth between runs")
    parser.add_argument("--control", type=Path, help="socket to obey at, instead of standard input")
    parser.add_argument("--owner", action="append", default=[], help="an owner of accepted work; repeatable")
    parser.add_argument("--parent", type=int, help="end when this process is no longer the parent")
    return parser.parse_args()


@contextmanager
def speaking_world(given: argparse.Namespace) -> Iterator[Obey]:
    """Everybody answers while the block runs; how to have a command obeyed."""
    url = given.broker_url_file.read_text(encoding="utf-8").strip()
    waiters = Waiters(url, CHANNELS)
    waiters.start()
    lock = threading.Lock()
    with Database(DatabaseOptions(url, application="beto")) as database, ExitStack() as held:
        broker = PostgresBroker(database, waiters)
        world = World.load(broker, given.state, given.owner)
        malformed = [held.enter_context(speaking(world.beto, broker))]
        malformed += [
            held.enter_context(speaking(owner, broker, owner.queue)) for owner in world.owners.values()
        ]

        def obey(command: dict[str, Any]) -> dict[str, Any]:
            with lock:
                return world.obey(command) | {"malformedQuestions": sum(map(len, malformed))}

        yield obey
    waiters.close()


def answered(obey: Obey, line: str | bytes) -> str:
    """The line that answers a line."""
    try:
        command = json.loads(line)
    except ValueError as error:
        return json.dumps({"error": f"no JSON: {error}"})
    return json.dumps(obey(command) if isinstance(command, dict) else {"error": "no object"})


def serve(obey: Obey, path: Path, parent: int | None) -> None:
    """Obeys at a socket only its owner may reach, until a signal or the parent's end."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                self.wfile.write(answered(obey, line).encode() + b"\n")

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    path.unlink(missing_ok=True)
    os.umask(0o177)
    with short_path(path) as short, socketserver.ThreadingUnixStreamServer(short, Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(json.dumps({"ready": True}), flush=True)
        while not stop.wait(1.0):
            if parent is not None and os.getppid() != parent:
                break
        server.shutdown()
    path.unlink(missing_ok=True)


def main() -> int:
    """Runs until standard input ends, or until told to stop."""
    given = arguments()
    print("beto: a DEVELOPMENT STAND-IN, not the real one", file=sys.stderr, flush=True)
    with speaking_world(given) as obey:
        if given.control:
            serve(obey, given.control, given.parent)
            return 0
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            print(answered(obey, line), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

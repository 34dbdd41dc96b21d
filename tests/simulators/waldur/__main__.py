"""Runs until SIGTERM or SIGINT; prints one JSON line `{"api": …, "control": …}` once it listens."""

import argparse
import json
import os
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path

from tests.simulators.waldur.control import ControlServer
from tests.simulators.waldur.server import WaldurServer, tls_context
from tests.simulators.waldur.steering import Steering

WARNING = "waldur: a DEVELOPMENT STAND-IN, not the real one; it serves whoever reaches it"


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulators.waldur", description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:0", help="ADDRESS:PORT; port 0 takes a free one")
    parser.add_argument("--cert", type=Path, required=True, help="PEM chain the API is served with")
    parser.add_argument("--key", type=Path, required=True, help="PEM private key of --cert")
    parser.add_argument("--name", help="host name in the printed URL (default: the address)")
    parser.add_argument("--state", type=Path, help="file that keeps the world between runs")
    parser.add_argument("--control", type=Path, required=True, help="Unix socket that takes the acts")
    parser.add_argument("--now", type=datetime.fromisoformat, help="stand at this time, until told otherwise")
    parser.add_argument("--parent", type=int, help="end when this process is no longer the parent")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Serves until told to stop."""
    options = arguments(argv)
    host, _, port = options.listen.rpartition(":")
    steering = Steering(options.state, options.now)
    tls = tls_context(str(options.cert), str(options.key))
    stop = threading.Event()
    with (
        WaldurServer((host.strip("[]"), int(port)), steering, tls) as server,
        ControlServer(options.control, steering) as control,
    ):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        for each in (server, control):
            threading.Thread(target=each.serve_forever, args=(0.05,), daemon=True).start()
        api = f"https://{options.name or host}:{server.server_address[1]}/api/"
        print(WARNING, file=sys.stderr, flush=True)
        print(
            json.dumps({"api": api, "control": str(options.control), "developmentStandIn": True}), flush=True
        )
        while not stop.wait(1.0):
            if options.parent is not None and os.getppid() != options.parent:
                break
        for each in (server, control):
            each.shutdown()
        with steering.lock:
            steering.save()
    options.control.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

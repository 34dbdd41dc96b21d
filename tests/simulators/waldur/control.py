"""The control channel: a Unix socket, one command a line, one line of answer (both JSON)."""

from __future__ import annotations

import json
import socketserver
from pathlib import Path

from tests.simulators.waldur.steering import Steering


class ControlServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Serves the acts of one `Steering` to whoever may open the socket."""

    daemon_threads = True

    def __init__(self, path: Path, steering: Steering) -> None:
        path.unlink(missing_ok=True)
        super().__init__(str(path), Handler)
        path.chmod(0o600)
        self.steering = steering


class Handler(socketserver.StreamRequestHandler):
    """A conversation."""

    server: ControlServer

    def handle(self) -> None:
        for line in self.rfile:
            try:
                command = json.loads(line)
            except ValueError as error:
                done = {"error": f"no JSON: {error}"}
            else:
                done = self.server.steering.obey(command)
            self.wfile.write(json.dumps(done).encode() + b"\n")

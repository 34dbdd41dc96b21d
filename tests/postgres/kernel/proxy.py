"""A relay before PostgreSQL that can lose what the server answers, as a broken network does."""

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class LossyRelay:
    """Listens in ``folder``. ``lose`` counts the COMMITs whose answer is dropped with the connection. Until
    ``speaks`` is set again, nothing comes back and every connection stays open: a server that stands still.
    """

    folder: Path
    server: Path
    lose: int = 0
    lost: int = 0
    speaks: threading.Event = field(default_factory=threading.Event)
    _open: list[socket.socket] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self.server))
        self._open += [client, server]
        doomed = threading.Event()
        back = threading.Thread(target=self._back, args=(server, client, doomed), daemon=True)
        back.start()
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if b"COMMIT" in data and self.lose:
                    self.lose -= 1
                    doomed.set()
                server.sendall(data)
        server.close()

    def _back(self, server: socket.socket, client: socket.socket, doomed: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                self.speaks.wait()
                if doomed.is_set():
                    self.lost += 1
                    break
                client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.speaks.set()
        for one in self._open:
            one.close()


@contextmanager
def lossy_relay(socket_folder: Path) -> Iterator[LossyRelay]:
    """A relay to the server whose socket stands in ``socket_folder``."""
    with tempfile.TemporaryDirectory(prefix="pharos-relay-") as name:
        folder = Path(name)
        relay = LossyRelay(folder, socket_folder / ".s.PGSQL.5432")
        relay.speaks.set()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / ".s.PGSQL.5432"))
            listener.listen()
            thread = threading.Thread(target=relay.serve, args=(listener,), daemon=True)
            thread.start()
            try:
                yield relay
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                relay.close()

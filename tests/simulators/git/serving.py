"""The server as a context: `with serving(folder, certificate, key) as server: …`."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.simulators.git.server import GitServer
from tests.simulators.git.server_state import Repositories


@contextmanager
def serving(
    folder: Path,
    certificate: Path,
    key: Path,
    *,
    address: tuple[str, int] = ("127.0.0.1", 0),
    name: str = "localhost",
) -> Iterator[GitServer]:
    """Serves what `folder` holds over TLS while the block runs; `name` is the host its certificate names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with GitServer(address, Repositories(folder)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.url = f"https://{name}:{server.server_address[1]}"
        _answer(server)
        try:
            yield server
        finally:
            server.shutdown()


@contextmanager
def saying_nothing(server: GitServer) -> Iterator[None]:
    """While the block runs the server's connections are accepted, by the kernel, and nothing is ever said."""
    server.shutdown()
    try:
        yield
    finally:
        _answer(server)


def _answer(server: GitServer) -> None:
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

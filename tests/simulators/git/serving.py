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
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)

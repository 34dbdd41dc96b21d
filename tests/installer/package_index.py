"""A package index of this machine's own: the simple API over TLS, honest or wrong in a chosen way."""

import hashlib
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(slots=True)
class PackageIndex:
    """A running index; ``links`` and ``redirects`` replace what an honest one says of a path."""

    url: str
    authority: Path
    files: dict[str, bytes]
    links: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def page(self, project: str) -> bytes | None:
        """The project's page (PEP 503); None for an unknown one."""
        names = [name for name in self.files if name.split("-")[0].replace("_", "-").lower() == project]
        rows = [
            f'<a href="{self.links.get(name, f"/files/{name}")}'
            f'#sha256={hashlib.sha256(self.files[name]).hexdigest()}">{name}</a>'
            for name in names
        ]
        return f"<!DOCTYPE html><html><body>{''.join(rows)}</body></html>".encode() if rows else None


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A key and a certificate for 127.0.0.1 that is its own authority."""
    key, cert = folder / f"{name}.key", folder / f"{name}.crt"
    command = ["openssl", "req", "-x509", "-nodes", "-days", "1", "-newkey", "ec", "-pkeyopt"]
    command += ["ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}", "-addext"]
    command += ["subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    cert.chmod(0o644)
    return key, cert


@contextmanager
def serve(folder: Path, files: Mapping[str, bytes], name: str = "index") -> Iterator[PackageIndex]:
    """An index of ``files`` (wheel name to bytes) on loopback, for the block."""
    key, cert = certificate(folder, name)
    index = PackageIndex(url="", authority=cert, files=dict(files))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append(self.path)
            if self.path in index.redirects:
                self._answer(302, b"", Location=index.redirects[self.path])
                return
            kind, _, rest = self.path.removeprefix("/").partition("/")
            body = index.page(rest.strip("/")) if kind == "simple" else index.files.get(rest)
            if body is None:
                self._answer(404, b"no such thing")
            else:
                self._answer(200, body)

        def _answer(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            html = self.path.startswith("/simple/")
            self.send_header("Content-Type", "text/html" if html else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            for header, value in headers.items():
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_a: None  # type: ignore[method-assign]
    index.url = f"https://127.0.0.1:{server.server_port}/simple/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

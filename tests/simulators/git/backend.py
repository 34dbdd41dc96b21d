"""One request handed to `git-http-backend` as CGI (RFC 3875; git-http-backend(1))."""

import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from tests.simulators.git.server_state import BACKEND

HEAD_MAX: Final = 64 * 1024
CHUNK: Final = 64 * 1024
SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class CgiRequest:
    """What the backend is told. `body` is the request's body, already without its transfer coding."""

    method: str
    path: str
    query: str
    content_type: str
    content_encoding: str
    protocol: str
    username: str
    writes: tuple[str, ...]
    body: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class CgiAnswer:
    """Status, headers, and the rest as it comes."""

    status: int
    headers: list[tuple[str, str]]
    body: Iterator[bytes]


def run_backend(folder: Path, request: CgiRequest) -> CgiAnswer:
    """Starts the backend and returns its answer; the process ends with the answer's body."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": str(folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": request.protocol,
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": request.method,
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "CONTENT_TYPE": request.content_type,
        "HTTP_CONTENT_ENCODING": request.content_encoding,
        "REMOTE_USER": request.username,
        "REMOTE_ADDR": "127.0.0.1",
        "PHAROS_GIT_WRITES": " ".join(request.writes),
    }
    process = subprocess.Popen(
        [str(BACKEND)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    feeder = threading.Thread(target=_feed, args=(process.stdin, request.body), daemon=True)
    feeder.start()
    status, headers = _head(process.stdout)
    return CgiAnswer(status, headers, _rest(process, process.stdout, feeder))


def _feed(pipe: IO[bytes], body: Iterator[bytes]) -> None:
    try:
        with pipe:
            for piece in body:
                pipe.write(piece)
    except (BrokenPipeError, ConnectionError):
        pass  # the backend, or the client, ended first: the answer says so


def _head(output: IO[bytes]) -> tuple[int, list[tuple[str, str]]]:
    status, headers, size = 200, [], 0
    for line in output:
        size += len(line)
        text = line.decode("latin-1").rstrip("\r\n")
        if not text or size > HEAD_MAX:
            break
        name, _, value = text.partition(":")
        if name.lower() == "status":
            status = int(value.split()[0])
        else:
            headers.append((name, value.strip()))
    return status, headers


def _rest(process: subprocess.Popen[bytes], output: IO[bytes], feeder: threading.Thread) -> Iterator[bytes]:
    try:
        while piece := output.read(CHUNK):
            yield piece
    finally:
        output.close()
        feeder.join(timeout=5)
        try:
            process.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

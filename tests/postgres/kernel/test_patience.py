"""Clients that send nothing, or little by little, keep nobody from an answer (X13)."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import urllib3

from central.kernel.serving_worker import WAITING_MAX
from tests.postgres.kernel.serving_rig import Running, Start, certificate
from tests.postgres.kernel.waiting import NEVER, until

LONG = 600
HEAD = b"GET /healthz HTTP/1.1\r\nHost:"
BODY = b"POST /held HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{"


@contextmanager
def connected(port: int, count: int, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """That many connections, each having sent ``first``."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=NEVER))
            one.sendall(first)
            made.append(one)
        yield made


@contextmanager
def dripping(port: int, count: int, first: bytes, drop: bytes = b" ") -> Iterator[list[socket.socket]]:
    """They send one byte more again and again, for as long as the block lasts."""
    over = threading.Event()
    with connected(port, count, first) as made:

        def drip() -> None:
            while not over.wait(0.2):
                for one in made:
                    with suppress(OSError):
                        one.send(drop)

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield made
        finally:
            over.set()
            thread.join()


def still_open(one: socket.socket) -> bool:
    """Whether the server has neither answered nor closed it."""
    one.setblocking(False)
    try:
        one.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        one.setblocking(True)
    return False


def stages(running: Running) -> list[object]:
    """Where the clients stood that were too slow."""
    return [line["stage"] for line in running.lines() if line["event"] == "client_too_slow"]


def test_x13_silent_connections_hold_no_thread(start: Start) -> None:
    """120 of them beside four threads: an answer comes while every one of them is still open."""
    running = start(threads=4, keep=LONG)
    with connected(running.port, 120) as silent:
        assert running.get("/healthz").status == 200
        assert running.post("/held", {"id": 1}).status == 200
        assert all(still_open(one) for one in silent)


def test_x13_the_oldest_silent_connection_goes_when_too_many_wait(start: Start) -> None:
    running = start(threads=4, keep=LONG)
    with connected(running.port, WAITING_MAX + 20) as silent:
        assert running.get("/healthz").status == 200
        until(lambda: not any(still_open(one) for one in silent[:20]))
        assert all(still_open(one) for one in silent[-20:])


def test_x13_a_silent_connection_is_dropped_after_a_while(start: Start) -> None:
    running = start(threads=4, keep=1)
    with connected(running.port, 20) as silent:
        assert [one.recv(1) for one in silent] == [b""] * 20


@pytest.mark.parametrize(("first", "stage"), [(HEAD, "head"), (BODY, "body")], ids=["head", "body"])
def test_x13_who_drips_is_cut_off_at_the_deadline_of_the_whole(
    start: Start, first: bytes, stage: str
) -> None:
    """24 beside four threads; each byte comes well within any limit on a single read."""
    running = start(threads=4, receive=1 if stage == "head" else LONG, body=1 if stage == "body" else LONG)
    with dripping(running.port, 24, first) as slow:
        assert running.get("/healthz").status == 200
        until(lambda: not any(still_open(one) for one in slow))
    # It is told after they are cut off.
    until(lambda: len(stages(running)) >= 24)
    assert stages(running) == [stage] * 24
    assert "Traceback" not in running.log.read_text()


def test_x13_dripping_bodies_beside_an_answer(start: Start) -> None:
    """A body has its own time, not the head's: all are still read when the head's is long over."""
    running = start(threads=12, receive=1)
    with dripping(running.port, 8, BODY) as slow, connected(running.port, 1, HEAD) as half:
        assert half[0].recv(1) == b"", "the head's time is over"
        assert running.get("/healthz").status == 200
        assert all(still_open(one) for one in slow)


def test_x13_who_keeps_the_connection_open_after_the_last_answer_stops_nobody(start: Start) -> None:
    """The loop that takes connections waits for none to be closed: the 30 would take a minute."""
    running = start(threads=4)
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with connected(running.port, 30, last) as kept:
        for one in kept:
            assert one.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert (
            running.http.request("GET", f"http://127.0.0.1:{running.port}/healthz", timeout=30).status == 200
        )
        for one in kept:
            one.settimeout(30)
            while one.recv(65536):
                pass


def test_x13_who_takes_no_answer_gives_the_thread_back(start: Start) -> None:
    running = start(threads=2, body=1)
    with connected(running.port, 4) as deaf:
        for one in deaf:
            one.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: stages(running) == ["answer"] * 4)
        assert running.get("/healthz").status == 200


def test_x13_half_a_handshake_is_a_slow_head(start: Start, tmp_path: Path) -> None:
    certificate(tmp_path)
    running = start(threads=4, receive=1, tls=tmp_path)
    with dripping(running.port, 12, b"\x16\x03\x01\x02\x00\x01", drop=b"\x00") as slow:
        pool = urllib3.PoolManager(ca_certs=str(tmp_path / "cert.pem"), retries=False, timeout=NEVER)
        assert pool.request("GET", f"https://127.0.0.1:{running.port}/healthz").status == 200
        pool.clear()
        until(lambda: not any(still_open(one) for one in slow))
    context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with (
        socket.create_connection(("127.0.0.1", running.port), timeout=NEVER) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped,
    ):
        wrapped.sendall(HEAD)
        assert wrapped.recv(1) == b""
    assert "Traceback" not in running.log.read_text()

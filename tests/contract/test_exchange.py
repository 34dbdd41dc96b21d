"""An exchange ends, whatever the other side does (X1): a head or a body that drips keeps nobody."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from central.execution.adapters.exchange import Exchange, ExchangeLimits
from central.execution.application.ports import PeerSilent
from central.kernel.errors import Unavailable

LIMITS = ExchangeLimits(timeout=5.0, whole=0.4, answer_max=10_000)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 5000\r\n\r\n"


@contextmanager
def answering(talk: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A server on loopback that lets `talk` answer one request."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            with suppress(OSError):
                peer, _ = server.accept()
                with peer:
                    peer.recv(65_536)
                    talk(peer, over)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            over.set()
            thread.join(10)


def _drip(peer: socket.socket, over: threading.Event, text: bytes) -> None:
    for byte in text:
        if over.wait(0.02):
            return
        peer.sendall(bytes([byte]))


def test_a_whole_answer() -> None:
    with answering(lambda peer, _: peer.sendall(HEAD.replace(b"5000", b"2") + b"{}")) as url:
        answer = Exchange("the issuer", limits=replace(LIMITS, whole=60.0))("GET", url, {})
    assert (answer.status, answer.media, answer.body) == (200, "application/json", b"{}")


@pytest.mark.parametrize("head", [b"", HEAD], ids=["head", "body"])
def test_x1_what_drips_is_no_answer(head: bytes) -> None:
    ended = threading.Event()

    def talk(peer: socket.socket, over: threading.Event) -> None:
        peer.sendall(head)
        _drip(peer, over, b" " * 5000 if head else b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 5000)
        if not over.is_set():
            ended.set()

    with answering(talk) as url:
        with pytest.raises(Unavailable, match="the issuer"):
            Exchange("the issuer", limits=LIMITS)("GET", url, {})
        assert not ended.is_set(), "the server had said all it had to say"


def _say(text: bytes) -> Callable[[socket.socket, threading.Event], None]:
    return lambda peer, _: peer.sendall(text)


def _wait(_peer: socket.socket, over: threading.Event) -> None:
    over.wait(60)


def _drip_a_head(peer: socket.socket, over: threading.Event) -> None:
    _drip(peer, over, b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 5000)


@pytest.mark.parametrize(
    ("talk", "silent"),
    [
        (_wait, True),
        (_drip_a_head, True),
        (_say(b""), False),
        (_say(b"what?\r\n"), False),
        (_say(HEAD), False),
    ],
    ids=["nothing", "drips", "dropped", "no_http", "cut"],
)
def test_x1_a_peer_is_silent_where_not_even_a_head_comes_in_time(
    talk: Callable[[socket.socket, threading.Event], None], silent: bool
) -> None:
    limits = replace(LIMITS, timeout=0.3) if talk is _wait else replace(LIMITS, whole=0.4 if silent else 60.0)
    with answering(talk) as url, pytest.raises(Unavailable) as failed:
        Exchange("the Git host", limits=limits)("GET", url, {})
    assert isinstance(failed.value, PeerSilent) is silent


def test_x1_where_nobody_listens_the_peer_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
    with pytest.raises(PeerSilent, match="cannot be reached"):
        Exchange("the Git host", limits=LIMITS)("GET", url, {})


def test_x1_more_than_is_taken_is_no_answer() -> None:
    limits = ExchangeLimits(timeout=5.0, whole=20.0, answer_max=100)
    with (
        answering(lambda peer, _: peer.sendall(HEAD + b"x" * 5000)) as url,
        pytest.raises(Unavailable, match="more than 100 bytes"),
    ):
        Exchange("the issuer", limits=limits)("GET", url, {})

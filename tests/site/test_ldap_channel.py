"""One LDAP operation over a socket whose other side is the test: limits, and what is no answer (B07, B12)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from site_bundle.directory import messages
from site_bundle.directory.ber import ENUMERATED, OCTETS, SEQUENCE, element, integer
from site_bundle.directory.channel import Channel, ChannelError, DirectoryLimits

LIMITS = DirectoryLimits(answer_seconds=1, whole_seconds=5.0, answer_bytes=10_000)
RESULT = integer(0, ENUMERATED) + element(OCTETS) + element(OCTETS)
DONE = element(messages.DONE, RESULT)
ENTRY = element(messages.ENTRY, element(OCTETS, b"cn=a"), element(SEQUENCE))

Open = Callable[[DirectoryLimits], Channel]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, Open]]:
    ours, theirs = socket.socketpair()
    channels: list[Channel] = []

    def opened(limits: DirectoryLimits) -> Channel:
        channels.append(Channel(ours, limits))
        return channels[-1]

    yield theirs, opened
    for channel in channels:
        channel.close()
    ours.close()
    theirs.close()


def test_an_answer_of_several_messages_in_one_piece(pair: tuple[socket.socket, Open]) -> None:
    server, opened = pair
    server.sendall(messages.message(1, ENTRY) + messages.message(1, DONE) + messages.message(2, DONE)[:3])
    channel = opened(LIMITS)
    assert [tag for tag, _ in channel.ask(messages.who_am_i())] == [messages.ENTRY, messages.DONE]
    server.sendall(messages.message(2, DONE)[3:])
    assert channel.ask(messages.who_am_i()) == [(messages.DONE, RESULT)]
    sent = messages.message(1, messages.who_am_i()) + messages.message(2, messages.who_am_i())
    assert server.recv(1000) == sent
    channel.close()
    assert server.recv(1000) == messages.message(3, messages.UNBIND)
    assert server.recv(1000) == b""


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (b"HTTP/1.1 400", "no LDAP"),
        (b"\x30\x80", "no LDAP"),
        (messages.message(1, b"") + b"x" * 10, "no LDAP"),
        (messages.message(9, DONE), "another question"),
        (messages.message(0, element(messages.EXTENDED_RESPONSE, RESULT)), "disconnects"),
        (element(SEQUENCE, bytes(20_000)), "longer than 10000"),
        (b"".join(messages.message(1, ENTRY) for _ in range(2000)), "longer than 10000"),
    ],
)
def test_B07_what_is_no_answer(pair: tuple[socket.socket, Open], answer: bytes, found: str) -> None:
    server, opened = pair
    server.sendall(answer)
    with pytest.raises(ChannelError, match=found):
        opened(LIMITS).ask(messages.who_am_i())


@pytest.mark.parametrize("begun", [b"", messages.message(1, DONE)[:-1], messages.message(1, ENTRY)])
def test_B07_an_end_before_the_result(pair: tuple[socket.socket, Open], begun: bytes) -> None:
    server, opened = pair
    server.sendall(begun)
    server.shutdown(socket.SHUT_WR)
    with pytest.raises(ChannelError, match="ended the connection"):
        opened(LIMITS).ask(messages.who_am_i())


def test_B12_silence_and_a_trickle_both_end(pair: tuple[socket.socket, Open]) -> None:
    server, opened = pair
    server.sendall(messages.message(1, ENTRY))
    with pytest.raises(TimeoutError):
        opened(LIMITS).ask(messages.who_am_i())
    server.sendall(b"\x30")
    with pytest.raises(TimeoutError, match="did not end"):
        opened(DirectoryLimits(answer_seconds=1, whole_seconds=-1.0)).ask(messages.who_am_i())

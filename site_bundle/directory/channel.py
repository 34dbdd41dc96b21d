"""One socket to an LDAP server, one operation at a time: sent, then read to its end within limits of time and
size. Whatever goes wrong, the channel is of no use afterwards and its owner closes it.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from site_bundle.directory.ber import SEQUENCE, MalformedBerError, whole_length
from site_bundle.directory.messages import ENTRY, REFERENCE, UNBIND, message, read_message

Answer = list[tuple[int, bytes]]  # tag and content of each part, the result last


@dataclass(frozen=True, slots=True)
class DirectoryLimits:
    """Seconds and bytes."""

    connect_seconds: float = 5.0
    answer_seconds: int = 10  # silence allowed, and what the server may take for a search
    whole_seconds: float = 60.0  # one answer from request to result
    answer_bytes: int = 64 * 1024 * 1024


class ChannelError(OSError):
    """The other side ended the connection, or what it says is no answer to what was asked."""


class Channel:
    """Owns the connected socket `plain`. OSError (TimeoutError and ChannelError among them) from `ask`."""

    def __init__(self, plain: socket.socket, limits: DirectoryLimits) -> None:
        self._plain = plain
        self._limits = limits
        self._number = 0
        self._kept = bytearray()

    def ask(self, operation: bytes) -> Answer:
        """Sends `operation` and reads all parts of its answer."""
        self._number += 1
        deadline = time.monotonic() + self._limits.whole_seconds
        self._plain.settimeout(self._limits.answer_seconds)
        self._plain.sendall(message(self._number, operation))
        parts: Answer = []
        left = self._limits.answer_bytes
        while not parts or parts[-1][0] in {ENTRY, REFERENCE}:
            raw = self._message(left, deadline)
            left -= len(raw)
            try:
                number, tag, content = read_message(raw)
            except ValueError as error:
                raise ChannelError("an answer that is no LDAP") from error
            if number != self._number:
                # 0 is the server's notice that it disconnects (RFC 4511, 4.4.1).
                raise ChannelError(
                    "the server disconnects" if number == 0 else "an answer to another question"
                )
            parts.append((tag, content))
        return parts

    def close(self) -> None:
        """Says good-bye if that can be said at once, and closes the socket."""
        with suppress(OSError):
            self._plain.settimeout(0)
            self._plain.sendall(message(self._number + 1, UNBIND))
        self._plain.close()

    def _message(self, most: int, deadline: float) -> bytes:
        """The bytes of the next message, of at most `most`."""
        while True:
            try:
                size = whole_length(self._kept)
            except MalformedBerError as error:
                raise ChannelError("an answer that is no LDAP") from error
            if self._kept and self._kept[0] != SEQUENCE:
                raise ChannelError("an answer that is no LDAP")
            if size is not None and size > most:
                raise ChannelError(f"an answer longer than {self._limits.answer_bytes} bytes")
            if size is not None and len(self._kept) >= size:
                raw = bytes(self._kept[:size])
                del self._kept[:size]
                return raw
            if time.monotonic() > deadline:
                raise TimeoutError("the answer did not end in time")
            read = self._plain.recv(64 * 1024)
            if not read:
                raise ChannelError("the server ended the connection")
            self._kept += read

"""One HTTPS origin, called by one component: bytes out, bytes in, three outcomes (X1, I18).

The standard library's client: retries and redirects are not wanted here, little memory is (S10), so it is
imported by the process that calls, when it calls.

1. TLS 1.2 or newer against one CA file or the system's store; no proxy, no environment variable, is
   consulted.
2. A redirect is never followed: the credential goes to this origin alone (K12).
3. An answer is bounded in size and in whole time, not only between two reads.
4. Nothing is retried here: the caller decides when, from UnavailableError and its `retry_after`.
5. Each exchange has a connection to itself; one that is over is kept for the next. So there are as many as
   exchanges were ever under way at once, which is the caller's number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from site_bundle.kernel.errors import RefusedError, UnavailableError
from site_bundle.kernel.files import UntrustedInputError, read_input

if TYPE_CHECKING:
    import http.client
    import ssl


def load_client() -> None:
    """Imports what a call needs, for a process that may not be able to read it later."""
    import http.client  # noqa: F401
    import ssl  # noqa: F401


@dataclass(frozen=True, slots=True)
class HttpsLimits:
    """Seconds and bytes."""

    connect_seconds: float = 10.0
    read_seconds: float = 20.0  # silence allowed between two reads
    whole_seconds: float = 30.0  # one answer from request to last byte
    answer_bytes: int = 1024 * 1024
    problem_bytes: int = 16 * 1024
    authority_bytes: int = 1024 * 1024
    retry_after_seconds: float = 600.0  # the longest Retry-After obeyed


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is called, for codes and people: `prefix` of its codes, `title` in sentences, `profile` where the
    profile names it, `log` where a refusal is looked up, and the remedy of a status.
    """

    prefix: str
    title: str
    profile: str
    log: str
    remedies: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of any status; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0].strip()


class PeerUnavailableError(UnavailableError):
    """No answer, or one that says "later". `retry_after`: seconds the peer asked for, 0 when it did not."""

    def __init__(
        self, code: str, *, found: str, wanted: str = "", remedy: str = "", retry_after: float = 0.0
    ):
        super().__init__(code, found=found, wanted=wanted, remedy=remedy)
        self.retry_after = retry_after


class PeerRefusedError(RefusedError):
    """A definite 3xx or 4xx answer."""

    def __init__(self, code: str, *, status: int, found: str, wanted: str = "", remedy: str = ""):
        super().__init__(code, found=found, wanted=wanted, remedy=remedy)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Call:
    """What is asked; `wait`: seconds the peer may park it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None
    wait: float


class _IdleEndedError(Exception):
    """The other side had ended a connection that was kept."""


class HttpsOrigin:
    """One origin over kept connections. Threads may call it at once."""

    def __init__(
        self,
        *,
        peer: Peer,
        origin: str,
        ca_file: Path | None,
        limits: HttpsLimits,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`waiting` surrounds each exchange: nothing but waiting for the peer happens inside."""
        self._peer = peer
        self._origin = origin
        self._ca_file = ca_file
        self._limits = limits
        self._waiting = waiting
        self._idle: list[http.client.HTTPSConnection] = []

    def exchange(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        body: bytes | None = None,
        wait_seconds: float = 0.0,
    ) -> Answer:
        """The whole answer, whatever its status. `wait_seconds`: how long the peer may park it."""
        call = _Call(method, path, headers, body, wait_seconds)
        deadline = time.monotonic() + self._limits.whole_seconds + wait_seconds
        if (kept := self._kept()) is not None:
            try:
                return self._exchange(kept, call, deadline)
            except _IdleEndedError:
                pass  # and every call may be repeated (X7)
        return self._exchange(self._new(), call, deadline)

    def close(self) -> None:
        """Closes the idle connections; the next call opens a new one."""
        while (connection := self._kept()) is not None:
            connection.close()

    def _kept(self) -> http.client.HTTPSConnection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _exchange(self, connection: http.client.HTTPSConnection, call: _Call, deadline: float) -> Answer:
        import http.client

        kept = connection.sock is not None
        try:
            with self._waiting():
                if not kept:
                    connection.connect()
                try:
                    response = self._send(connection, call)
                except (http.client.RemoteDisconnected, ConnectionError):
                    if kept:
                        raise _IdleEndedError from None
                    raise
                raw = self._read(response, deadline)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from None
        except BaseException:
            connection.close()  # half an answer may still be on its way
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        names = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, names, raw)

    def _send(self, connection: http.client.HTTPSConnection, call: _Call) -> http.client.HTTPResponse:
        connection.sock.settimeout(self._limits.read_seconds + call.wait)
        connection.request(call.method, call.path, body=call.body, headers=dict(call.headers))
        return connection.getresponse()

    def _new(self) -> http.client.HTTPSConnection:
        """One that is not connected yet. Its CA file is read here, where nothing breaks the reading off."""
        import http.client

        parts = urlsplit(self._origin)
        return http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=self._limits.connect_seconds, context=self._tls()
        )

    def _tls(self) -> ssl.SSLContext:
        import ssl

        peer, ca_file = self._peer, self._ca_file
        try:
            cadata = _authority(ca_file, self._limits) if ca_file else None
            context = ssl.create_default_context(cadata=cadata)
        except UntrustedInputError as error:
            raise RefusedError(
                "ca_file_untrusted",
                found=str(error),
                wanted="a file that only root can change, in folders that only root can change, and no link:"
                f" who can change it can be {peer.title}",
                remedy="compare it with the hand-off, then put a copy of root there with mode 0644",
            ) from error
        except (OSError, ValueError) as error:
            raise UnavailableError(
                "ca_file_unreadable",
                found=f"{ca_file}: {getattr(error, 'strerror', None) or 'no certificate in it'}",
                wanted=f"the PEM file of the CA that signed the certificate of {peer.title}",
                remedy=f"correct {peer.profile}.ca_file in the profile",
            ) from error
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context

    def _read(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        """The whole body: bounded, until `deadline` (monotonic seconds)."""
        parts: list[bytes] = []
        size = 0
        while True:
            part = response.read1(64 * 1024)
            if not part:
                if response.length:
                    import http.client

                    raise http.client.IncompleteRead(b"", response.length)
                response.close()
                return b"".join(parts)
            size += len(part)
            if size > self._limits.answer_bytes:
                raise malformed_answer(f"an answer longer than {self._limits.answer_bytes} bytes")
            if time.monotonic() > deadline:
                raise PeerUnavailableError(
                    f"{self._peer.prefix}_slow",
                    found="the answer did not end in time",
                    remedy=f"look at the network and at {self._peer.log}",
                )
            parts.append(part)

    def _unreachable(self, error: Exception) -> PeerUnavailableError:
        import ssl

        kind = type(error).__name__
        if isinstance(error, ssl.SSLError):
            why = getattr(error, "verify_message", "") or getattr(error, "reason", None) or kind
            return PeerUnavailableError(
                f"{self._peer.prefix}_tls",
                found=f"{self._origin}: {why}",
                wanted="a certificate for this name, signed by the configured CA",
                remedy=f"compare {self._peer.profile} and ca_file in the profile with what is served there",
            )
        return PeerUnavailableError(
            f"{self._peer.prefix}_unreachable",
            found=f"{self._origin}: {getattr(error, 'strerror', None) or kind}",
            wanted="an answer over HTTPS",
            remedy=f"look at name resolution, the site's egress rules and {self._peer.log}",
        )


def malformed_answer(found: str, wanted: str = "an answer by docs/wire.md") -> PeerUnavailableError:
    """An answer that is not what was asked for is unavailable, never "nothing there" (X1)."""
    return PeerUnavailableError(
        "answer_malformed",
        found=found,
        wanted=wanted,
        remedy="compare the versions of both sides",
    )


def failure(
    peer: Peer, answer: Answer, limits: HttpsLimits, *, code: str = ""
) -> PeerUnavailableError | PeerRefusedError:
    """What an answer other than success means. RFC 9110: 408, 425, 429 and 5xx are "later", the rest is
    definite. `code`: the peer's own, if it gave one.
    """
    status = answer.status
    found = f"status {status}" + (f" {code}" if code else "")
    if status in {408, 425, 429} or status >= 500:
        return PeerUnavailableError(
            code or f"{peer.prefix}_unavailable",
            found=found,
            remedy="nothing to do here; it is tried again",
            retry_after=_retry_after(answer.headers.get("retry-after", ""), limits),
        )
    if 300 <= status < 400:
        return PeerRefusedError(
            f"{peer.prefix}_redirect",
            status=status,
            found=found,
            wanted=f"{peer.title} itself under its own origin",
            remedy=f"correct {peer.profile} in the profile: redirects are never followed",
        )
    fallback = {401: f"{peer.prefix}_unauthorized", 403: f"{peer.prefix}_forbidden"}
    return PeerRefusedError(
        code or fallback.get(status, f"{peer.prefix}_refused"),
        status=status,
        found=found,
        wanted="an accepted request",
        remedy=peer.remedies.get(status, f"read the log of {peer.log} for this time"),
    )


def _authority(ca_file: Path, limits: HttpsLimits) -> str:
    """The bytes that were judged are the bytes that are trusted (I18). Comments may be in any language."""
    text = read_input(ca_file, max_bytes=limits.authority_bytes).decode("ascii", "replace")
    if not text.strip():
        raise ValueError(f"{ca_file} is empty")  # which must never mean the system's store
    return text.replace("\ufffd", "?")


def _retry_after(text: str, limits: HttpsLimits) -> float:
    """Seconds only; a date would need the peer's clock to be ours."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        return 0.0
    return min(float(text), limits.retry_after_seconds)

"""One bounded HTTPS exchange for the adapters here: no redirect, no retry, no secret in an error."""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import urllib3

from central.execution.application.ports import PeerSilent
from central.kernel.errors import Unavailable


@dataclass(frozen=True, slots=True)
class ExchangeLimits:
    """Bounds of one exchange: seconds to connect and between bytes, seconds of an answer's head and of its
    body, bytes of a body.
    """

    timeout: float = 10.0
    whole: float = 30.0
    answer_max: int = 65_536


LIMITS: Final = ExchangeLimits()
AT_ONCE: Final = 16
"""Connections to a peer that are kept for the next exchange."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, media type without parameters, and body."""

    status: int
    media: str
    body: bytes


class Exchange:
    """A pool for one peer, which `name` calls in errors. Safe to share between threads."""

    def __init__(self, name: str, ca_file: str | None = None, *, limits: ExchangeLimits = LIMITS) -> None:
        self._name = name
        self._limits = limits
        self._pool = urllib3.PoolManager(
            ca_certs=ca_file, timeout=limits.timeout, retries=False, maxsize=AT_ONCE
        )
        self._pool.pool_classes_by_scheme = _pools(limits.whole)

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """The answer, whatever its status. `PeerSilent` where nobody answers, `Unavailable` for what is no
        whole answer: a connection that is dropped may be an idle one its peer had given up.
        """
        try:
            answer = self._pool.request(
                method, url, body=body, headers=dict(headers), redirect=False, preload_content=False
            )
        except urllib3.exceptions.ProtocolError as error:
            raise self.unavailable(f"drops the connection ({type(error).__name__})") from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            what = f"{self._name} cannot be reached ({type(error).__name__})"
            raise PeerSilent("unavailable", f"{what}; try again") from None
        try:
            read = self._read(answer)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self.unavailable(f"breaks its answer off ({type(error).__name__})") from None
        finally:
            answer.release_conn()
        if len(read) > self._limits.answer_max:
            raise self.unavailable(f"answers more than {self._limits.answer_max} bytes")
        media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return Answer(answer.status, media, read)

    def _read(self, answer: urllib3.BaseHTTPResponse) -> bytes:
        deadline = time.monotonic() + self._limits.whole
        read = b""
        while len(read) <= self._limits.answer_max:
            some = answer.read1(self._limits.answer_max + 1 - len(read), decode_content=True)
            if not some:
                break
            read += some
            if time.monotonic() > deadline:
                answer.close()
                raise self.unavailable(f"takes more than {self._limits.whole:g} s to answer")
        return read

    def unavailable(self, what: str) -> Unavailable:
        """What is raised for an answer that says nothing."""
        return Unavailable("unavailable", f"{self._name} {what}; try again")


def _pools(seconds: float) -> dict[str, type[urllib3.HTTPConnectionPool]]:
    """Pools whose answers begin within `seconds`: the time between two bytes bounds no head that drips."""

    class Plain(urllib3.connection.HTTPConnection):
        def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override] # as urllib3's own
            with _cut_after(seconds, self.sock):
                return super().getresponse()

    class Secured(urllib3.connection.HTTPSConnection):
        def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override] # as urllib3's own
            with _cut_after(seconds, self.sock):
                return super().getresponse()

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class SecuredPool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Secured

    return {"http": PlainPool, "https": SecuredPool}


@contextmanager
def _cut_after(seconds: float, connected: socket.socket) -> Iterator[None]:
    """Ends the connection under whoever waits for it by then. `OSError`: what was read so far is no head."""
    late = threading.Event()

    def cut() -> None:
        late.set()
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    if late.is_set():  # whatever the reader made of its connection's end
        raise TimeoutError(f"no whole head within {seconds:g} s")

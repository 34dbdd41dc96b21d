"""`GitRefs` over smart HTTP: `GET <repository>/info/refs?service=git-upload-pack` (gitprotocol-http(5)).

Only a complete advertisement of the right service proves anything: a ref it does not list is absent. A status
other than 200, another media type, a cut or malformed answer is `Unavailable` (X1).
"""

import base64
import re
from collections.abc import Iterator
from typing import Final

from central.execution.adapters.exchange import Exchange, ExchangeLimits
from central.execution.application.ports import RepositoryCredential

MEDIA: Final = "application/x-git-upload-pack-advertisement"
SERVICE: Final = b"# service=git-upload-pack"
LIMITS: Final = ExchangeLimits(timeout=20.0, answer_max=16 * 1024 * 1024)
"""About 200,000 refs."""
_REF: Final = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) ([!-~]+)")


class Malformed(ValueError):
    """The answer is no advertisement of refs."""


class SmartHttpRefs:
    """The adapter. Safe to share between threads."""

    def __init__(self, ca_file: str | None = None, *, limits: ExchangeLimits = LIMITS) -> None:
        self._exchange = Exchange("the Git host", ca_file, limits=limits)

    def commit_of(self, url: str, ref: str, credential: RepositoryCredential) -> str | None:
        """See `GitRefs`."""
        pair = base64.b64encode(f"{credential.username}:{credential.password}".encode()).decode()
        address = f"{url}/info/refs?service=git-upload-pack"
        answer = self._exchange("GET", address, {"Authorization": f"Basic {pair}", "Accept": MEDIA})
        if answer.status != 200 or answer.media != MEDIA:
            raise self._exchange.unavailable(f"answers {answer.status} {answer.media!r} to a list of refs")
        try:
            return advertised(answer.body).get(ref)
        except Malformed as error:
            raise self._exchange.unavailable(f"answers no list of refs: {error}") from None


def advertised(body: bytes) -> dict[str, str]:
    """Each advertised ref with its object. Raises `Malformed` for what is not a whole advertisement."""
    lines = _packets(body)
    if next(lines, None) != SERVICE or next(lines, b"") is not None:
        raise Malformed("it does not begin with the service")
    refs: dict[str, str] = {}
    ended = False
    for line in lines:
        if ended:
            raise Malformed("something follows its end")
        if line is None:
            ended = True
            continue
        found = _REF.fullmatch(line.partition(b"\0")[0])
        if found is None:
            raise Malformed("a line names no ref")
        refs[found[2].decode()] = found[1].decode()
    if not ended:
        raise Malformed("it was cut")
    return refs


def _packets(body: bytes) -> Iterator[bytes | None]:
    """Packet lines without their newline, None for a flush (gitprotocol-common(5))."""
    at = 0
    while at < len(body):
        head = body[at : at + 4]
        if re.fullmatch(rb"[0-9a-f]{4}", head) is None:
            raise Malformed("a packet has no length")
        size = int(head, 16)
        if size == 0:
            at += 4
            yield None
            continue
        if size < 4 or at + size > len(body):
            raise Malformed("a packet is cut")
        yield body[at + 4 : at + size].removesuffix(b"\n")
        at += size

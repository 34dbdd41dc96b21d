"""One bounded HTTPS exchange for the adapters here: no redirect, no retry, no secret in an error."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import urllib3

from central.kernel.errors import Unavailable


@dataclass(frozen=True, slots=True)
class ExchangeLimits:
    """Bounds of one exchange: seconds to connect and between bytes, bytes of an answer."""

    timeout: float = 10.0
    answer_max: int = 65_536


LIMITS: Final = ExchangeLimits()


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
        self._pool = urllib3.PoolManager(ca_certs=ca_file, timeout=limits.timeout, retries=False, maxsize=4)

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """The answer, whatever its status. `Unavailable` if there is none, or one without end."""
        try:
            answer = self._pool.request(
                method, url, body=body, headers=dict(headers), redirect=False, preload_content=False
            )
            try:
                read = answer.read(self._limits.answer_max + 1, decode_content=True)
            finally:
                answer.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self.unavailable(f"cannot be reached ({type(error).__name__})") from None
        if len(read) > self._limits.answer_max:
            raise self.unavailable(f"answers more than {self._limits.answer_max} bytes")
        media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return Answer(answer.status, media, read)

    def unavailable(self, what: str) -> Unavailable:
        """What is raised for everything that is no answer."""
        return Unavailable("unavailable", f"{self._name} {what}; try again")

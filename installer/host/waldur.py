"""Asks Waldur's API as the reporter will (I15): its token, verified TLS, GET alone, complete lists or
nothing.

A list is complete when as many rows came as ``X-Result-Count`` says, the same on every page; there is no
snapshot behind its pages (waldur.md §2).
"""

import re
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlencode

import msgspec

from installer.domain.strict_json import StrictJsonError, decode_array, decode_object
from installer.domain.waldur import Me, Offering, Pool, Version
from installer.host.https import Answer, Unanswered, get

PAGE_SIZE = 100
PAGES = 10
OFFERINGS = "marketplace-provider-offerings/"
_ME_FIELDS = ("username", "is_staff", "is_support", "is_active", "permissions")
_OFFERING_FIELDS = ("uuid", "name", "state", "customer_uuid", "components")
_STATUS_WORDS = {
    400: "it does not understand the question",
    401: "it does not know the token, or the token has ended",
    403: "the token may not read this",
    404: "not there, or not visible to the token",
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaldurApi:
    """One API with one token. ``url`` ends in ``/api/``; ``authority`` as in ``https.get``."""

    url: str
    authority: bytes | None
    token: bytes = field(repr=False)
    timeout: float
    limit: int

    def version(self) -> Version | Unanswered:
        """Which Waldur this is."""
        return self._one("version/", Version)

    def me(self) -> Me | Unanswered:
        """Whose token this is, and that user's roles."""
        return self._one(f"users/me/?{_fields(_ME_FIELDS)}", Me)

    def offering(self, uuid: str) -> Offering | Unanswered:
        """One offering with its components."""
        path = f"{OFFERINGS}{uuid.replace('-', '')}/"
        return self._one(f"{path}?{_fields(_OFFERING_FIELDS)}", Offering)

    def offerings_of(self, customer: str) -> tuple[Offering, ...] | Unanswered:
        """Every offering of a provider."""
        fields = [("field", name) for name in _OFFERING_FIELDS[:-1]]
        return self._all(OFFERINGS, [("customer_uuid", customer), *fields], Offering)

    def pool_of(self, uuid: str) -> Pool | Unanswered:
        """The pool of POSIX ids an offering draws from; none is a definite 404."""
        return self._one(f"{OFFERINGS}{uuid.replace('-', '')}/effective_posix_id_pool/", Pool)

    def _one(self, path: str, kind: type[T]) -> T | Unanswered:
        answer = self._get(path)
        if isinstance(answer, Unanswered):
            return answer
        try:
            return msgspec.convert(decode_object(answer.body), kind, strict=True)
        except (StrictJsonError, msgspec.ValidationError) as error:
            return _strange(path, error)

    def _all(self, path: str, query: list[tuple[str, str]], kind: type[T]) -> tuple[T, ...] | Unanswered:
        rows: list[T] = []
        counts: set[str] = set()
        for page in range(1, PAGES + 1):
            paged = [*query, ("page", str(page)), ("page_size", str(PAGE_SIZE))]
            answer = self._get(f"{path}?{urlencode(paged)}")
            if isinstance(answer, Unanswered):
                return answer
            try:
                rows += msgspec.convert(decode_array(answer.body), list[kind], strict=True)  # type: ignore[valid-type]
            except (StrictJsonError, msgspec.ValidationError) as error:
                return _strange(path, error)
            counts.add(answer.headers.get("x-result-count", ""))
            count = next(iter(counts))
            if len(counts) > 1 or not re.fullmatch(r"[0-9]{1,9}", count):
                return Unanswered(why=f"{path} changed while it was read, or gives no count", definite=False)
            if len(rows) >= int(count):
                break
        if len(rows) != int(count):
            return Unanswered(why=f"{path} gives {len(rows)} rows of {count}", definite=False)
        return tuple(rows)

    def _get(self, path: str) -> Answer | Unanswered:
        headers = {"Authorization": f"Token {self.token.decode('ascii')}", "Accept": "application/json"}
        answer = get(self.url + path, self.authority, headers, timeout=self.timeout, limit=self.limit)
        if isinstance(answer, Unanswered):
            return answer
        if answer.status != 200:
            words = _STATUS_WORDS.get(answer.status, "no answer to use")
            return Unanswered(why=f"HTTP {answer.status}: {words}", definite=answer.status in _STATUS_WORDS)
        if answer.content_type != "application/json":
            return Unanswered(why="its answer is no JSON", definite=True)
        return answer


def _fields(names: tuple[str, ...]) -> str:
    """The query that trims an answer to ``names``."""
    return urlencode([("field", name) for name in names])


def _strange(path: str, error: Exception) -> Unanswered:
    return Unanswered(why=f"{path.partition('?')[0]} is not as Waldur 8.1.3 gives it: {error}", definite=True)

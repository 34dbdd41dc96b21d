"""The offering's resources at Waldur 8.1.3: GET alone, every page, checked (docs/wire.md "Waldur").

1. A walk counts only when every page names the same X-Result-Count and the rows are that many and distinct;
   else it begins again, for rows move between pages (design: no snapshot).
2. A row that breaks its form, or says something this release does not know, is unreadable alone.
3. A token that lost its role is shown an empty list: the offering itself must be visible too (X1).
4. UUIDs are compared as UUIDs: Waldur writes them without dashes; dashes and case make no difference, and any
   other form is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode
from uuid import UUID

from site_bundle.kernel.credential import Credential
from site_bundle.kernel.documents import Named, Open, ShapeError, read_document
from site_bundle.kernel.https import (
    Answer,
    HttpsLimits,
    HttpsOrigin,
    Peer,
    PeerRefusedError,
    failure,
    malformed_answer,
)
from site_bundle.kernel.strict_json import MalformedJsonError, parse_list
from site_bundle.reporter.domain.sources import Listing, Row, RowState

WALDUR = Peer(
    prefix="waldur",
    title="Waldur",
    profile="waldur.api_url",
    log="Waldur",
    remedies={
        401: "the token is unknown, expired or mistyped: replace the credential waldur-token",
        403: "the token's user may not read the offering's resources",
        404: "correct waldur.api_url in the profile: it ends in /api/",
    },
)
USAGE_COMPONENT = "node"
_UUID = re.compile(r"[0-9A-Fa-f]{32}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
# One word of printable ASCII: another spelling of an account is another account, or none, and is never
# looked for in Slurm (E21, E23).
_ACCOUNT = re.compile(r"[!-{}~]{1,128}")
_FIELDS = ("uuid", "state", "backend_id", "paused", "project_uuid", "offering_uuid", "current_usages")


@dataclass(frozen=True, slots=True)
class WaldurLimits:
    """`page_rows`: Waldur caps it at 300."""

    page_rows: int = 100
    rows: int = 100_000
    walks: int = 3


@dataclass(frozen=True, slots=True)
class RowBody(Open):
    uuid: str
    state: Literal["Creating", "OK", "Updating", "Terminating", "Terminated", "Erred"]
    backend_id: Annotated[str, Named("backend_id")]
    paused: bool
    project_uuid: Annotated[str, Named("project_uuid")]
    offering_uuid: Annotated[str, Named("offering_uuid")]
    current_usages: Annotated[Any, Named("current_usages")] = None


class WaldurResources:
    """The port `Provider`."""

    def __init__(
        self,
        origin: HttpsOrigin,
        *,
        prefix: str,
        token: Credential,
        offering_id: UUID,
        http_limits: HttpsLimits,
        limits: WaldurLimits,
    ) -> None:
        """`prefix`: the path of the API, ending in `/api/`."""
        self._origin = origin
        self._prefix = prefix
        self._token = token
        self._offering_id = offering_id
        self._http_limits = http_limits
        self._limits = limits

    def resources(self) -> Listing:
        for _ in range(self._limits.walks):
            rows = self._walk()
            if rows is not None:
                self._prove_visible()
                return self._listing(rows)
        raise malformed_answer(
            f"rows moved during each of {self._limits.walks} walks", "one X-Result-Count on every page"
        )

    def ask(self) -> int:
        """How many resources the offering has: one row is read, for `doctor`."""
        count, _ = self._page(1, rows=1)
        self._prove_visible()
        return count

    def _prove_visible(self) -> None:
        path = f"marketplace-provider-offerings/{self._offering_id.hex}/?field=uuid"
        answer = self._get(path)
        if answer.status in {403, 404}:
            raise PeerRefusedError(
                "waldur_offering_hidden",
                status=answer.status,
                found=f"the offering {self._offering_id} is not shown to this token",
                wanted="a role on the offering or its provider: without one its resources are hidden as well",
                remedy="give the token's user that role, or correct waldur.offering_uuid in the profile",
            )
        if answer.status != 200:
            raise failure(WALDUR, answer, self._http_limits)

    def _walk(self) -> list[Any] | None:
        """Every row, or None when the pages do not belong together."""
        size = self._limits.page_rows
        count, rows = self._page(1, rows=size)
        if count > self._limits.rows:
            raise malformed_answer(f"an offering of {count} resources", f"at most {self._limits.rows}")
        for page in range(2, (count + size - 1) // size + 1):
            again, more = self._page(page, rows=size)
            if again != count:
                return None
            rows += more
        if not all(isinstance(row, dict) and isinstance(row.get("uuid"), str) for row in rows):
            # Which one it is cannot be said, so nothing can be said of any.
            raise malformed_answer("a row without its uuid", "Waldur's own answer")
        return rows if len(rows) == count == len({_same(row["uuid"]) for row in rows}) else None

    def _page(self, page: int, *, rows: int) -> tuple[int, list[Any]]:
        asked = [
            ("offering_uuid", self._offering_id.hex),
            ("page", page),
            ("page_size", rows),
            ("o", "created"),
        ]
        query = urlencode([*asked, *(("field", name) for name in _FIELDS)])
        answer = self._get(f"marketplace-provider-resources/?{query}")
        if answer.status == 404 and page > 1:
            return -1, []  # the list has become shorter
        if answer.status != 200:
            raise failure(WALDUR, answer, self._http_limits)
        return _count(answer.headers), _rows(answer, self._http_limits.answer_bytes)

    def _get(self, path: str) -> Answer:
        headers = {
            "Authorization": f"Token {self._token.read()}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "pharos-site-bundle",
        }
        return self._origin.exchange("GET", f"{self._prefix}{path}", headers)

    def _listing(self, raw: list[Any]) -> Listing:
        rows: list[Row] = []
        unreadable: list[str] = []
        for item in raw:
            try:
                rows.append(self._row(read_document(item, RowBody)))
            except (ShapeError, ValueError):
                name = item["uuid"][:40]
                unreadable.append(name if name.isprintable() else "?")
        return Listing(tuple(rows), tuple(unreadable))

    def _row(self, body: RowBody) -> Row:
        if _uuid(body.offering_uuid) != self._offering_id:
            raise ValueError("a row of another offering")
        account = body.backend_id.lower()  # as Slurm stores it (W02)
        if account and not _ACCOUNT.fullmatch(account):
            raise ValueError("a backend id that is no account")
        return Row(
            resource_id=_uuid(body.uuid),
            project_id=_uuid(body.project_uuid),
            account=account or None,
            state=RowState(body.state.lower()),
            paused=body.paused,
            used_node_hours=_used(body.current_usages),
        )


def _uuid(text: str) -> UUID:
    """ValueError for what Python's UUID takes besides: braces, URNs, other scripts' digits (D13, E23)."""
    if not _UUID.fullmatch(text):
        raise ValueError("a UUID is wanted")
    return UUID(text)


def _same(text: str) -> str:
    """One key for all spellings of a UUID."""
    return text.replace("-", "").lower()


def _count(headers: Mapping[str, str]) -> int:
    text = headers.get("x-result-count", "")
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise malformed_answer("a list without X-Result-Count", "Waldur's own answer")
    return int(text)


def _rows(answer: Answer, max_bytes: int) -> list[Any]:
    encoding = answer.headers.get("content-encoding", "identity")
    if answer.media_type != "application/json" or encoding != "identity":
        raise malformed_answer(
            f"a list as {answer.media_type[:40]}, {encoding[:40]}", "plain application/json"
        )
    try:
        return parse_list(answer.body, max_bytes=max_bytes)
    except MalformedJsonError as error:
        raise malformed_answer(f"a list that is {error}", "a JSON list") from error


def _used(usages: object) -> str | None:
    """The month's node-hours, as the digits Waldur wrote: a number, or a text in other places."""
    value = usages.get(USAGE_COMPONENT) if isinstance(usages, dict) else None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number or isinstance(value, str) else None

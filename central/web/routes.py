"""The page's paths, GET and HEAD alone. No login: it listens on loopback, and the Host must name it so."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Final
from uuid import UUID

from flask import Blueprint, Response, request

from central.kernel.http import read_query
from central.kernel.problems import NOT_FOUND, QUERY_INVALID, FieldError, Problem
from central.kernel.times import Clock
from central.web import pages
from central.web.known import Known
from central.web.model import Page
from central.web.problems import HOST_REFUSED
from central.web.render import HEADERS, Renderer

_LOOPBACK: Final = re.compile(r"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_AFTER_MAX: Final = 512
_MEMBER_MAX: Final = 255


def require_loopback_host() -> None:
    """Refuses a request under any other name: a name of somebody else's that leads to this machine would
    let a page of theirs read this one (DNS rebinding).
    """
    if _LOOPBACK.fullmatch(request.headers.get("Host", "")) is None:
        raise Problem(HOST_REFUSED, "open it as http://localhost:PORT/ or http://127.0.0.1:PORT/")


@dataclass(frozen=True, slots=True)
class OverviewRoutes:
    """The routes. `known` are the reads, `clock` is asked once a request."""

    known: Known
    renderer: Renderer
    clock: Clock

    def blueprint(self) -> Blueprint:
        """Ready to be mounted."""
        blueprint = Blueprint("overview", __name__)
        rules: dict[str, Callable[..., Response]] = {
            "/": self.everything,
            "/sites/<site>/<name>": self.one_list,
            "/sites/<site>/accounts/<member>": self.account,
            "/allocations/<uuid:ident>": self.allocation,
            "/keys/<uuid:ident>": self.key,
            "/runs/<uuid:ident>": self.run,
            "/static/overview.css": self.style,
        }
        for rule, view in rules.items():
            blueprint.add_url_rule(rule, view.__name__, view, methods=["GET"])
        return blueprint

    def everything(self) -> Response:
        """The platform and every Site."""
        read_query()
        return self.renderer.page(pages.everything(self.known, self.clock()))

    def one_list(self, site: str, name: str) -> Response:
        """A Site's list, a page at a time."""
        self._require_site(site)
        if name not in pages.LISTS:
            raise Problem(NOT_FOUND, "a Site has no such list")
        after = read_query("after").text("after", max_length=_AFTER_MAX)
        try:
            page = pages.one_list(self.known, site, name, after, self.clock())
        except ValueError:
            fault = FieldError("after", "no place in this list")
            raise Problem(
                QUERY_INVALID, "query parameter after: begin at the first page", errors=[fault]
            ) from None
        return self.renderer.page(page)

    def account(self, site: str, member: str) -> Response:
        """One member's account and keys at a Site."""
        self._require_site(site)
        read_query()
        if len(member) > _MEMBER_MAX:
            raise Problem(NOT_FOUND, "no member has so long a name")
        return self._page(lambda now: pages.account(self.known, site, member, now))

    def allocation(self, ident: UUID) -> Response:
        """One allocation."""
        read_query()
        return self._page(lambda now: pages.allocation(self.known, ident, now))

    def key(self, ident: UUID) -> Response:
        """One key."""
        read_query()
        return self._page(lambda now: pages.key(self.known, ident, now))

    def run(self, ident: UUID) -> Response:
        """One Run."""
        read_query()
        return self._page(lambda now: pages.run(self.known, ident, now))

    def style(self) -> Response:
        """The one style sheet."""
        text = resources.files("central.web").joinpath("static", "overview.css").read_text(encoding="utf-8")
        return Response(text, content_type="text/css; charset=utf-8", headers=HEADERS)

    def _page(self, read: Callable[[datetime], Page | None]) -> Response:
        page = read(self.clock())
        if page is None:
            raise Problem(NOT_FOUND, "nothing of this id is known; it may never have been reported")
        return self.renderer.page(page)

    def _require_site(self, site: str) -> None:
        if site not in self.known.sites:
            raise Problem(NOT_FOUND, "the platform has no such Site")

"""Pages as HTML: autoescaped, no script, nothing from elsewhere (docs/adr/0013)."""

from dataclasses import dataclass
from typing import Final

from flask import Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from central.kernel.observability import Metrics, bound_fields
from central.kernel.problems import Problem
from central.web.model import Page

MEDIA_TYPE: Final = "text/html"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
"""On every answer; `Cache-Control: no-store` and `nosniff` come from the kernel."""


@dataclass(frozen=True, slots=True)
class Renderer:
    """The templates of this package."""

    environment: Environment

    @classmethod
    def load(cls) -> "Renderer":
        """Every value is escaped; a name a template uses and nobody gave is an error."""
        return cls(
            Environment(
                loader=PackageLoader("central.web"),
                autoescape=True,
                undefined=StrictUndefined,
                trim_blocks=True,
                lstrip_blocks=True,
            )
        )

    def page(self, page: Page) -> Response:
        """The page, 503 where nothing of it could be read."""
        text = self.environment.get_template("page.html").render(page=page)
        return _html(text, page.status)

    def problem(self, problem: Problem, metrics: Metrics) -> Response:
        """A refusal as a page, counted."""
        metrics.problems.labels(problem.code).inc()
        text = self.environment.get_template("problem.html").render(
            problem=problem, request_id=bound_fields().get("requestId")
        )
        response = _html(text, problem.status)
        response.headers.extend(problem.headers)
        return response


def _html(text: str, status: int) -> Response:
    return Response(text, status=status, content_type=f"{MEDIA_TYPE}; charset=utf-8", headers=HEADERS)

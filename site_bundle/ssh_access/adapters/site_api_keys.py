"""The ssh-access half of the Site API: the grant, the changes, the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from site_bundle.kernel.site_api import SiteApi, SiteApiRefusedError, SiteApiUnavailableError
from site_bundle.ssh_access.adapters.wire import ChangesBody, GrantBody, ReceiptsBody
from site_bundle.ssh_access.application.check_self import Grant
from site_bundle.ssh_access.application.report_results import Receipt, Report
from site_bundle.ssh_access.domain.feed import Page, PositionUnknownError

T = TypeVar("T")

_PREFIX = "/v1/site/ssh-access"


class SiteApiKeys:
    """ChangesFeed, ResultsApi and GrantApi over one client. An answer that breaks a rule of docs/wire.md is
    unavailable.
    """

    def __init__(self, api: SiteApi) -> None:
        self._api = api

    def read(self, *, after: int, wait: int, limit: int) -> Page:
        path = f"{_PREFIX}/changes?after={after}&wait={wait}&limit={limit}"
        try:
            body = self._api.get(path, ChangesBody, wait_seconds=wait)
        except SiteApiRefusedError as error:
            # Every history knows its beginning: said of 0 it is a fault of central's, not a history.
            if error.status == 409 and error.code == "feed_position_unknown" and after > 0:
                raise PositionUnknownError from error
            raise
        if body.after != after or len(body.changes) > limit:
            raise _malformed("an answer to another question")
        return _checked(body.page)

    def send(self, report: Report) -> tuple[Receipt, ...]:
        body = self._api.post(f"{_PREFIX}/results", report.body, ReceiptsBody)
        return _checked(lambda: body.of(report.changes))

    def grant(self) -> Grant:
        return _checked(self._api.get(f"{_PREFIX}/grant", GrantBody).grant)


def _checked(make: Callable[[], T]) -> T:
    try:
        return make()
    except ValueError as error:
        raise _malformed(str(error)) from error


def _malformed(found: str) -> SiteApiUnavailableError:
    return SiteApiUnavailableError(
        "answer_malformed",
        found=found,
        wanted="an answer by docs/wire.md",
        remedy="compare the versions of central and of this release",
    )

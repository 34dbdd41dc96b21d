"""The Site intake: reports out, members and retained accounts in (docs/wire.md "Site intake")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from site_bundle.kernel.https import Peer, PeerRefusedError, PeerUnavailableError, malformed_answer
from site_bundle.kernel.site_api import SiteApi
from site_bundle.kernel.strict_json import parse_object
from site_bundle.reporter.adapters.wire import (
    MAX_ACCOUNTS_BYTES,
    AccountsReceiptBody,
    MembersBody,
    OutcomesBody,
    RetainedListBody,
)
from site_bundle.reporter.application.make_reports import REPORTS
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.application.send_reports import Answered
from site_bundle.reporter.domain.allocation import allocation_id
from site_bundle.reporter.domain.sources import Project, Retained

T = TypeVar("T")
PROJECT_UNKNOWN = "project_unknown"
INSTANCE_DIFFERS = "instance_differs"
INTAKE = Peer(
    prefix="intake",
    title="the Site intake",
    profile="intake.url",
    log="central",
    remedies={
        401: "the intake key is unknown or was replaced at central: replace the credential intake-key",
        403: "the key is not an intake key",
        404: "the key is another Site's, or central has none for this Site: compare site and key",
        406: "central speaks no schema this release knows: upgrade one of the two",
    },
)


class IntakeClient:
    """The ports `Platform` and `Intake`."""

    def __init__(self, api: SiteApi, *, site: str, instance: str) -> None:
        self._api = api
        self._site = site
        self._instance = instance

    def project(self, provider_project: UUID) -> Project | None:
        try:
            body = self._api.get(self._path(f"members?providerProjectRef={provider_project}"), MembersBody)
        except PeerRefusedError as error:
            if error.status == 404 and error.code == PROJECT_UNKNOWN:
                return None
            raise
        return _checked(body.project)

    def retained(self) -> tuple[Retained, ...]:
        body = self._api.get(self._path("retained-accounts"), RetainedListBody)
        return _checked(lambda: body.checked(self._site))

    def send(self, report: Report) -> Answered:
        path = self._path(report.kind)
        if report.kind != REPORTS:
            receipt = self._api.post(path, report.body, AccountsReceiptBody)
            received = _checked(lambda: receipt.checked(report.report_id))
            return Answered(received, Counter({receipt.outcome: 1}))
        outcomes = self._api.post(path, report.body, OutcomesBody)
        received = _checked(lambda: outcomes.checked(report.report_id))
        sent = parse_object(report.body, max_bytes=MAX_ACCOUNTS_BYTES)["resources"]
        if [item["resourceId"] for item in sent] != [str(item.resource_id) for item in outcomes.outcomes]:
            raise malformed_answer("outcomes that are not those of the report, in its order")
        counted = Counter(item.code or item.outcome for item in outcomes.outcomes)
        for item in outcomes.outcomes:
            own = allocation_id(self._instance, item.resource_id)
            if item.allocation_id is not None and item.allocation_id != own:
                counted[INSTANCE_DIFFERS] += 1
        return Answered(received, counted)

    def _path(self, rest: str) -> str:
        return f"/resource-provisioning/{self._site}/{rest}"


def _checked(make: Callable[[], T]) -> T:
    try:
        return make()
    except ValueError as error:
        raise _malformed(error) from error


def _malformed(error: ValueError) -> PeerUnavailableError:
    return malformed_answer(str(error))

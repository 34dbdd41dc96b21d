"""The Site intake: reports out, members and retained accounts in (docs/wire.md "Site intake")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.kernel.https import Peer, PeerUnavailableError, malformed_answer
from site_bundle.kernel.site_api import SiteApi
from site_bundle.kernel.strict_json import parse_object
from site_bundle.reporter.adapters.wire_lists import (
    MAX_PROJECTS,
    PROJECT_UNKNOWN,
    ProjectMembersBody,
    RetainedListBody,
    encode_projects_asked,
)
from site_bundle.reporter.adapters.wire_reports import (
    MAX_ACCOUNTS_BYTES,
    AccountsReceiptBody,
    OutcomesBody,
    SetOutcomesBody,
)
from site_bundle.reporter.application.make_reports import ACCOUNT_SETS, ACCOUNTS, subject_of
from site_bundle.reporter.application.ports import Report
from site_bundle.reporter.application.send_reports import Answered
from site_bundle.reporter.domain.allocation import allocation_id
from site_bundle.reporter.domain.sources import Project, Retained

T = TypeVar("T")
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

    def projects(self, wanted: Sequence[UUID]) -> Mapping[UUID, Project | SiteError | None]:
        asked = wanted[:MAX_PROJECTS]
        body = self._api.post(self._path("project-members"), encode_projects_asked(asked), ProjectMembersBody)
        answers = _checked(lambda: body.checked([str(one) for one in asked]))
        return {
            one: answer if not isinstance(answer, str) else None if answer == PROJECT_UNKNOWN else _untold()
            for one, answer in zip(asked, answers, strict=False)  # the first ones
        }

    def retained(self) -> tuple[Retained, ...]:
        body = self._api.get(self._path("retained-accounts"), RetainedListBody)
        return _checked(lambda: body.checked(self._site))

    def send(self, report: Report) -> Answered:
        path = self._path(report.kind)
        if report.kind == ACCOUNT_SETS:
            told = self._api.post(path, report.body, SetOutcomesBody)
            received = _checked(lambda: told.checked(report.report_id))
            if report.subjects != tuple(subject_of(item.allocation_id) for item in told.outcomes):
                raise malformed_answer("outcomes that are not those of the report, in its order")
            return Answered(received, Counter(item.code or item.outcome for item in told.outcomes))
        if report.kind == ACCOUNTS:
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


def _untold() -> SiteError:
    return UnavailableError(
        "unavailable",
        found="central cannot tell the members of a Project now",
        wanted="the list of every Project",
        remedy="nothing to do here; if it stays so, read central's log",
    )


def _malformed(error: ValueError) -> PeerUnavailableError:
    return malformed_answer(str(error))

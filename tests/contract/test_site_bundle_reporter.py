"""The Site's half of the intake's calls: every golden read and written byte for byte (X10)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from site_bundle.kernel.documents import read_document, write_document
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object
from site_bundle.kernel.times import parse_time
from site_bundle.reporter.adapters.waldur_resources import RowBody
from site_bundle.reporter.adapters.wire_lists import (
    ProjectMembersBody,
    RetainedListBody,
    encode_projects_asked,
)
from site_bundle.reporter.adapters.wire_reports import (
    AccountBody,
    AccountsBody,
    AccountSetsBody,
    AccountsReceiptBody,
    OutcomesBody,
    ReportBody,
    SetEncoding,
    SetOutcomesBody,
    encode_report,
)
from site_bundle.reporter.domain.accounts import Account
from site_bundle.reporter.domain.allocation import allocation_id
from site_bundle.reporter.domain.decide import ResourceReport
from site_bundle.reporter.domain.marker import Identity
from site_bundle.reporter.domain.sources import RowState
from site_bundle.reporter.domain.verdict import Act, rule_of
from tests.contract.goldens import Refused, Valid, canonical, load

MAX = 8 << 20
READ: dict[str, type[object]] = {
    "project-members": ProjectMembersBody,
    "account-sets-outcomes": SetOutcomesBody,
    "retained-accounts": RetainedListBody,
    "allocation-report-outcomes": OutcomesBody,
    "account-report-receipt": AccountsReceiptBody,
}
SENT = {
    "allocation-report-outcomes": UUID("00000000-0000-4000-8000-000000000501"),
    "account-sets-outcomes": UUID("00000000-0000-4000-8000-000000000502"),
    "account-report-receipt": UUID("00000000-0000-4000-8000-000000000502"),
}


def read(name: str, raw: bytes) -> object:
    """What the adapters make of an answer."""
    body = decode_object(raw, READ[name], max_bytes=MAX)
    if isinstance(body, ProjectMembersBody):
        body.checked([item.provider_project_ref for item in body.projects])
    elif isinstance(body, RetainedListBody):
        body.checked("slurm")
    elif isinstance(body, OutcomesBody | SetOutcomesBody | AccountsReceiptBody):
        body.checked(SENT[name])
    return body


def rows(*names: str) -> list[object]:
    return [pytest.param(name, row, id=f"{name}-{row.name}") for name in names for row in load(name).valid]


def refusals(*names: str) -> list[object]:
    return [pytest.param(name, row, id=f"{name}-{row.name}") for name in names for row in load(name).refused]


@pytest.mark.parametrize(("name", "row"), rows(*READ))
def test_x10_answers_are_read_and_written_alike(name: str, row: Valid) -> None:
    assert write_document(read(name, row.canonical)) == row.canonical


@pytest.mark.parametrize(("name", "row"), refusals(*READ))
def test_x1_broken_answers_are_refused(name: str, row: Refused) -> None:
    """`answer_malformed`: unavailable, never "nothing there"; a list cut short keeps every account (S11)."""
    assert row.code == "answer_malformed"
    with pytest.raises((MalformedJsonError, ValueError)):
        read(name, row.raw)


@pytest.mark.parametrize(("name", "row"), rows("allocation-report"))
def test_p2_reports_are_written_as_the_golden(name: str, row: Valid) -> None:
    body = decode_object(row.canonical, ReportBody, max_bytes=MAX)
    resources = [
        ResourceReport(
            item.resource_id,
            UUID(item.provider_project_ref),
            item.native_name,
            RowState(item.state),
            item.paused,
            item.configured,
            item.applied,
            item.used,
        )
        for item in body.resources
    ]
    offering = body.resources[0].offering_id if body.resources else UUID(int=0)
    assert encode_report(body.report_id, parse_time(body.observed_at), offering, resources) == row.canonical


@pytest.mark.parametrize(("name", "row"), rows("account-report"))
def test_p21_account_reports_are_written_as_the_golden(name: str, row: Valid) -> None:
    body = decode_object(row.canonical, AccountsBody, max_bytes=MAX)
    time = parse_time(body.observed_at)
    made = SetEncoding().alone(body.report_id, time, body.allocation_id, accounts_of(body.accounts))
    assert made == row.canonical


@pytest.mark.parametrize(("name", "row"), rows("account-sets"))
def test_p12_reports_of_many_sets_are_written_as_the_golden(name: str, row: Valid) -> None:
    body = decode_object(row.canonical, AccountSetsBody, max_bytes=MAX)
    sets = [SetEncoding().one(each.allocation_id, accounts_of(each.accounts)) for each in body.sets]
    assert SetEncoding().few(body.report_id, parse_time(body.observed_at), sets) == row.canonical


@pytest.mark.parametrize(("name", "row"), rows("project-members-request"))
def test_s8_projects_are_asked_for_as_the_golden(name: str, row: Valid) -> None:
    refs = [UUID(ref) for ref in row.body["providerProjectRefs"]]
    spelled = row.body | {"providerProjectRefs": [str(ref) for ref in refs]}
    assert encode_projects_asked(refs) == canonical(spelled)


def accounts_of(bodies: Sequence[AccountBody]) -> list[Account]:
    return [
        Account(
            item.party_id,
            item.name,
            item.native_uid,
            item.uid_number,
            Identity(item.binding_id, item.generation),
            item.state == "ready",
        )
        for item in bodies
    ]


@pytest.mark.parametrize(("name", "row"), refusals("allocation-report", "account-sets", "account-report"))
def test_s8_every_refusal_has_its_rule(name: str, row: Refused) -> None:
    """No refusal is sent again for ever, and none is dropped for a fault of the way to central."""
    assert row.status is not None
    rule = rule_of(row.status, row.code)
    expected = {413: Act.SPLIT, 401: Act.KEEP, 404: Act.KEEP}.get(row.status, Act.DROP)
    assert rule.act is expected


@pytest.mark.parametrize(("name", "row"), rows("waldur-provider-resource"))
def test_p34_rows_of_waldur_are_read(name: str, row: Valid) -> None:
    found = read_document(row.body, RowBody)
    assert UUID(found.uuid) == UUID(row.body["uuid"])


@pytest.mark.parametrize("case", ["state_of_tomorrow", "uuid_missing", "paused_text"])
def test_p34_broken_rows_are_unreadable(case: str) -> None:
    """The reporter reads no `backend_metadata`, so what is wrong in it alone is not its concern."""
    broken = {row.name: row.raw for row in load("waldur-provider-resource").refused}
    with pytest.raises(MalformedJsonError):
        decode_object(broken[case], RowBody, max_bytes=MAX)


def test_p1_allocation_id_is_centrals() -> None:
    """Both ends derive it from one namespace; the golden of the other end says which id a resource has."""
    from central.provisioning.domain import ids

    resource = UUID("00000000-0000-4000-8000-000000000305")
    own = allocation_id("waldur.example", resource)
    assert own == ids.allocation_id(ids.WaldurInstance("waldur.example"), resource)

"""The accounts Sites keep for accepted work: the list, and why one member's are on it or not (P28, O1)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from central.kernel.database import Database
from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.kernel.times import format_rfc3339, utc_now
from central.processes.explain_provisioning import binding_of, view_links
from central.processes.links import Link, link
from central.processes.operator import opened
from central.processes.retention import LIMITS, ViewedFences, owners_of
from central.projects.adapters.postgres_fences import PostgresFences
from central.projects.adapters.view_evidence import ViewEvidence
from central.projects.application.retention_fences import RetentionFences
from central.projects.domain.site_binding import Conflict
from central.projects.domain.view import ViewLimits
from central.retention.adapters.postgres_work import PostgresWork
from central.retention.adapters.work_evidence import ToldWork, work_of_party
from central.retention.application.retained_accounts import RetainedAccounts
from central.retention.domain.accepted_work import Evidence
from central.retention.domain.retained import Fence, Fences, Holder, Required, Unknown, judge_account
from central.settings import Settings


def show_retained(settings: Settings, site: str) -> list[dict[str, Any]]:
    """The whole list, as the Site is answered. Raises `Unavailable`: there is no short list (X1)."""
    with opened(settings) as database:
        return retained_rows(settings, database, site, utc_now())


def retained_rows(settings: Settings, database: Database, site: str, now: datetime) -> list[dict[str, Any]]:
    """See `show_retained`."""
    asked = RetainedAccounts(PostgresWork(database), _fences(database), owners_of(settings), LIMITS)
    return [
        {
            "site": site,
            "username": one.username,
            "partyId": str(one.party_id),
            "projectId": str(one.project_id),
            "bindingId": str(one.binding_id),
            "generation": one.generation,
        }
        for one in asked.list(Site(site), now)
    ]


def explain_retained(settings: Settings, site: str, member: str) -> Sequence[Link]:
    """See `retained_links`."""
    with opened(settings) as database:
        return retained_links(settings, database, site, member, utc_now())


def retained_links(
    settings: Settings, database: Database, site: str, member: str, now: datetime
) -> Sequence[Link]:
    """From the standing of recovery to each item and what fences it. Raises `MemberUnknown`."""
    view = ViewEvidence(database)
    binding = binding_of(view, site, member)
    links = [_standing(settings, database, now), *view_links(view, now)]
    if isinstance(binding, Conflict):
        text = f"CONFLICT: several bindings at {site} bear on {member}; no answer until one holds it"
        return [*links, Link("binding", text, None, None)]
    party = f"Party {binding.party_id} is {binding.username} at {site}, {binding.standing.value}"
    links.append(Link("binding", party, None, None))
    found = work_of_party(database, site, binding.party_id)
    nothing = Link("work", f"no owner told of work of theirs at {site}: nothing is kept for them", None, None)
    return [*links, *(_works(database, found, now) if found else [nothing])]


def _standing(settings: Settings, database: Database, now: datetime) -> Link:
    standing = PostgresWork(database).recovery()
    missing = standing.missing(owners_of(settings), now, LIMITS)
    text = f"NO LIST: {missing}; Sites keep every account" if missing else "a pass stands: lists are complete"
    return link("recovery", f"{text}; the last pass began", standing.asked_at, now)


def _works(database: Database, found: Sequence[ToldWork], now: datetime) -> Iterator[Link]:
    """Each item, and after each required one whether it keeps its account."""
    holders = {_holder(one.work.evidence, one) for one in found if one.work.evidence is not None}
    try:
        known = _fences(database).of(holders, now)
    except Unavailable as error:
        known = {holder: Unknown(error.detail) for holder in holders}
    for one in found:
        work, evidence = one.work, one.work.evidence
        head = f"{work.owner} {work.kind.value} {work.item_id} {work.state.value} (revision {work.revision})"
        late = ", deadline PASSED: that is no release" if work.deadline <= now else ""
        until = f"{head}, deadline {format_rfc3339(work.deadline)}{late}; told"
        yield link("work", until, one.told_at, now)
        if not work.released and evidence is not None:
            holder = _holder(evidence, one)
            required = Required(holder, evidence.generation, evidence.management_generation)
            yield Link("kept", _judged(required, known[holder]), None, None)


def _holder(evidence: Evidence, one: ToldWork) -> Holder:
    return Holder(one.work.project_id, one.work.party_id, one.work.site, evidence.binding_id)


def _judged(required: Required, fences: Fences | Unknown) -> str:
    judged = judge_account(required, fences)
    account = f"generation {required.generation} of binding {required.holder.binding_id}"
    if isinstance(judged, Unknown):
        return f"CANNOT BE SAID of {account}: {judged.reason}"
    if isinstance(judged, Fence):
        return f"NOT kept, {account} is fenced: {judged.value}"
    return f"kept: {judged.username}, {account}"


def _fences(database: Database) -> ViewedFences:
    return ViewedFences(RetentionFences(PostgresFences(database, ViewLimits())))

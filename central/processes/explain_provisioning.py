"""Why an allocation or a member's account is in its state: each link of evidence with its age (O1).

Beto's own decision is asked for at each use and not kept, so no link speaks of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from central.kernel.database import Database
from central.kernel.site_names import Site
from central.kernel.times import format_rfc3339, utc_now
from central.processes.links import Link, aged, link
from central.processes.operator import opened
from central.processes.refusals import AllocationUnknown, MemberUnknown
from central.projects.adapters.project_listing import ProjectListing
from central.projects.adapters.view_evidence import ViewedProject, ViewEvidence
from central.projects.domain.authority import Authority, deferral
from central.projects.domain.ids import PartyId, ProjectId
from central.projects.domain.membership import Membership
from central.projects.domain.project import Project
from central.projects.domain.site_binding import Conflict, NoBinding, SiteBinding, choose
from central.projects.domain.view import ViewLimits
from central.provisioning.adapters.account_evidence import AccountEvidence, KnownAccount, KnownSet
from central.provisioning.adapters.postgres_member_accounts import PostgresMemberAccounts
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.ids import AllocationId, parse_uuid
from central.provisioning.domain.member_account import ALLOCATION_MAX_AGE
from central.settings import Settings

PROVIDER: Final = "waldur"


@dataclass(frozen=True, slots=True)
class Ages:
    """The moment ages are counted to, and the age limit of sets of accounts (P25)."""

    now: datetime
    accounts: timedelta


def explain_allocation(settings: Settings, allocation_id: UUID) -> Sequence[Link]:
    """See `allocation_links`."""
    with opened(settings) as database:
        return allocation_links(database, allocation_id, Ages(utc_now(), settings.account_max_age))


def allocation_links(database: Database, allocation_id: UUID, ages: Ages) -> Sequence[Link]:
    """From what the Site reported to the Project and its accounts. Raises `AllocationUnknown`."""
    now, key = ages.now, AllocationId(allocation_id)
    saved = PostgresSavedAllocations(database).by_id(key)
    if saved is None:
        raise AllocationUnknown(str(allocation_id))
    view, facts = ViewEvidence(database), saved.allocation.facts
    known = AccountEvidence(database).of_allocations([key])
    holders = view.holders(PROVIDER, saved.allocation.instance, facts.provider_project_ref)
    links = [*_allocation(saved, now), _provider_project(saved, holders), *view_links(view, now)]
    if facts.project_id is not None:
        links += _project(view.project(ProjectId(facts.project_id)), now)
    return [*links, _set(known.get(key), ages)]


def explain_account(settings: Settings, site: str, member: str) -> Sequence[Link]:
    """See `account_links`."""
    with opened(settings) as database:
        return account_links(database, site, member, Ages(utc_now(), settings.account_max_age))


def account_links(database: Database, site: str, member: str, ages: Ages) -> Sequence[Link]:
    """From a Party's name at the Site to every account that may be theirs there.

    `member` is the Party's id or the username. Raises `MemberUnknown` for who has no binding at the Site.
    """
    view = ViewEvidence(database)
    binding = binding_of(view, site, member)
    links = [*view_links(view, ages.now)]
    if isinstance(binding, Conflict):
        text = f"CONFLICT: several bindings at {site} bear on {member}; no answer until one holds it"
        return [*links, Link("binding", text, None, None)]
    links.append(_binding(binding))
    projects = ProjectListing(database, ViewLimits()).ever_of_party(binding.party_id)
    ids = PostgresMemberAccounts(database).allocations_of_party(site, projects, binding.party_id)
    known, saved = AccountEvidence(database).of_allocations(ids), PostgresSavedAllocations(database)
    found_there: list[Link] = []
    for one in filter(None, map(saved.by_id, ids)):
        project = one.allocation.facts.project_id
        viewed = view.project(ProjectId(project)) if project else None
        held = known.get(one.allocation.allocation_id)
        found_there += _account(one, viewed, binding, held, ages)
    nothing = Link("allocation", f"no allocation at {site} of a Project they are in", None, None)
    return [*links, *(found_there or [nothing])]


def binding_of(view: ViewEvidence, site: str, member: str) -> SiteBinding | Conflict:
    """The site binding of a Party or a username. Raises `MemberUnknown` where there is none."""
    party = parse_uuid(member)
    username = member if party is None else None
    found = view.bindings(Site(site), party=PartyId(party) if party else None, username=username)
    binding = choose(found)
    if isinstance(binding, NoBinding):
        raise MemberUnknown(f"{member} has no binding at {site}")
    return binding


def _allocation(saved: Saved, now: datetime) -> Iterator[Link]:
    allocation, facts = saved.allocation, saved.allocation.facts
    reasons = f", because {', '.join(allocation.reasons)}" if allocation.reasons else ""
    state = f"{allocation.lifecycle.value}{reasons} (revision {allocation.revision})"
    yield link("state", state, allocation.observed_at, now)
    paused = ", paused" if facts.paused else ""
    named = facts.native_name or "no native name yet"
    yield link(
        "report", f"{allocation.site} saw {facts.state.value}{paused}: {named}", allocation.observed_at, now
    )
    yield link("last seen", aged(saved.last_seen, now, ALLOCATION_MAX_AGE), saved.last_seen, now)
    for name, amounts in (
        ("configured", facts.configured),
        ("applied", facts.applied),
        ("used", allocation.used),
    ):
        text = "not known" if amounts is None else ", ".join(f"{k} {v}" for k, v in amounts.pairs)
        yield Link(name, text or "nothing", None, None)


def _provider_project(saved: Saved, holders: Sequence[ProjectId]) -> Link:
    """What the view says of the provider's Project now, beside what was proven once (P3)."""
    proven, ref = saved.allocation.facts.project_id, saved.allocation.facts.provider_project_ref
    viewed = f"the view has {len(holders)} Projects for {ref}"
    if proven is None:
        return Link("binding", f"not proven: {viewed}", None, None)
    agrees = "and the view says the same" if list(holders) == [proven] else f"but {viewed} now"
    return Link("binding", f"{ref} is Project {proven}, {agrees}", None, None)


def view_links(view: ViewEvidence, now: datetime) -> Iterator[Link]:
    """Every scope, and why one does not answer."""
    for scope, state in sorted(view.scopes().items()):
        unusable = state.unusable(now, ViewLimits())
        text = f"{scope.value} {state.phase.value}" + (f"; DOES NOT ANSWER: {unusable}" if unusable else "")
        yield link("view", f"{text}; last matched Beto", state.checked_at, now)


def _project(viewed: ViewedProject, now: datetime) -> Iterator[Link]:
    project = viewed.project
    if project is None:
        yield Link("project", "NOT in the view", None, None)
        return
    present = sum(one.present for one in viewed.memberships.values())
    text = (
        f"{project.lifecycle.value}, revision {project.revision}, {present} members with a verified binding"
    )
    yield Link("project", text, None, None)
    yield _authority(project, viewed.authority, now)


def _authority(project: Project, authority: Authority | None, now: datetime) -> Link:
    why = deferral(authority, project, now)
    if authority is None:
        return Link("authority", "none: nobody counts as an active member", None, None)
    expires = f", expires {format_rfc3339(authority.expires_at)}" if authority.expires_at else ""
    head = f"{authority.state.value} over revision {authority.revision}{expires}"
    return Link("authority", f"{head}; DEFERS: {why.value}" if why else head, None, None)


def _set(known: KnownSet | None, ages: Ages) -> Link:
    if known is None:
        return Link("accounts", "never reported", None, None)
    counts = {state: sum(one.state == state for one in known.accounts) for state in ("ready", "incomplete")}
    judged = aged(known.observed_at, ages.now, ages.accounts)
    text = f"{counts['ready']} ready, {counts['incomplete']} incomplete; {judged}"
    return link("accounts", text, known.observed_at, ages.now)


def _binding(binding: SiteBinding) -> Link:
    head = f"Party {binding.party_id} is {binding.username} at {binding.site}"
    text = f"{head}: binding {binding.binding_id}, revision {binding.revision}, {binding.standing.value}"
    return Link("binding", text, None, None)


def _account(
    saved: Saved, viewed: ViewedProject | None, binding: SiteBinding, known: KnownSet | None, ages: Ages
) -> Iterator[Link]:
    """One allocation's links, of an allocation whose Project the Party is or was a member of."""
    now = ages.now
    membership = viewed.memberships.get(binding.party_id) if viewed else None
    theirs = [one for one in known.accounts if one.party_id == binding.party_id] if known else []
    if membership is None and not theirs:
        return
    state = f"{saved.allocation.allocation_id} {saved.allocation.lifecycle.value}"
    judged = aged(saved.last_seen, now, ALLOCATION_MAX_AGE)
    yield link("allocation", f"{state}; {judged}", saved.last_seen, now)
    yield _membership(membership)
    if viewed is not None and viewed.project is not None:
        yield _authority(viewed.project, viewed.authority, now)
    yield _set(known, ages)
    for one in theirs:
        yield _generation(one, binding, membership, now)


def _membership(membership: Membership | None) -> Link:
    if membership is None:
        return Link("member", "never a member of the Project", None, None)
    standing = "a member" if membership.present else "LEFT"
    return Link("member", f"{standing}, current generation {membership.generation}", None, None)


def _generation(
    account: KnownAccount, binding: SiteBinding, membership: Membership | None, now: datetime
) -> Link:
    """The account, and whether what the Site applied is what is so now (S8)."""
    number = f"uid {account.uid_number}" if account.uid_number is not None else "no numeric UID told"
    head = f"{account.name} ({number}, {account.native_uid}) {account.state}"
    applied = f"applied generation {account.generation}"
    if account.binding_id != binding.binding_id:
        applied += " of ANOTHER BINDING"
    elif membership is None or account.generation != membership.generation:
        current = membership.generation if membership else "none"
        applied += f", NOT the current one ({current})"
    return link("account", f"{head}, {applied}; last changed", account.changed_at, now)

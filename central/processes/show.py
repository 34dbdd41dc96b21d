"""What central knows of allocations, accounts and members, as lists (O1). Nothing is judged but age."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from central.kernel.site_names import Site
from central.kernel.times import format_rfc3339, utc_now
from central.processes.operator import opened
from central.projects.adapters.postgres_reads import PostgresReads
from central.projects.domain.ids import ProjectId
from central.projects.domain.site_binding import Conflict, NoBinding, choose
from central.projects.domain.view import ViewLimits
from central.provisioning.adapters.account_evidence import AccountEvidence, KnownAccount
from central.provisioning.adapters.postgres_saved import PostgresSavedAllocations
from central.provisioning.application.every_allocation import every_allocation
from central.provisioning.domain.allocation import Saved
from central.provisioning.domain.amounts import by_component
from central.provisioning.domain.confirmation import fresh
from central.provisioning.domain.member_account import ALLOCATION_MAX_AGE
from central.settings import Settings

Row = dict[str, Any]


def show_allocations(settings: Settings, site: str | None, project: UUID | None) -> list[Row]:
    """Every allocation that fits, by id."""
    now = utc_now()
    with opened(settings) as database:
        fitting = _fitting(PostgresSavedAllocations(database), site, project)
        return [allocation_row(saved, now) for saved in fitting]


def show_accounts(settings: Settings, site: str | None, project: UUID | None) -> list[Row]:
    """Every account ever confirmed at an allocation that fits, absent ones and older generations too."""
    now = utc_now()
    with opened(settings) as database:
        saved = {
            one.allocation.allocation_id: one
            for one in _fitting(PostgresSavedAllocations(database), site, project)
        }
        known = AccountEvidence(database).of_allocations(list(saved))
        return [
            account_row(
                account, saved[allocation].allocation.site, held.observed_at, settings.account_max_age, now
            )
            for allocation, held in sorted(known.items())
            for account in held.accounts
        ]


def show_members(settings: Settings, site: str, project: UUID) -> list[Row] | None:
    """The Project's members by their names at the Site, as viewed; None if the Project is not in the view.

    Raises `Unavailable` while the view does not answer. Whether Beto lets them is asked at use, not here.
    """
    with opened(settings) as database:
        (viewed,) = PostgresReads(database, ViewLimits()).named_members(
            [ProjectId(project)], Site(site), utc_now(), most=1
        )
    if viewed is None:
        return None
    rows: list[Row] = []
    for username, bindings in sorted(viewed.names.items()):
        binding = choose(bindings)
        if isinstance(binding, Conflict):
            rows.append({"username": username, "state": "conflict", "bindings": len(bindings)})
        elif not isinstance(binding, NoBinding):
            membership = viewed.memberships.get(binding.party_id)
            if membership is not None:
                rows.append(
                    {
                        "username": username,
                        "state": "member" if membership.present else "left",
                        "partyId": str(binding.party_id),
                        "bindingId": str(binding.binding_id),
                        "bindingRevision": binding.revision,
                        "binding": binding.standing.value,
                        "generation": membership.generation,
                    }
                )
    return rows


def _fitting(saved: PostgresSavedAllocations, site: str | None, project: UUID | None) -> Iterator[Saved]:
    for one in every_allocation(saved, site):
        if project in (None, one.allocation.facts.project_id):
            yield one


def allocation_row(saved: Saved, now: datetime) -> Row:
    """An allocation as it is shown everywhere."""
    allocation, facts = saved.allocation, saved.allocation.facts
    return {
        "allocationId": str(allocation.allocation_id),
        "site": allocation.site,
        "projectId": str(facts.project_id) if facts.project_id else None,
        "nativeName": facts.native_name,
        "lifecycle": allocation.lifecycle.value,
        "reasons": [reason.value for reason in allocation.reasons],
        "revision": allocation.revision,
        "configured": by_component(facts.configured),
        "applied": by_component(facts.applied),
        "used": by_component(allocation.used),
        "observedAt": format_rfc3339(allocation.observed_at),
        "lastSeenAt": format_rfc3339(saved.last_seen),
        "ageSeconds": int((now - saved.last_seen).total_seconds()),
        "fresh": fresh(saved.last_seen, now, ALLOCATION_MAX_AGE),
    }


def account_row(
    account: KnownAccount, site: str, observed_at: datetime, max_age: timedelta, now: datetime
) -> Row:
    """An account as it is shown everywhere; `observed_at` is its set's."""
    return {
        "allocationId": str(account.allocation_id),
        "site": site,
        "name": account.name,
        "state": account.state,
        "partyId": str(account.party_id),
        "bindingId": str(account.binding_id),
        "generation": account.generation,
        "nativeUid": account.native_uid,
        "uidNumber": account.uid_number,
        "changedAt": format_rfc3339(account.changed_at),
        "confirmedAt": format_rfc3339(observed_at),
        "ageSeconds": int((now - observed_at).total_seconds()),
        "fresh": fresh(observed_at, now, max_age),
    }

"""Beto's Projects as they are viewed, and which one an operator means (O1, P14)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from central.kernel.database import Database
from central.kernel.times import format_rfc3339, utc_now
from central.processes.operator import opened
from central.processes.refusals import ProjectAmbiguous, ProjectUnknown
from central.projects.adapters.project_listing import ListedProject, ProjectListing
from central.projects.domain.authority import deferral
from central.projects.domain.view import ViewLimits
from central.settings import Settings

_PAGE: Final = 500


def show_projects(settings: Settings) -> list[dict[str, Any]]:
    """Every Project, by id. Raises `Unavailable` while the view does not answer."""
    now = utc_now()
    with opened(settings) as database:
        return [_row(listed, now) for listed in _every(ProjectListing(database, ViewLimits()), now)]


def the_project(settings: Settings, text: str) -> UUID:
    """The Project of this id, or the one a provider's Project of this name is.

    Raises `ProjectUnknown`, `ProjectAmbiguous`, and `Unavailable` while the view does not answer.
    """
    with opened(settings) as database:
        return named_project(database, text, utc_now())


def named_project(database: Database, text: str, now: datetime) -> UUID:
    """See `the_project`."""
    found = ProjectListing(database, ViewLimits()).named(text, now)
    if not found:
        raise ProjectUnknown(text)
    if len(found) > 1:
        raise ProjectAmbiguous(f"{len(found)} Projects hold {text}: {', '.join(map(str, found))}")
    return found[0]


def _every(listing: ProjectListing, now: datetime) -> Iterator[ListedProject]:
    after = None
    while page := listing.page(after, _PAGE, now):
        yield from page
        after = page[-1].project.project_id


def _row(listed: ListedProject, now: datetime) -> dict[str, Any]:
    project, authority = listed.project, listed.authority
    why = deferral(authority, project, now)
    expires = authority.expires_at if authority is not None else None
    return {
        "projectId": str(project.project_id),
        "lifecycle": project.lifecycle.value,
        "revision": project.revision,
        "members": listed.members,
        "providerBindings": [
            {"provider": one.provider, "instance": one.instance, "projectRef": one.ref}
            for one in project.provider_bindings
        ],
        "authority": authority.state.value if authority is not None else None,
        "authorityExpiresAt": format_rfc3339(expires) if expires is not None else None,
        "defers": why.value if why is not None else None,
    }

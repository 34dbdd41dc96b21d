"""What Waldur, the directory and central say, each whole or not at all (S8, X1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from site_bundle.kernel.errors import SiteError
from site_bundle.reporter.application.ports import People, Platform, Provider
from site_bundle.reporter.domain.presence import Claim, Presence
from site_bundle.reporter.domain.sources import Directory, Listing, Project, Retained, RowState


@dataclass(frozen=True, slots=True)
class Outside:
    """The sources beside Slurm. `failed`: error by source, of those that could not be read (`members` is
    any).
    """

    listing: Listing
    directory: Directory | None
    retained: tuple[Retained, ...] | None
    projects: Mapping[UUID, Project | None]
    failed: Mapping[str, SiteError]


class Reading(Protocol):
    """The sources read beside something else."""

    def begin(self) -> None:
        """Begins, if it can be done beside."""

    def whole(self) -> Outside:
        """Waits for it. SiteError of the provider."""

    def prove(self, claims: Sequence[Claim]) -> tuple[Presence, ...]:
        """Asks the directory again for what it did not show. SiteError."""


@dataclass(frozen=True, slots=True)
class ReadOutside:
    """The use case; as a `Reading` it begins when it is waited for."""

    provider: Provider
    people: People
    platform: Platform

    def begin(self) -> None:
        """Nothing is done beside."""

    def prove(self, claims: Sequence[Claim]) -> tuple[Presence, ...]:
        return self.people.prove(claims)

    def whole(self) -> Outside:
        """SiteError of the provider: nothing can be said of any allocation."""
        failed: dict[str, SiteError] = {}
        directory = retained = None
        listing = self.provider.resources()
        try:
            directory = self.people.read()
        except SiteError as error:
            failed["directory"] = error
        try:
            retained = self.platform.retained()
        except SiteError as error:
            failed["retained"] = error
        live = {row.project_id for row in listing.rows if row.state is not RowState.TERMINATED}
        projects = self._projects(sorted(live), failed) if directory is not None else {}
        return Outside(listing, directory, retained, projects, failed)

    def _projects(self, wanted: Sequence[UUID], failed: dict[str, SiteError]) -> dict[UUID, Project | None]:
        """A list each; one that cannot be told takes no other with it. Where nothing was told, no more is
        asked for.
        """
        found: dict[UUID, Project | None] = {}
        left = wanted
        while left:
            try:
                answers = self.platform.projects(left)
            except SiteError as error:
                failed["members"] = error
                break
            for project, answer in answers.items():
                if isinstance(answer, SiteError):
                    failed["members"] = answer
                else:
                    found[project] = answer
            left = left[len(answers) :]
        return found

"""A Site asks for the verified member behind a username (P19)."""

from dataclasses import dataclass
from datetime import datetime

from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.projects.application.ports import ProjectSites
from central.projects.application.project_at_site import project_at_site
from central.projects.application.resolve_projects import ResolveProjects
from central.projects.application.roster import ProvisioningRoster
from central.projects.application.site_bindings import SiteBindings
from central.projects.domain.authority import Deferred
from central.projects.domain.roster import NoMember, SiteMember
from central.projects.domain.site_binding import Conflict, NoBinding


@dataclass(frozen=True, slots=True)
class FindMember:
    """The use case. None is proven absence; everything unreadable, pending or in conflict is
    `Unavailable`. A Project without an allocation at the asking Site is absent to it.
    """

    resolve: ResolveProjects
    sites: ProjectSites
    bindings: SiteBindings
    roster: ProvisioningRoster

    def __call__(
        self, site: Site, instance: str, provider_project_ref: str, username: str, now: datetime
    ) -> SiteMember | None:
        """The member, active or retired."""
        project = project_at_site(self.resolve, self.sites, site, instance, provider_project_ref)
        if project is None:
            return None
        binding = self.bindings.by_username(site, username, now)
        if isinstance(binding, Conflict):
            raise Unavailable("unavailable", "several bindings hold this username at the Site")
        if isinstance(binding, NoBinding):
            return None
        answer = self.roster(project, binding, now)
        if isinstance(answer, Deferred):
            raise Unavailable("unavailable", f"the member cannot be confirmed now: {answer}")
        return None if isinstance(answer, NoMember) else answer

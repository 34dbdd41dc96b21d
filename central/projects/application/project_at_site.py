"""Which Project a Site speaks of, if it may know it (P13, P19)."""

from central.kernel.errors import Unavailable
from central.kernel.site_names import Site
from central.projects.application.ports import ProjectSites
from central.projects.application.resolve_projects import ResolveProjects
from central.projects.domain.ids import ProjectId
from central.projects.domain.resolution import Unresolved


def project_at_site(
    resolve: ResolveProjects, sites: ProjectSites, site: Site, instance: str, provider_project_ref: str
) -> ProjectId | None:
    """The Project that holds the ref and has an allocation at the Site; None where there provably is none.

    Asked before anything else is looked at, so that a Site's key cannot probe other Projects. A ref several
    Projects hold is `Unavailable`.
    """
    project = resolve(instance, [provider_project_ref])[provider_project_ref]
    if project is Unresolved.AMBIGUOUS:
        raise Unavailable("unavailable", "several Projects hold this provider Project")
    if isinstance(project, Unresolved) or not sites.has_allocation(project, site):
        return None
    return project

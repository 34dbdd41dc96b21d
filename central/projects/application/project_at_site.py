"""Which Project a Site speaks of, if it may know it (P13, P19)."""

from collections.abc import Collection, Mapping

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
    found = projects_at_site(resolve, sites, site, instance, [provider_project_ref])[provider_project_ref]
    if isinstance(found, Unavailable):
        raise found
    return found


def projects_at_site(
    resolve: ResolveProjects, sites: ProjectSites, site: Site, instance: str, refs: Collection[str]
) -> Mapping[str, ProjectId | Unavailable | None]:
    """As `project_at_site` of each ref, in two reads; one that several Projects hold takes no other with
    it.
    """
    resolved = resolve(instance, refs)
    proven = {project for project in resolved.values() if not isinstance(project, Unresolved)}
    here = sites.with_allocations(proven, site) if proven else ()
    found: dict[str, ProjectId | Unavailable | None] = {}
    for ref, project in resolved.items():
        if project is Unresolved.AMBIGUOUS:
            found[ref] = Unavailable("unavailable", "several Projects hold this provider Project")
        elif isinstance(project, Unresolved) or project not in here:
            found[ref] = None
        else:
            found[ref] = project
    return found

"""Who is behind a username at a Site, and what a Party is called there (P16)."""

from dataclasses import dataclass
from datetime import datetime

from central.kernel.site_names import Site
from central.projects.application.ports import ViewReads
from central.projects.domain.ids import PartyId
from central.projects.domain.site_binding import SiteBindingAnswer, choose


@dataclass(frozen=True, slots=True)
class SiteBindings:
    """The use case. A conflict is told apart from absence; an unusable view raises `Unavailable`."""

    reads: ViewReads

    def by_username(self, site: Site, username: str, now: datetime) -> SiteBindingAnswer:
        """The binding that holds the username."""
        return choose(self.reads.bindings_of_username(site, username, now))

    def by_party(self, site: Site, party: PartyId, now: datetime) -> SiteBindingAnswer:
        """The Party's binding at the Site."""
        return choose(self.reads.bindings_of_party(site, party, now))

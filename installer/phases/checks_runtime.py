"""Checks the runtime needs besides Slurm's accounting (I7, I9, S1–S4)."""

from installer.domain.checks import Finding
from installer.host.context import Host
from installer.host.identities import Identity
from installer.host.site_inputs import Site
from installer.phases.checks_slurm import slurm_findings


def runtime_findings(host: Host, site: Site, user: str, identity: Identity) -> list[Finding]:
    """All of them, asked as the component's user."""
    return slurm_findings(host, site.profile.for_runtime.slurm, user, identity.run_as)

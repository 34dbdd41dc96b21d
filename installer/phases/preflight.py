"""``preflight``: can this host take and run the release? Reads, tries probes, changes nothing that lasts."""

from installer.bootstrap.archive import VerifiedArchive
from installer.domain.components import SSH_ACCESS
from installer.host.context import Host
from installer.host.site_inputs import Site
from installer.phases.checks_component import needed_checks, remote_findings
from installer.phases.checks_host import host_findings, identity_findings
from installer.phases.checks_site import socket_finding, sssd_finding
from installer.phases.outcome import Outcome, announce, counts, plan_checks, settle

_NEEDED = (
    "host.",
    "python.",
    "release.profile",
    "disk.",
    "identity.",
    "credentials.",
    "site-api.",
    "ldap.socket",
    "sssd.",
    "intake.",
    "waldur.",
    "site-agent.",
)


def plan_preflight(host: Host, site: Site) -> Outcome:
    """Which checks ``preflight`` would make; none is made."""
    return plan_checks(host, site.profile, "preflight", needed_checks(_NEEDED, site.profile))


def preflight(host: Host, site: Site, archive: VerifiedArchive) -> Outcome:
    """All checks that can be made before an install, then one refusal or none (exit 3 or 10)."""
    announce(host, "preflight", site.profile)
    manifest = archive.manifest
    chosen = [name for name in site.profile.components if name in manifest.components]
    users = {name: manifest.components[name].user for name in chosen}
    findings = [
        *host_findings(host, site.profile, manifest),
        *identity_findings(host, site.profile, users, must_exist=False),
    ]
    for name in chosen:
        findings += remote_findings(host, site, name)
    if SSH_ACCESS in chosen:
        findings += [socket_finding(host, site), sssd_finding(host, site)]
    verdict = settle(host, site.profile, "preflight", findings)
    return Outcome(
        text=f"preflight passed: release {archive.release_id} may be installed here",
        fields={"release": archive.release_id, "checks": counts(verdict)},
    )

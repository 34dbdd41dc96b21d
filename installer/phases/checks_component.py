"""Which of the site's services each component is checked against: what it calls elsewhere, and what it
meets on this host.
"""

from installer.domain.checks import CHECKS, Finding, failed, unknown
from installer.domain.components import REPORTER, RUNTIME, SSH_ACCESS
from installer.domain.profile import Profile
from installer.domain.refusal import Refusal
from installer.host.context import Host
from installer.host.identities import Identity, local_identity
from installer.host.site_inputs import Site
from installer.phases.checks_reporter import (
    agent_directory_findings,
    intake_findings,
    mode_finding,
    waldur_findings,
)
from installer.phases.checks_runtime import runtime_findings
from installer.phases.checks_site import (
    credential_findings,
    directory_findings,
    site_api_findings,
    socket_finding,
    sssd_finding,
)
from installer.phases.checks_slurm import slurm_findings

_OF: dict[str, tuple[str, ...]] = {
    SSH_ACCESS: ("site-api.", "sssd.", "ldap.socket", "ldap.identity", "ldap.acl"),
    REPORTER: ("intake.", "waldur.", "slurm.", "site-agent.", "ldap.agent-"),
    RUNTIME: ("site-api.", "slurm.", "runtime."),
}
"""Checks that some component needs; those of no component here are needed always."""


def needed_checks(prefixes: tuple[str, ...], profile: Profile) -> tuple[str, ...]:
    """Ids of the checks below ``prefixes`` that some component of the profile needs."""
    needed = tuple(each for name in profile.components for each in _OF[name])
    others = tuple(each for mine in _OF.values() for each in mine if each not in needed)
    return tuple(name for name in CHECKS if name.startswith(prefixes) and not name.startswith(others))


def remote_findings(host: Host, site: Site, component: str) -> list[Finding]:
    """The component's credentials, and the services they open; needs no user and writes nothing."""
    findings = credential_findings(host, site, component)
    if component == REPORTER:
        findings.append(mode_finding(site.profile.reporter))
        findings += intake_findings(host, site)
        return findings + waldur_findings(host, site)
    return findings + site_api_findings(host, site, component)


def native_findings(host: Host, site: Site, component: str, user: str) -> list[Finding]:
    """Directory, names and Slurm, asked as the component's user; writes on the probe entry alone (I9)."""
    if component == SSH_ACCESS:
        return [
            socket_finding(host, site),
            *directory_findings(host, site, user, writes=True),
            sssd_finding(host, site),
        ]
    found = _identity(host, component, user)
    if isinstance(found, list):
        return found
    if component == REPORTER:
        return [
            *agent_directory_findings(host, site, found.run_as),
            *slurm_findings(host, site.profile.reporter.slurm, REPORTER, user, found.run_as),
        ]
    return runtime_findings(host, site, user, found)


def _identity(host: Host, component: str, user: str) -> Identity | list[Finding]:
    """The component's user, or why its checks cannot be made."""
    checks = ("slurm.accounting",) + (("ldap.agent-bind",) if component == REPORTER else ())
    wanted = f"the user {user}, to ask directory and Slurm as the component will"
    try:
        identity = local_identity(host.paths, user)
    except Refusal as refusal:
        return [unknown(check, refusal.found, wanted, refusal.remedy, subject=component) for check in checks]
    if identity is None:
        remedy = "Run `install` first, which makes it."
        return [failed(check, f"no user {user}", wanted, remedy, subject=component) for check in checks]
    return identity

"""Checks that need the site's services: credentials, directory, Site API, sssd. Each returns findings, none
raises.
"""

import re
import stat
from datetime import timedelta

from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.components import CREDENTIALS, RUNTIME, SITE_API_TOKEN, SSH_ACCESS
from installer.domain.refusal import Refusal
from installer.domain.times import parse_time
from installer.host.context import Host
from installer.host.files import read_file
from installer.host.https import Unanswered
from installer.host.identities import local_identity
from installer.host.ldap_probe import ask_directory, same_identity
from installer.host.site_api import Grant, ask_grant
from installer.host.site_inputs import Site, read_authority, read_credential

SCOPES = {SSH_ACCESS: "ssh-access", RUNTIME: "commands"}
"""What a component's Site API token must allow, and nothing besides (I15)."""
_TIMEOUT = re.compile(r"^\s*entry_cache_timeout\s*=\s*(\d+)\s*$", re.MULTILINE)


def credential_findings(host: Host, site: Site, component: str) -> list[Finding]:
    """Every credential of the component is there and root's alone (I3, I7)."""
    findings: list[Finding] = []
    for name in CREDENTIALS[component]:
        wanted = f"{site.config.credentials}/{component}/{name}, 0600 in a folder of 0700, root's"
        try:
            read_credential(host.paths, site, component, name, host.limits)
        except Refusal as refusal:
            findings.append(
                failed("credentials.private", refusal.found, wanted, refusal.remedy, subject=component)
            )
            continue
        findings.append(passed("credentials.private", f"{name} is there", wanted, subject=component))
    return findings


def site_api_findings(host: Host, site: Site, component: str) -> list[Finding]:
    """TLS, scope, site and expiry of the component's grant (I18)."""
    api = site.profile.site_api
    wanted = f"a grant from {api.url} over verified TLS"
    try:
        token = read_credential(host.paths, site, component, SITE_API_TOKEN, host.limits)
    except Refusal as refusal:
        remedy = "Put the credential in place first."
        return [
            unknown(
                "site-api.tls", f"no usable credential ({refusal.code})", wanted, remedy, subject=component
            )
        ]
    try:
        authority = read_authority(host.paths, site, host.limits)
    except Refusal as refusal:
        return [failed("site-api.tls", refusal.found, wanted, refusal.remedy, subject=component)]
    answer = ask_grant(
        api.url,
        authority,
        token,
        scope=SCOPES[component],
        timeout=host.limits.probe_seconds,
        limit=host.limits.answer_size,
    )
    if isinstance(answer, Unanswered):
        make = failed if answer.definite else unknown
        remedy = "Check the origin, its certificate authority and the route to it."
        if answer.credential:
            remedy = (
                f"Put the grant's token of the scope {SCOPES[component]} in its file, or have one issued"
                " (`pharos-central grants issue`)."
            )
        return [make("site-api.tls", answer.why, wanted, remedy, subject=component)]
    return [
        passed("site-api.tls", "it answers", wanted, subject=component),
        *_grant(host, site, component, answer),
    ]


def _grant(host: Host, site: Site, component: str, grant: Grant) -> list[Finding]:
    wanted = f"the scope {SCOPES[component]} alone"
    remedy = "Have a grant of exactly this scope issued (`pharos-central grants issue`)."
    found = f"scopes {', '.join(grant.scopes) or 'none'}"
    make_scope = passed("site-api.scope", found, wanted, subject=component)
    if grant.scopes != (SCOPES[component],):
        make_scope = failed("site-api.scope", found, wanted, remedy, subject=component)
    wanted, found = f"site {site.profile.site}", f"site {grant.site}"
    make_site = passed("site-api.site", found, wanted, subject=component)
    if grant.site != site.profile.site:
        remedy = "Use the grant of this site, or the right profile."
        make_site = failed("site-api.site", found, wanted, remedy, subject=component)
    return [make_scope, make_site, _expiry(host, component, grant)]


def _expiry(host: Host, component: str, grant: Grant) -> Finding:
    wanted = f"at least {host.limits.grant_warning_days} days left"
    if grant.expiresAt is None:
        return passed("site-api.expiry", "it has no end", wanted, subject=component)
    try:
        end = parse_time(grant.expiresAt, what="expiresAt")
    except Refusal as refusal:
        return unknown("site-api.expiry", refusal.found, wanted, refusal.remedy, subject=component)
    found = f"it ends at {grant.expiresAt}"
    if end - host.clock.now() >= timedelta(days=host.limits.grant_warning_days):
        return passed("site-api.expiry", found, wanted, subject=component)
    return failed(
        "site-api.expiry", found, wanted, "Have a second grant issued and put in place.", subject=component
    )


def socket_finding(host: Host, site: Site) -> Finding:
    """The directory's local socket exists (I8)."""
    path = site.profile.ldap.ssh_access.socket
    wanted = f"a socket at {path}"
    remedy = "Ask the directory's administrators for `ldapi:///`, or correct the profile."
    try:
        status = host.paths.at(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return failed("ldap.socket", "nothing there", wanted, remedy)
    except OSError as error:
        return unknown("ldap.socket", str(error.strerror), wanted, remedy)
    if not stat.S_ISSOCK(status.st_mode):
        return failed("ldap.socket", "it is no socket", wanted, remedy)
    return passed("ldap.socket", "it is there", wanted)


def directory_findings(host: Host, site: Site, user: str, *, writes: bool) -> list[Finding]:
    """Who-am-I as the component's identity, and its rights tried on the probe entry alone (I7, I8, I9)."""
    access = site.profile.ldap.ssh_access
    wanted = f"who-am-I says {access.identity}"
    remedy = (
        "Ask the directory's administrators to map this user's socket peer to that entry (olcAuthzRegexp)."
    )
    try:
        identity = local_identity(host.paths, user)
    except Refusal as refusal:
        return [unknown("ldap.identity", refusal.found, wanted, refusal.remedy)]
    if identity is None:
        return [failed("ldap.identity", f"no user {user}", wanted, "Run `install` first.")]
    answer = ask_directory(
        host.run,
        access,
        socket=str(host.paths.at(access.socket)),
        run_as=identity.run_as,
        writes=writes,
        timeout=host.limits.probe_seconds,
    )
    if isinstance(answer, str):
        return [
            unknown(
                "ldap.identity", answer, wanted, "Check that the directory runs and the probe entry exists."
            )
        ]
    if not same_identity(answer.identity, access.identity):
        return [failed("ldap.identity", f"who-am-I says {answer.identity or 'nobody'}", wanted, remedy)]
    findings = [passed("ldap.identity", answer.identity, wanted)]
    if writes:
        wrong = [
            f"{step.name}: {step.found}, wanted {step.wanted}"
            for step in answer.steps
            if step.found != step.wanted
        ]
        wanted = f"on {access.probe_entry}: sshPublicKey may be written, nothing else"
        if wrong or not answer.steps:
            remedy = (
                "Ask the directory's administrators to correct the access rules; `policy` is theirs (I9)."
            )
            findings.append(failed("ldap.acl", "; ".join(wrong) or "no step was tried", wanted, remedy))
        else:
            findings.append(passed("ldap.acl", f"{len(answer.steps)} writes as wanted", wanted))
    return findings


def sssd_finding(host: Host, site: Site) -> Finding:
    """sssd's cache timeout equals the profile's, which the agent shows as the removal delay (S7, S12)."""
    profiled = site.profile.sssd.entry_cache_timeout_seconds
    wanted = f"entry_cache_timeout = {profiled} in /etc/sssd/sssd.conf, as the profile says"
    remedy = "Correct the profile, so that the removal delay shown is the real one."
    try:
        file = read_file(host.paths.at("/etc/sssd/sssd.conf"), limit=host.limits.input_size)
    except Refusal as refusal:
        return unknown("sssd.cache", refusal.found, wanted, remedy)
    if file is None:
        return unknown("sssd.cache", "no /etc/sssd/sssd.conf", wanted, remedy)
    values = {int(text) for text in _TIMEOUT.findall(file.data.decode("utf-8", errors="replace"))} or {5400}
    found = f"entry_cache_timeout {', '.join(map(str, sorted(values)))}"
    if values == {profiled}:
        return passed("sssd.cache", found, wanted)
    return failed("sssd.cache", found, wanted, remedy)

"""Checks the reporter needs outside Slurm: intake, Waldur, the agent's directory connection, the upstream
agent's modes (I7, I8, I15, I16, I18, S8, S9). Each returns findings, none raises.
"""

from installer.domain import waldur
from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.components import INTAKE_KEY, LDAP_PASSWORD, REPORTER, WALDUR_TOKEN
from installer.domain.profile_reporter import REPORT_MODE, ReporterProfile
from installer.domain.refusal import Refusal
from installer.domain.waldur import Judgement, Offering
from installer.host.commands import RunAs
from installer.host.context import Host
from installer.host.https import Unanswered
from installer.host.intake import ask_intake
from installer.host.ldap_agent_probe import AgentAnswer, ListedBase, ask_agent_directory
from installer.host.ldap_probe import same_identity
from installer.host.site_inputs import Site, read_authority_file, read_credential
from installer.host.waldur import WaldurApi

_ROLE_REMEDY = (
    f"Assign {waldur.OWNER} on the provider's organisation to the token's user; {waldur.MANAGER} on its"
    " service provider serves too, staff and an offering's manager do not."
)


def intake_findings(host: Host, site: Site) -> list[Finding]:
    """The intake answers over verified TLS, and the key opens this Site (P11, I18)."""
    intake = site.profile.reporter.intake
    wanted = f"{intake.url} over verified TLS, opened by this site's key"
    remedy = "Check the origin, its certificate authority, the route to it, and the key with the operators."
    try:
        key = read_credential(host.paths, site, REPORTER, INTAKE_KEY, host.limits)
        authority = read_authority_file(host.paths, intake.ca_file, "intake.ca_file", host.limits)
    except Refusal as refusal:
        return [unknown("intake.key", refusal.found, wanted, refusal.remedy, subject=REPORTER)]
    answer = ask_intake(
        intake.url,
        site.profile.site,
        authority,
        key,
        timeout=host.limits.probe_seconds,
        limit=host.limits.answer_size,
    )
    if isinstance(answer, Unanswered):
        return [_unanswered("intake.key", answer, wanted, remedy)]
    return [passed("intake.key", "the key opens it", wanted, subject=REPORTER)]


def waldur_findings(host: Host, site: Site) -> list[Finding]:
    """Waldur's version, the token's roles, the provider, the offering and its id pools (I15)."""
    profiled = site.profile.reporter.waldur
    wanted = f"{profiled.api_url} over verified TLS, knowing the token"
    remedy = "Check the URL, its certificate authority, the route to it, and the token."
    try:
        token = read_credential(host.paths, site, REPORTER, WALDUR_TOKEN, host.limits)
        authority = read_authority_file(host.paths, profiled.ca_file, "waldur.ca_file", host.limits)
    except Refusal as refusal:
        return [unknown("waldur.api", refusal.found, wanted, refusal.remedy, subject=REPORTER)]
    api = WaldurApi(
        url=profiled.api_url,
        authority=authority,
        token=token,
        timeout=host.limits.probe_seconds,
        limit=host.limits.waldur_answer_size,
    )
    me = api.me()
    if isinstance(me, Unanswered):
        return [_unanswered("waldur.api", me, wanted, remedy)]
    findings = [passed("waldur.api", "it answers", wanted, subject=REPORTER), _version(api)]
    wanted, remedy = f"the offering {profiled.offering_uuid}", "Correct waldur.offering_uuid, or the token."
    offering = api.offering(profiled.offering_uuid)
    if isinstance(offering, Unanswered):
        return [*findings, _unanswered("waldur.offering", offering, wanted, remedy)]
    customer = offering.customer_uuid
    if customer is None:
        found = "the answer names no organisation that owns it"
        return [*findings, unknown("waldur.offering", found, wanted, remedy, subject=REPORTER)]
    found = f"{offering.name or 'it'} is {offering.state or 'there'}"
    findings.append(passed("waldur.offering", found, wanted, subject=REPORTER))
    role = waldur.judge_role(me, customer, host.clock.now())
    wanted = f"{waldur.OWNER} on the offering's organisation, or {waldur.MANAGER} on its service provider"
    findings.append(_judged("waldur.role", role, wanted, _ROLE_REMEDY))
    return findings + _offering_findings(site, api, offering, customer)


def _version(api: WaldurApi) -> Finding:
    wanted = f"Waldur {waldur.VERSION}"
    found = api.version()
    if isinstance(found, Unanswered):
        remedy = "Let version/ be read with this token: another version's API is never guessed."
        return _unanswered("waldur.version", found, wanted, remedy)
    if found.version == waldur.VERSION:
        return passed("waldur.version", f"Waldur {found.version}", wanted, subject=REPORTER)
    remedy = "The reporter is made for this version's API alone; use the release for yours."
    return failed("waldur.version", f"Waldur {found.version[:40]!a}", wanted, remedy, subject=REPORTER)


def _offering_findings(site: Site, api: WaldurApi, offering: Offering, customer: str) -> list[Finding]:
    uids, gids = site.profile.uid_range, site.profile.reporter.gid_range
    sold = api.offerings_of(customer)
    pool = api.pool_of(offering.uuid)
    return [
        _judged(
            "waldur.provider",
            sold if isinstance(sold, Unanswered) else waldur.judge_sole(offering.uuid, sold),
            "a provider that sells this offering alone",
            "The token reaches everything of its provider: give this offering a provider of its own.",
        ),
        _judged(
            "waldur.component",
            waldur.judge_component(offering),
            f"the component {waldur.NODE}: billing limit, period total",
            "Have the component corrected in Waldur: node-hours are bought once for the whole lifetime.",
        ),
        _judged(
            "waldur.posix-pools",
            pool if isinstance(pool, Unanswered) else waldur.judge_pool(pool, uids, gids),
            f"a pool with uid within {uids.min} to {uids.max}, group gid within {gids.min} to {gids.max}",
            "Have the pool made (or its ranges corrected) in Waldur, or correct the profile's ranges.",
        ),
    ]


def _judged(check: str, judged: Judgement | Unanswered, wanted: str, remedy: str) -> Finding:
    if isinstance(judged, Unanswered):
        return _unanswered(check, judged, wanted, remedy)
    if judged.status == "pass":
        return passed(check, judged.found, wanted, subject=REPORTER)
    make = failed if judged.status == "fail" else unknown
    return make(check, judged.found, wanted, remedy, subject=REPORTER)


def _unanswered(check: str, answer: Unanswered, wanted: str, remedy: str) -> Finding:
    make = failed if answer.definite else unknown
    return make(check, answer.why, wanted, remedy, subject=REPORTER)


def agent_directory_findings(host: Host, site: Site, run_as: RunAs) -> list[Finding]:
    """Simple bind, who-am-I, both bases whole, forbidden writes on the probe entry (I7, I8, S8)."""
    agent = site.profile.reporter.agent
    wanted = f"a simple bind at {agent.url} as {agent.bind_dn}"
    try:
        password = read_credential(host.paths, site, REPORTER, LDAP_PASSWORD, host.limits)
    except Refusal as refusal:
        return [unknown("ldap.agent-bind", refusal.found, wanted, refusal.remedy)]
    answer = ask_agent_directory(
        host.run,
        agent,
        password=password,
        probe_entry=site.profile.ldap.ssh_access.probe_entry,
        run_as=run_as,
        timeout=host.limits.probe_seconds,
    )
    if isinstance(answer, str):
        remedy = "Check that the directory listens there, the password, and that the probe entry exists."
        return [unknown("ldap.agent-bind", answer, wanted, remedy)]
    if answer.credentials_refused:
        remedy = (
            "Correct the password (credential ldap-password of the reporter), or its entry in the directory."
        )
        found = "the directory refuses the name or the password (invalidCredentials)"
        return [failed("ldap.agent-bind", found, wanted, remedy)]
    if not same_identity(answer.identity, agent.bind_dn):
        remedy = "Have the directory know the agent by the profile's name."
        found = f"who-am-I says {answer.identity or 'nobody'}"
        return [failed("ldap.agent-bind", found, wanted, remedy)]
    bases = [finding for base in answer.bases for finding in _base(base, agent.bind_dn)]
    told = passed("ldap.agent-bind", answer.identity, wanted)
    return [told, *bases, _absence(answer), _writes(answer, site)]


def _base(base: ListedBase, bind_dn: str) -> list[Finding]:
    wanted = "a base that the agent can list"
    if base.outcome == "absent":
        remedy = "Correct the base in the profile, or let the agent read it."
        return [failed("ldap.agent-bases", f"{base.name} is not there", wanted, remedy, subject=base.name)]
    findings = [passed("ldap.agent-bases", f"{base.listed} entries", wanted, subject=base.name)]
    wanted = "every entry in one answer: an incomplete inventory is never reported (S8)"
    if base.outcome == "complete":
        return [*findings, passed("ldap.agent-limits", f"all {base.listed}", wanted, subject=base.name)]
    held = "more" if base.held is None else str(base.held)
    found = f"the list is cut after {base.listed} entries; there are {held}"
    remedy = f'Lift the limit for the agent (olcLimits: dn.exact="{bind_dn}" size=unlimited time=unlimited).'
    return [*findings, failed("ldap.agent-limits", found, wanted, remedy, subject=base.name)]


def _absence(answer: AgentAnswer) -> Finding:
    """A rule can hide an entry from the agent; its account is then not reported as gone (X1)."""
    wanted = "an entry that is there told from one that is not, whatever the access rules hide"
    wrong = [f"{s.name}: {s.found}, wanted {s.wanted}" for s in answer.absence if s.found != s.wanted]
    if wrong or not answer.absence:
        remedy = (
            "Let the agent reach the server that takes changes, with RFC 4528's assertion control: else a"
            " deleted account stays in doubt, and its allocations are not reported."
        )
        return failed("ldap.agent-absence", "; ".join(wrong) or "nothing was tried", wanted, remedy)
    return passed("ldap.agent-absence", "told apart", wanted)


def _writes(answer: AgentAnswer, site: Site) -> Finding:
    entry = site.profile.ldap.ssh_access.probe_entry
    wanted = f"on {entry}: neither sshPublicKey nor userPassword, no uid outside the members' range"
    wrong = [f"{s.name}: {s.found}, wanted {s.wanted}" for s in answer.steps if s.found != s.wanted]
    if wrong or not answer.steps:
        remedy = "Ask the directory's administrators to correct the access rules; `policy` is theirs (I9)."
        return failed("ldap.agent-acl", "; ".join(wrong) or "no step was tried", wanted, remedy)
    return passed("ldap.agent-acl", f"{len(answer.steps)} steps as wanted", wanted)


def mode_finding(profile: ReporterProfile) -> Finding:
    """Modes of the upstream agent that remove accounts or jobs wait for evidence (I16, S9, S11)."""
    wanted = f"{REPORT_MODE} alone, until removal is gated by accepted evidence"
    found = ", ".join(profile.site_agent_modes)
    if profile.site_agent_modes == (REPORT_MODE,):
        return passed("site-agent.modes", found, wanted, subject=REPORTER)
    remedy = "Take the modes out that remove accounts, associations or jobs."
    return failed("site-agent.modes", found, wanted, remedy, subject=REPORTER)

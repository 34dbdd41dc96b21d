"""Evidence, judged for each component; and what it says of members' tokens, compared with what the controller
trusts (I12, S2). Each returns findings; a folder that cannot be read is the phase's refusal.
"""

from collections.abc import Sequence

from installer.domain.checks import Finding, failed, passed, unknown
from installer.domain.components import RUNTIME
from installer.domain.contracts import DELEGATION, NEEDS
from installer.domain.evidence import Candidate, Demand, judge_evidence, token_keys
from installer.domain.profile_runtime import RuntimeProfile
from installer.domain.refusal import Refusal
from installer.domain.slurm import SlurmUnreadable, parse_settings
from installer.domain.slurm_runtime import parse_key_ids, parse_parameters
from installer.host.context import Host
from installer.host.files import read_file
from installer.host.identities import local_identity
from installer.host.releases import InstalledRelease
from installer.host.site_inputs import Site
from installer.phases.checks_slurm import Unanswered, asking

_SECOND_LINE = (
    "the controller is no second line: it checks neither issuer nor audience, and whoever signs with these"
    " keys is any user of Slurm, root too"
)


def evidence_findings(
    host: Host,
    site: Site,
    installed: InstalledRelease,
    components: Sequence[str],
    candidates: Sequence[Candidate],
) -> list[Finding]:
    """One finding for each contract each component needs (I12)."""
    return [
        finding
        for name in components
        for finding in judge_evidence(candidates, _demand(host, site, installed, name))
    ]


def token_finding(
    host: Host, site: Site, installed: InstalledRelease, candidates: Sequence[Candidate] | None
) -> Finding:
    """The key ids in the controller's ``jwks`` are exactly those of the evidence (S2); without evidence it is
    told that they were not compared.
    """
    check, wanted = "runtime.token-keys", "exactly the key ids that the evidence names"
    if candidates is None:
        remedy = f"validate --evidence DIR compares them with {DELEGATION}; activate always does."
        found = f"not compared; {_SECOND_LINE}"
        return Finding(check=check, status="warn", found=found, wanted=wanted, remedy=remedy, subject=RUNTIME)
    keys = token_keys(candidates, _demand(host, site, installed, RUNTIME))
    if keys is None:
        remedy = f"Have evidence of {DELEGATION} issued with --token-key for each key, and --user-claim."
        return unknown(check, "no accepted evidence names them", wanted, remedy, subject=RUNTIME)
    profile = site.profile.for_runtime
    claim = profile.section.member_tokens.user_claim
    if keys.userClaim != claim:
        remedy = (
            "Correct runtime.member_tokens.user_claim and userclaimfield, or have the evidence issued again."
        )
        found = f"the evidence is for the claim {keys.userClaim}, the profile says {claim}"
        return failed(check, found, wanted, remedy, subject=RUNTIME)
    try:
        path = profile.section.member_tokens.jwks_file or _controllers_path(host, installed, profile)
    except (Refusal, Unanswered, SlurmUnreadable) as error:
        remedy = "Have slurmctld running and AuthAltParameters name its jwks (docs/policy/slurm.md)."
        return unknown(check, str(error), wanted, remedy, subject=RUNTIME)
    try:
        trusted = _trusted(host, path)
    except (Refusal, Unanswered, SlurmUnreadable) as error:
        remedy = "Name a copy of the controller's key set on this host: runtime.member_tokens.jwks_file."
        found = error.found if isinstance(error, Refusal) else str(error)
        return unknown(check, found, wanted, remedy, subject=RUNTIME)
    return _compared(path, trusted, frozenset(keys.keyIds))


def _compared(path: str, trusted: frozenset[str], named: frozenset[str]) -> Finding:
    check, wanted = "runtime.token-keys", f"exactly {_listed(named)}, as the evidence says"
    if trusted == named:
        return passed(check, f"{path} trusts {_listed(trusted)}; {_SECOND_LINE}", wanted, subject=RUNTIME)
    more, less = trusted - named, named - trusted
    wrong = [f"trusts {_listed(more)} besides"] if more else []
    wrong += [f"does not trust {_listed(less)}"] if less else []
    remedy = (
        "Put the issuer's key set for this site's Slurm there and restart slurmctld, or have new evidence"
        " issued."
    )
    return failed(check, f"{path} {', '.join(wrong)}; {_SECOND_LINE}", wanted, remedy, subject=RUNTIME)


def _controllers_path(host: Host, installed: InstalledRelease, profile: RuntimeProfile) -> str:
    """What AuthAltParameters calls ``jwks``; asked as the component's user. Raises as asking does."""
    user = installed.component(RUNTIME).user
    identity = local_identity(host.paths, user)
    if identity is None:
        raise Unanswered(f"no user {user}, to ask Slurm as")
    settings = parse_settings(asking(host, profile.slurm, identity.run_as)("scontrol", "show", "config"))
    path = parse_parameters(settings.get("authaltparameters", "")).get("jwks", "")
    if not path.startswith("/"):
        raise Unanswered("AuthAltParameters names no jwks")
    return path


def _trusted(host: Host, path: str) -> frozenset[str]:
    file = read_file(host.paths.at(path), limit=host.limits.authority_size)
    if file is None:
        raise Unanswered(f"{path} is not on this host")
    return parse_key_ids(file.data)


def _demand(host: Host, site: Site, installed: InstalledRelease, component: str) -> Demand:
    needed = dict.fromkeys((*NEEDS[component], *installed.component(component).contracts))
    return Demand(
        component=component,
        contracts=tuple(needed),
        revisions=installed.manifest.contracts,
        profile=site.profile,
        now=host.clock.now(),
    )


def _listed(ids: frozenset[str]) -> str:
    return ", ".join(sorted(ids))

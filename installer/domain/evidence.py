"""Signed evidence that an external contract was accepted, judged for one component (I12).

For each contract the component needs there must be one file that
1. is signed by a key of the site's ``evidence_signers`` (checked before this module sees it),
2. names the contract, this component and this site,
3. accepts the very revision the release implements,
4. was issued in the past and is valid now,
5. is no laboratory evidence, unless the profile is a laboratory's (X8).
Other files in the folder are left alone; a needed contract reports why each candidate was not accepted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import msgspec

from installer.domain.checks import Finding, failed, passed
from installer.domain.contracts import DELEGATION
from installer.domain.profile import Profile
from installer.domain.refusal import USAGE, Refusal
from installer.domain.times import format_time, parse_time

NAMESPACE = "pharos-hpc-evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenKeys:
    """The issuer's keys that sign members' tokens for this Site's Slurm alone, and the claim that names the
    user (S2).
    """

    keyIds: tuple[str, ...]  # noqa: N815 - the file's spelling
    userClaim: str  # noqa: N815


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One evidence file's statement; times are RFC 3339. Field names are the file's."""

    schema: Literal[1]
    contract: str
    revision: str
    component: str
    site: str
    issuedBy: str  # noqa: N815 - the file's spelling
    issuedAt: str  # noqa: N815
    validUntil: str  # noqa: N815
    laboratory: bool
    tokenKeys: TokenKeys | None = None  # noqa: N815
    """With the contract ``member-credential-delegation`` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A file as it was found: its statement with the signer, or why it cannot be used at all."""

    name: str
    evidence: Evidence | None
    signer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is asked of the evidence for one component."""

    component: str
    contracts: Sequence[str]
    revisions: Mapping[str, str]
    """The revision of each contract the release implements (manifest)."""
    profile: Profile
    now: datetime


def parse_evidence(document: Mapping[str, object]) -> Evidence:
    """The statement in a document its schema accepted. Raises Refusal ``evidence_invalid``."""
    try:
        evidence = msgspec.convert(document, Evidence, strict=True)
    except msgspec.ValidationError as error:
        raise Refusal(
            "evidence_invalid",
            found="an evidence file of another shape",
            wanted="schema, contract, revision, component, site, issuedBy, issuedAt, validUntil, laboratory",
            remedy="Have it issued again; it is not written by hand.",
            exit_code=USAGE,
        ) from error
    parse_time(evidence.issuedAt, what="issuedAt")
    parse_time(evidence.validUntil, what="validUntil")
    return evidence


def token_keys(candidates: Sequence[Candidate], demand: Demand) -> TokenKeys | None:
    """What the accepted evidence says of members' tokens (S2); None while none is accepted."""
    for candidate in candidates:
        evidence = candidate.evidence
        accepted = evidence is not None and evidence.contract == DELEGATION
        if evidence is not None and accepted and _why_not(evidence, demand) is None:
            return evidence.tokenKeys
    return None


def judge_evidence(candidates: Sequence[Candidate], demand: Demand) -> list[Finding]:
    """One finding for each contract the component needs."""
    return [_judge_contract(contract, candidates, demand) for contract in demand.contracts]


def _judge_contract(contract: str, candidates: Sequence[Candidate], demand: Demand) -> Finding:
    revision = demand.revisions.get(contract)
    whom = f"{demand.component} at {demand.profile.site}"
    wanted = f"signed evidence for {contract} at revision {revision}, for {whom}"
    reasons: list[str] = []
    for candidate in candidates:
        if candidate.evidence is None:
            reasons.append(f"{candidate.name}: {candidate.problem}")
            continue
        if candidate.evidence.contract != contract:
            continue
        reason = _why_not(candidate.evidence, demand)
        if reason is None:
            found = (
                f"{candidate.name}, signed by {candidate.signer}, valid until {candidate.evidence.validUntil}"
            )
            return passed("evidence", found + _loud(candidate.evidence), wanted, subject=contract)
        reasons.append(f"{candidate.name}: {reason}")
    found = "; ".join(reasons) or "no evidence file names it"
    remedy = (
        "Ask the contract's owner for evidence of this revision (central's: `pharos-central evidence issue`)."
    )
    return failed("evidence", found, wanted, remedy, subject=contract)


def _loud(evidence: Evidence) -> str:
    return " (LABORATORY evidence: proves nothing for production)" if evidence.laboratory else ""


def _why_not(evidence: Evidence, demand: Demand) -> str | None:
    now, until = demand.now, parse_time(evidence.validUntil, what="validUntil")
    issued = parse_time(evidence.issuedAt, what="issuedAt")
    if evidence.component != demand.component:
        return f"for component {evidence.component}"
    if evidence.site != demand.profile.site:
        return f"for site {evidence.site}"
    if evidence.revision != demand.revisions.get(evidence.contract):
        return f"accepts revision {evidence.revision}"
    if issued > now:
        return f"issued at {evidence.issuedAt}, after now ({format_time(now)})"
    if until <= now:
        return f"expired at {evidence.validUntil} (now {format_time(now)})"
    if evidence.laboratory and not demand.profile.laboratory:
        return "laboratory evidence, and this profile is for production (X8)"
    if evidence.contract == DELEGATION and evidence.tokenKeys is None:
        return "it names no tokenKeys (S2)"
    return None

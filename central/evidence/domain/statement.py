"""What evidence says: this contract, at this revision, was accepted for this component of this Site (I12).

Evidence of a laboratory is marked, and a production profile refuses it (X8).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from central.kernel.site_names import no_such_site

DELEGATION: Final = "member-credential-delegation"
CONTRACTS: Final = (
    "central-bootstrap",
    "beto-synchronisation",
    "member-site-project-bindings",
    "project-run-cancel-authority",
    DELEGATION,
    "repository-grants",
    "member-owned-workspace",
)
"""The contracts of the ledger's I12, in its order."""


_OF_A_REPORTER: Final = CONTRACTS[:3]
NEEDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"ssh-access": _OF_A_REPORTER, "runtime": CONTRACTS, "reporter": _OF_A_REPORTER}
)
"""Which contracts a component needs before it may run at a Site."""
NAMESPACE: Final = "pharos-hpc-evidence"
"""What `ssh-keygen -Y` signs under, so that a signature made for something else is no evidence."""

_REVISION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_KEY_ID: Final = re.compile(r"[\x21-\x7e]{1,256}")
_CLAIM: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_KEYS_AT_MOST: Final = 16
_VALID_AT_MOST: Final = timedelta(days=400)


class EvidenceRefused(Exception):
    """A statement that is not made. The message says what was found, what is wanted, what to do."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenKeys:
    """The issuer's keys (`kid`, RFC 7517) that sign for this Site's Slurm alone, and the claim that names the
    user, always a member's (S2): Slurm itself checks neither issuer nor audience.
    """

    key_ids: tuple[str, ...]
    user_claim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One piece of evidence; times carry a zone. `issued_by` names the person or office that accepted.

    `token_keys` stands in evidence of `member-credential-delegation`, and in no other.
    """

    contract: str
    revision: str
    component: str
    site: str
    issued_by: str
    issued_at: datetime
    valid_until: datetime
    laboratory: bool
    token_keys: TokenKeys | None = None


def check(statement: Statement, sites: Collection[str]) -> Statement:
    """The statement, if every part of it can be meant. `sites` are the platform's. `EvidenceRefused`."""
    if statement.contract not in CONTRACTS:
        raise EvidenceRefused(
            "evidence_contract", f"no contract {statement.contract!r}; there are {', '.join(CONTRACTS)}"
        )
    if statement.component not in NEEDS:
        raise EvidenceRefused(
            "evidence_component", f"no component {statement.component!r}; there are {', '.join(NEEDS)}"
        )
    if statement.contract not in NEEDS[statement.component]:
        raise EvidenceRefused(
            "evidence_contract",
            f"{statement.component} does not need {statement.contract}: no Site would read it. It needs "
            + ", ".join(NEEDS[statement.component]),
        )
    if statement.site not in sites:
        raise EvidenceRefused(
            "evidence_site", f"{no_such_site(statement.site, sites)}; PHAROS_SITES names the Sites"
        )
    if not _REVISION.fullmatch(statement.revision):
        raise EvidenceRefused(
            "evidence_revision",
            "the revision is 1 to 128 letters, digits, dots, colons and dashes; "
            "the release's manifest holds it",
        )
    if not 1 <= len(statement.issued_by) <= 128 or not statement.issued_by.isprintable():
        raise EvidenceRefused("evidence_issuer", "who accepted is named in 1 to 128 printable characters")
    lasts = statement.valid_until - statement.issued_at
    if not timedelta() < lasts <= _VALID_AT_MOST:
        raise EvidenceRefused(
            "evidence_until",
            f"evidence ends in the future and within {_VALID_AT_MOST.days} days; accept again then",
        )
    _check_token_keys(statement.contract, statement.token_keys)
    return statement


def _check_token_keys(contract: str, keys: TokenKeys | None) -> None:
    if contract != DELEGATION:
        if keys is not None:
            raise EvidenceRefused("evidence_token_keys", f"keys of tokens stand in {DELEGATION} alone")
        return
    ids = keys.key_ids if keys is not None else ()
    if not 1 <= len(set(ids)) == len(ids) <= _KEYS_AT_MOST or not all(_KEY_ID.fullmatch(kid) for kid in ids):
        raise EvidenceRefused(
            "evidence_token_keys",
            f"{DELEGATION} names 1 to {_KEYS_AT_MOST} key ids (--token-key), each once: those in the key set "
            "with which the issuer signs for this Site's Slurm and for nothing else",
        )
    if keys is None or not _CLAIM.fullmatch(keys.user_claim):
        raise EvidenceRefused(
            "evidence_user_claim", "the claim that names the user is wanted (--user-claim preferred_username)"
        )

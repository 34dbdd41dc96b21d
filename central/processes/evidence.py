"""What `pharos-central evidence` does: no database, one key named by its path."""

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from central.evidence.adapters.signed_files import SignedFiles
from central.evidence.application.issue_evidence import IssueEvidence
from central.evidence.domain.statement import EvidenceRefused, Statement, TokenKeys
from central.grants.domain.grant import GrantRefused
from central.kernel.times import utc_now
from central.processes.operator import parse_expiry


def issue(
    *,
    contract: str,
    revision: str,
    component: str,
    site: str,
    issued_by: str,
    until: str,
    key: Path,
    output: Path,
    laboratory: bool,
    sites: Collection[str],
    token_keys: tuple[str, ...] = (),
    user_claim: str = "",
) -> Path:
    """Issues one piece of evidence now; the signature's path. `sites`: the platform's. `EvidenceRefused`."""
    if output.suffix != ".yaml":
        raise EvidenceRefused(
            "evidence_name",
            f"--output {output.name}: a Site reads the .yaml files of a folder alone; end it so",
        )
    now = utc_now().replace(microsecond=0)
    statement = Statement(
        contract=contract,
        revision=revision,
        component=component,
        site=site,
        issued_by=issued_by,
        issued_at=now,
        valid_until=_until(until, now),
        laboratory=laboratory,
        token_keys=TokenKeys(key_ids=token_keys, user_claim=user_claim) if token_keys or user_claim else None,
    )
    return IssueEvidence(SignedFiles(), sites)(statement, output, key)


def _until(text: str, now: datetime) -> datetime:
    try:
        return parse_expiry(text, now)
    except GrantRefused as error:
        raise EvidenceRefused("evidence_until", str(error).replace("--expires", "--until")) from None

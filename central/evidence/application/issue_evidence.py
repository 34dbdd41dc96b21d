"""An operator issues central's evidence to a Site (ledger I12)."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from central.evidence.domain.statement import Statement, check


class EvidenceFolder(Protocol):
    """Where evidence is written and signed."""

    def write(self, statement: Statement, path: Path, signing_key: Path) -> Path:
        """Writes `path` and its signature beside it; both are there or neither. The signature's path."""
        ...


@dataclass(frozen=True, slots=True)
class IssueEvidence:
    """The use case. `sites` are those of the platform."""

    folder: EvidenceFolder
    sites: Collection[str]

    def __call__(self, statement: Statement, path: Path, signing_key: Path) -> Path:
        """The signature's path. Raises `EvidenceRefused`, `SigningFailed`."""
        return self.folder.write(check(statement, self.sites), path, signing_key)

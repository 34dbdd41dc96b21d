"""What the release tool says no to: one family, a stable code, what was found and wanted, the remedy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "components_malformed": "release/components.yaml is not what its reader wants",
        "source_unavailable": "git cannot give the revision",
        "epoch_malformed": "SOURCE_DATE_EPOCH is not a commit's time in seconds",
        "wheel_build_failed": "hatchling could not build our own wheel",
        "lock_missing": "a lock file is not in release/locks",
        "lock_malformed": "a lock file has a line that is not pinned and hashed",
        "lock_drift": "a lock no longer satisfies pyproject.toml",
        "resolve_failed": "pip could not resolve the dependencies",
        "download_failed": "pip could not fetch a locked wheel",
        "wheel_malformed": "a wheel cannot be read, or is not what its name says",
        "wheel_platform": "a wheel is for another Python, processor or a newer glibc",
        "closure_incomplete": "a dependency is missing, of the wrong version, or in nobody's need",
        "member_refused": "a file that the archive's own rules refuse",
        "signing_failed": "ssh-keygen could not sign",
        "key_exists": "a key is there already and is not overwritten",
        "provenance_mismatch": "provenance, SBOM and archive disagree",
    }
)


class ReleaseError(Exception):
    """The release cannot be made (exit code 1) or, told by ``verify``, is not one (4)."""

    exit_code = 1

    def __init__(self, code: str, *, found: str, wanted: str, remedy: str) -> None:
        if code not in CODES:
            raise LookupError(code)
        super().__init__(code, found, wanted, remedy)
        self.code = code
        self.found = found
        self.wanted = wanted
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.code}\n  found:  {self.found}\n  wanted: {self.wanted}\n  remedy: {self.remedy}"

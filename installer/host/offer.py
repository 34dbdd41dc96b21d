"""The archive the bootstrap verified and handed over, verified again before it is used (I2, I4)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from installer.bootstrap.archive import VerifiedArchive, open_verified
from installer.domain.refusal import USAGE, VERIFICATION_FAILED, Refusal
from installer.host.paths import HostPaths
from installer.host.site_inputs import Site

ARCHIVE, DIGEST = "PHAROS_ARCHIVE", "PHAROS_ARCHIVE_SHA256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Where the archive lies, and the digest the bootstrap verified."""

    path: Path
    sha256: str


def offer_of(environment: Mapping[str, str]) -> Offer | None:
    """The offer in the environment; None when the installer was not started by install.sh."""
    path, digest = environment.get(ARCHIVE, ""), environment.get(DIGEST, "")
    return Offer(path=Path(path), sha256=digest) if path and digest else None


@contextmanager
def opened(paths: HostPaths, site: Site, offer: Offer | None) -> Iterator[VerifiedArchive]:
    """The archive for the block. Raises Refusal ``archive_absent`` (2), ``archive_replaced`` (4) and
    verification's.
    """
    if offer is None:
        raise Refusal(
            "archive_absent",
            found="no archive",
            wanted="a release archive, verified by install.sh",
            remedy="Extract the archive and run its install.sh with this phase.",
            exit_code=USAGE,
        )
    signers = paths.at(site.config.allowed_signers)
    with open_verified(offer.path, allowed_signers=signers, trust=paths.trust) as archive:
        if archive.sha256 != offer.sha256:
            raise Refusal(
                "archive_replaced",
                found=f"{offer.path} is {archive.sha256[:12]}… now",
                wanted=f"{offer.sha256[:12]}…, which install.sh verified",
                remedy="Somebody replaced the archive meanwhile. Find out who, then start again.",
                exit_code=VERIFICATION_FAILED,
            )
        yield archive

"""Who makes each part of the hand-off, for the refusal of a part that is not there (I3)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SITE_CONFIG: Final = "site configuration"
PROFILE: Final = "profile"
SIGNERS: Final = "the allowed signers"
CREDENTIAL: Final = "credential"
CREDENTIALS: Final = "credential folder"
EVIDENCE: Final = "evidence folder"
AUTHORITY: Final = "the certificate authority"
ARCHIVE: Final = "the archive"

_RECEIVE: Final = 'docs/administrator.md, "What you receive, and from whom"'
_PUT: Final = 'docs/administrator.md, "The hand-off on the host"'

MAKERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        SITE_CONFIG: f"You write it, five lines that name the others: {_PUT}; or name another: --config.",
        PROFILE: f"The platform's operators make it with you: {_RECEIVE}. site.yaml says where it lies.",
        SIGNERS: "Who may sign: from the maintainers (evidence: the contracts' owners), by another way than"
        f" the archive: {_RECEIVE}.",
        CREDENTIAL: f"The platform's operators hand it over privately: {_RECEIVE}.",
        CREDENTIALS: f"You make it, 0700, with the credentials the operators handed over: {_PUT}.",
        EVIDENCE: f"The owners of the contracts make and sign it: {_RECEIVE}.",
        AUTHORITY: f"The platform's operators hand it over: {_RECEIVE}.",
        ARCHIVE: "It comes from the platform's maintainers and stays beside its extracted folder, with its"
        f" signatures; or name it: --archive FILE. See {_RECEIVE}.",
    }
)


def maker_of(what: str) -> str:
    """Who makes the part ``what`` (of an authority, the place that names it may follow); else empty."""
    return MAKERS.get(AUTHORITY if what.startswith(AUTHORITY) else what, "")

"""The one site configuration file, ``/etc/pharos-hpc/site.yaml`` (I1, I3): where the hand-off's parts are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from installer.domain.profile_rules import is_plain_path
from installer.domain.refusal import USAGE, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfig:
    """Absolute paths of the profile, the credential folder and the two lists of accepted signing keys."""

    schema: Literal[1]
    profile: str
    credentials: str
    allowed_signers: str
    evidence_signers: str
    inventory: str = ""
    """For several targets (I19); accepted, not used yet."""


def parse_site_config(document: Mapping[str, object]) -> SiteConfig:
    """The configuration in a document its schema accepted. Raises Refusal ``site_config_invalid``."""
    try:
        config = msgspec.convert(document, SiteConfig, strict=True)
    except msgspec.ValidationError as error:
        raise _invalid(
            "its shape", "the keys schema, profile, credentials, allowed_signers, evidence_signers"
        ) from error
    named = ("profile", "credentials", "allowed_signers", "evidence_signers")
    for name in (*named, *(("inventory",) if config.inventory else ())):
        if not is_plain_path(getattr(config, name)):
            raise _invalid(name, "an absolute path without `.`, `..` or doubled slashes")
    return config


def _invalid(where: str, wanted: str) -> Refusal:
    return Refusal(
        "site_config_invalid",
        found=f"site configuration: {where} is not acceptable",
        wanted=wanted,
        remedy="See profiles/README.md for a whole example.",
        exit_code=USAGE,
    )

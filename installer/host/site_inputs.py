"""The hand-off as a phase needs it: site configuration, profile, credentials, evidence; all read strictly
(I3, H22).
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from installer.bootstrap.handoff import (
    AUTHORITY,
    CREDENTIAL,
    CREDENTIALS,
    EVIDENCE,
    PROFILE,
    SITE_CONFIG,
)
from installer.bootstrap.inputs import open_folder, open_input, read_input
from installer.bootstrap.signature import verify_one
from installer.domain.evidence import NAMESPACE, Candidate, parse_evidence
from installer.domain.limits import Limits
from installer.domain.profile import Profile, parse_profile
from installer.domain.refusal import USAGE, VERIFICATION_FAILED, Refusal
from installer.domain.site_config import SiteConfig, parse_site_config
from installer.host.paths import HostPaths
from installer.host.yaml_input import check_yaml, read_yaml

_EVIDENCE_FILES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The hand-off's public part."""

    config: SiteConfig
    profile: Profile


def load_site(paths: HostPaths, config: Path, limits: Limits) -> Site:
    """Site configuration and profile. Raises Refusal."""
    document = read_yaml(
        config, what=SITE_CONFIG, schema="site-config.schema.json", trust=paths.trust, limits=limits
    )
    parsed = parse_site_config(document)
    profile = read_yaml(
        paths.at(parsed.profile),
        what=PROFILE,
        schema="profile.schema.json",
        trust=paths.trust,
        limits=limits,
    )
    return Site(config=parsed, profile=parse_profile(profile))


def read_credential(paths: HostPaths, site: Site, component: str, name: str, limits: Limits) -> bytes:
    """One private credential without its line end. Raises Refusal; the value is in no message (X5)."""
    path = paths.at(f"{site.config.credentials}/{component}/{name}")
    with open_folder(path.parent, what=CREDENTIALS, trust=paths.trust) as folder:
        _refuse_wide(os.fstat(folder), path.parent, 0o700)
    descriptor = open_input(path, what=CREDENTIAL, trust=paths.trust, size_limit=limits.credential_size)
    with os.fdopen(descriptor, "rb") as file:
        _refuse_wide(os.fstat(descriptor), path, 0o600)
        data = file.read(limits.credential_size).strip()
    if not data or not data.isascii() or any(byte <= 0x20 or byte == 0x7F for byte in data):
        raise Refusal(
            "credential_malformed",
            found=f"{path} is empty or holds blanks, control or other than ASCII characters",
            wanted="one token",
            remedy="Put the token's file there again, as it was handed over.",
            exit_code=VERIFICATION_FAILED,
        )
    return data


def read_authority(paths: HostPaths, site: Site, limits: Limits) -> bytes | None:
    """The certificates the Site API is verified against, whole; None when the profile names no file."""
    return read_authority_file(paths, site.profile.site_api.ca_file, "site_api.ca_file", limits)


def read_authority_file(paths: HostPaths, name: str, where: str, limits: Limits) -> bytes | None:
    """The certificates in the file ``name`` that the profile gives at ``where``, whole; None for no name.

    Who can change them can be the service, so they are an input like any other. Raises Refusal ``input_*``.
    """
    if not name:
        return None
    what = f"{AUTHORITY} of {where}"
    return read_input(paths.at(name), what=what, size_limit=limits.authority_size, trust=paths.trust)


def read_evidence(paths: HostPaths, site: Site, folder: Path, limits: Limits) -> list[Candidate]:
    """Every evidence file of ``folder``, its signature verified. Raises Refusal for the folder itself."""
    with open_folder(folder, what=EVIDENCE, trust=paths.trust) as descriptor:
        listed = os.listdir(descriptor)  # noqa: PTH208 - the very folder that was judged, by its descriptor
    names = sorted(name for name in listed if name.endswith((".yaml", ".yml")))
    if len(names) > _EVIDENCE_FILES:
        raise Refusal(
            "evidence_too_many",
            found=f"{len(names)} evidence files in {folder}",
            wanted=f"at most {_EVIDENCE_FILES}",
            remedy="Keep the evidence of this site alone there.",
            exit_code=USAGE,
        )
    return [_candidate(paths, site, folder / name, limits) for name in names]


def _candidate(paths: HostPaths, site: Site, path: Path, limits: Limits) -> Candidate:
    try:
        descriptor = open_input(path, what="evidence", trust=paths.trust, size_limit=limits.input_size)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
        signer = verify_one(
            data,
            path.with_name(f"{path.name}.sig"),
            namespace=NAMESPACE,
            allowed_signers=paths.at(site.config.evidence_signers),
            trust=paths.trust,
        )
        evidence = parse_evidence(
            check_yaml(data, what=f"evidence {path.name}", schema="evidence.schema.json")
        )
    except Refusal as refusal:
        return Candidate(name=path.name, evidence=None, problem=f"{refusal.code}: {refusal.found}")
    return Candidate(name=path.name, evidence=evidence, signer=signer)


def _refuse_wide(status: os.stat_result, path: Path, wanted: int) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise Refusal(
            "credential_exposed",
            found=f"{path} has mode {mode:04o}",
            wanted=f"{wanted:04o}: root's alone",
            remedy=f"chmod {wanted:04o} {path}; if others could read it, have it replaced.",
            exit_code=VERIFICATION_FAILED,
        )

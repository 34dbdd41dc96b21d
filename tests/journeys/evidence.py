"""Signed evidence that external contracts were accepted, issued with central's own command (I12).

It is marked ``laboratory``: a production profile refuses it (X8).
"""

import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.journeys.central import SITE, Central
from tests.journeys.releases import Release
from tests.lab.processes import run

COMPONENT = "ssh-access"
DELEGATION = "member-credential-delegation"
NAMESPACE = "pharos-hpc-evidence"
PRINCIPAL = "platform@lab.test"


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that signs evidence, and the Site's line that accepts it (ssh-keygen(1), ALLOWED SIGNERS)."""

    private: Path
    allowed: bytes

    @classmethod
    def make(cls, folder: Path) -> Self:
        """A fresh key; evidence is all it may sign."""
        private = folder / "evidence-key"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(private)])
        public = private.with_name("evidence-key.pub").read_text().strip()
        return cls(private, f'{PRINCIPAL} namespaces="{NAMESPACE}" {public}\n'.encode())


def manifest_of(release: Release) -> dict[str, Any]:
    """The manifest in an archive."""
    with tarfile.open(release.archive.path) as archive:
        member = archive.extractfile(f"{release.archive.top_folder}/manifest.json")
        assert member is not None
        manifest: dict[str, Any] = json.load(member)
    return manifest


def issue(
    central: Central,
    signer: Signer,
    release: Release,
    folder: Path,
    *,
    components: Sequence[str] = (COMPONENT,),
    span: str = "1d",
    token_keys: Sequence[str] = (),
) -> list[Path]:
    """One signed file for each contract each component of ``release`` needs; the files and signatures.

    ``token_keys``: ids of the issuer's keys for this Site's Slurm (S2), for the component ``runtime``.
    """
    manifest = manifest_of(release)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for component in components:
        for contract in manifest["components"][component]["contracts"]:
            name = contract if component == COMPONENT else f"{component}-{contract}"
            output = folder / f"{name}.yaml"
            words = ["--contract", contract, "--revision", manifest["contracts"][contract]]
            words += ["--component", component, "--site", SITE, "--issued-by", PRINCIPAL, "--until", span]
            words += ["--key", str(signer.private), "--output", str(output), "--laboratory"]
            if contract == DELEGATION:
                words += [word for key in token_keys for word in ("--token-key", key)]
                words += ["--user-claim", "preferred_username"]
            central.operator("evidence", "issue", *words, PHAROS_SITES=SITE)
    return sorted(folder.iterdir())

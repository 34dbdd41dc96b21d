"""Signed evidence that external contracts were accepted, as their owners issue it (I12).

Each file is YAML, its signature beside it is ssh-keygen's over the file's bytes. What is issued here is
marked ``laboratory``: a production profile refuses it (X8).
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import yaml

from tests.lab.processes import run

NAMESPACE = "pharos-hpc-evidence"


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that signs, and its line for a list of accepted signers (ssh-keygen(1), ALLOWED SIGNERS)."""

    principal: str
    private: Path
    allowed: str

    @classmethod
    def make(cls, folder: Path, principal: str, namespace: str, kind: str = "ed25519") -> Self:
        """A fresh key; ``namespace`` is all it may sign."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = folder / f"{principal}-{kind}"
        run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", principal, "-f", str(private)])
        public = " ".join(private.with_name(f"{private.name}.pub").read_text().split()[:2])
        return cls(principal, private, f'{principal} namespaces="{namespace}" {public}\n')

    def sign(self, file: Path, namespace: str) -> Path:
        """Write ``FILE.sig``."""
        run(["ssh-keygen", "-q", "-Y", "sign", "-f", str(self.private), "-n", namespace, str(file)])
        return file.with_name(f"{file.name}.sig")


def issue(
    folder: Path,
    signer: Signer,
    revisions: Mapping[str, str],
    now: datetime.datetime,
    *,
    component: str = "ssh-access",
    site: str = "slurm",
) -> Path:
    """Write one signed file for each contract in ``revisions`` (contract → accepted revision)."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for contract, revision in revisions.items():
        statement = {
            "schema": 1,
            "contract": contract,
            "revision": revision,
            "component": component,
            "site": site,
            "issuedBy": signer.principal,
            "issuedAt": _text(now),
            "validUntil": _text(now + datetime.timedelta(days=1)),
            "laboratory": True,
        }
        file = folder / f"{contract}.yaml"
        file.write_text(yaml.safe_dump(statement, sort_keys=False))
        signer.sign(file, NAMESPACE)
    return folder


def _text(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

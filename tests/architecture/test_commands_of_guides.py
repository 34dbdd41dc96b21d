"""The verification commands of the guides are run as they are written, on good files and on bad ones."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Guide:
    """A page, the namespace its block verifies in, and the files the block names."""

    page: str
    namespace: str
    name: str
    suffix: str
    signers: str


GUIDES = [
    Guide(
        "README.md", "pharos-hpc-release", "pharos-hpc-site-v0.1.0.tar.gz", ".ed25519.sig", "allowed_signers"
    ),
    Guide(
        "docs/administrator.md", "pharos-hpc-evidence", "central-bootstrap.yaml", ".sig", "evidence_signers"
    ),
]
each_guide = pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.page)


def block_about(page: str, namespace: str) -> str:
    """The one shell block of a page that verifies in this namespace."""
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    (found,) = (block for block in blocks if f"-n {namespace}" in block)
    return str(found)


def run(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Type the block in `folder`, whose own files stand for /etc/pharos-hpc."""
    script = block.replace("/etc/pharos-hpc", str(folder))
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=30, check=False)


def signed(folder: Path, guide: Guide, namespace: str) -> None:
    """The guide's file with its signature, and the list that trusts the key for this namespace alone."""
    key, file = folder / "key", folder / guide.name
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)]
    subprocess.run(make, check=True, timeout=30)
    file.write_bytes(b"content")
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace, str(file)]
    subprocess.run(sign, check=True, timeout=30, capture_output=True)
    (folder / f"{guide.name}.sig").rename(folder / f"{guide.name}{guide.suffix}")
    public = key.with_suffix(".pub").read_text().strip()
    (folder / guide.signers).write_text(f'maintainer@example.org namespaces="{namespace}" {public}\n')


@each_guide
def test_block_verifies(tmp_path: Path, guide: Guide) -> None:
    signed(tmp_path, guide, guide.namespace)
    done = run(block_about(guide.page, guide.namespace), tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'Good "{guide.namespace}" signature for maintainer@example.org' in done.stdout


@each_guide
def test_block_refuses_other_bytes(tmp_path: Path, guide: Guide) -> None:
    signed(tmp_path, guide, guide.namespace)
    (tmp_path / guide.name).write_bytes(b"Content")
    assert run(block_about(guide.page, guide.namespace), tmp_path).returncode != 0


@each_guide
def test_block_refuses_another_namespace(tmp_path: Path, guide: Guide) -> None:
    signed(tmp_path, guide, "pharos-hpc-provenance")
    assert run(block_about(guide.page, guide.namespace), tmp_path).returncode != 0

"""The Site's key grammar answers every shared vector; ssh-keygen takes what it takes (E6, S7, C cases)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from site_bundle.ssh_access.domain.public_key import MalformedKeyError, parse_public_key
from tests.contract.goldens import key_vectors

VECTORS = key_vectors()


def _id(row: dict[str, Any]) -> str:
    return f"{row['case']}_{row['name']}" if row["case"] else str(row["name"])


@pytest.mark.parametrize("row", VECTORS["valid"], ids=_id)
def test_accepted(row: dict[str, Any]) -> None:
    key = parse_public_key(row["line"])
    assert (key.kind, key.line, key.fingerprint) == (row["type"], row["stored"], row["fingerprint"])


@pytest.mark.parametrize("row", VECTORS["refused"], ids=_id)
def test_refused(row: dict[str, Any]) -> None:
    with pytest.raises(MalformedKeyError) as caught:
        parse_public_key(row["line"])
    assert caught.value.code == row["code"]


@pytest.mark.parametrize("row", VECTORS["valid"], ids=_id)
def test_C10_what_is_stored_passes_ssh_keygen(row: dict[str, Any], tmp_path: Path) -> None:
    keygen = shutil.which("ssh-keygen")
    assert keygen, "openssh-client is missing: run tests/setup.sh as root"
    path = tmp_path / "key.pub"
    path.write_text(parse_public_key(row["line"]).line + "\n")
    done = subprocess.run([keygen, "-l", "-f", path], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    assert row["fingerprint"] in done.stdout

"""Central's grammar against OpenSSH itself, and its own bounds (C cases; E6)."""

import base64
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from central.ssh_access.domain.key_blob import CURVES
from central.ssh_access.domain.public_key import parse_public_key
from central.ssh_access.domain.refusals import KeyRefused
from tests.contract.goldens import key_vectors

SSH_KEYGEN = shutil.which("ssh-keygen")
VECTORS = key_vectors()


@pytest.mark.skipif(SSH_KEYGEN is None, reason="OpenSSH's ssh-keygen is not installed")
@pytest.mark.parametrize(
    "options",
    ["-t ed25519", "-t ecdsa -b 256", "-t ecdsa -b 384", "-t ecdsa -b 521", "-t rsa -b 3072"],
)
def test_a_fresh_key_of_openssh_is_accepted_with_its_fingerprint(options: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-N", "", "-C", "a b", "-f", path, *options.split()], check=True, timeout=120
    )
    key = parse_public_key(path.with_suffix(".pub").read_text())
    shown = subprocess.run(["ssh-keygen", "-lf", f"{path}.pub"], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[:2] == [str(key.bits), key.fingerprint]


@pytest.mark.skipif(SSH_KEYGEN is None, reason="OpenSSH's ssh-keygen is not installed")
def test_c10_what_is_stored_always_passes_ssh_keygen(tmp_path: Path) -> None:
    """One file of every accepted vector's stored form: ssh-keygen names each fingerprint."""
    lines = [parse_public_key(row["line"]).line for row in VECTORS["valid"]]
    path = tmp_path / "keys"
    path.write_text("\n".join(lines) + "\n")
    shown = subprocess.run(["ssh-keygen", "-lf", path], capture_output=True, text=True, check=True)
    wanted = [parse_public_key(line).fingerprint for line in lines]
    assert [line.split()[1] for line in shown.stdout.splitlines()] == wanted


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_no_point_of_a_curve_is_its_neighbour(curve: object) -> None:
    """The generator of each vector is on its curve; one bit off is not."""
    name = next(name for name, known in CURVES.items() if known is curve)
    row = next(row for row in VECTORS["valid"] if row["name"] == f"ecdsa_{name}")
    blob = base64.b64decode(row["stored"].split()[1])
    width = CURVES[name].width
    x, y = int.from_bytes(blob[-2 * width : -width], "big"), int.from_bytes(blob[-width:], "big")
    assert CURVES[name].holds(x, y)
    assert not CURVES[name].holds(x, y ^ 1)
    assert not CURVES[name].holds(x, CURVES[name].p + y)


@given(st.binary(max_size=400))
def test_any_blob_is_a_key_or_a_refusal(blob: bytes) -> None:
    """Nothing but `KeyRefused` ever leaves the parser."""
    line = f"ssh-ed25519 {base64.b64encode(blob).decode()}"
    try:
        key = parse_public_key(line)
    except KeyRefused as refused:
        assert refused.remedy
    else:
        assert key.line == line


@given(st.text(max_size=200))
def test_any_text_is_a_key_or_a_refusal(text: str) -> None:
    with pytest.raises(KeyRefused):
        parse_public_key(text)


@given(st.sampled_from(VECTORS["valid"]), st.data())
def test_no_refusal_repeats_the_key(row: dict[str, str], data: st.DataObject) -> None:
    """X5: what was found is told without the blob."""
    kind, blob = row["stored"].split()
    cut = data.draw(st.integers(24, len(blob) - 1))
    with pytest.raises(KeyRefused) as refused:
        parse_public_key(f"{kind} {blob[:cut]}")
    assert blob[:24] not in refused.value.found

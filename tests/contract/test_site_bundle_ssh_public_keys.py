"""The Site's key grammar answers every shared vector; ssh-keygen takes what it takes, and central answers
alike, whatever is pasted (E6, S7, C cases).
"""

from __future__ import annotations

import base64
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from central.ssh_access.domain import public_key as central
from central.ssh_access.domain.refusals import KeyRefused
from site_bundle.ssh_access.domain.public_key import MalformedKeyError, parse_public_key
from tests.contract.goldens import key_vectors
from tests.contract.ssh_key_vectors import (
    CERTIFICATE,
    ED25519,
    GENERATORS,
    SK_ECDSA,
    SK_ED25519,
    X_BEYOND_THE_ORDER,
    X_OF_128_BITS,
    X_OF_129_BITS,
    certificate,
    number,
    point,
    rsa,
    string,
    uncompressed,
)

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
    assert row["fingerprint"] in keygen(parse_public_key(row["line"]).line, tmp_path)


def keygen(line: str, folder: Path) -> str:
    """What ssh-keygen says of a line it takes."""
    program = shutil.which("ssh-keygen")
    assert program, "openssh-client is missing: run tests/setup.sh as root"
    path = folder / "key.pub"
    path.write_text(line + "\n")
    done = subprocess.run(
        [program, "-l", "-f", path], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Fields that are right, nearly right and wrong, put together in the order of a key; then a line around it.
KINDS = [
    ED25519,
    SK_ED25519,
    SK_ECDSA,
    "ssh-rsa",
    CERTIFICATE,
    "ssh-dss",
    *(f"ecdsa-sha2-{c}" for c in GENERATORS),
]
POINTS = [uncompressed(q) for q in (X_BEYOND_THE_ORDER, X_OF_128_BITS, X_OF_129_BITS)]
FIELDS = [
    *(string(kind.encode()) for kind in KINDS),
    *(string(curve.encode()) for curve in GENERATORS),
    *(string(q) for q in [*map(point, GENERATORS), *POINTS, point("nistp256")[:-1], b"\x00"]),
    *(string(bytes([17]) * size) for size in (31, 32, 33)),
    *(string(name) for name in (b"ssh:", b"", b"a" * 255, b"a" * 256, b"a b", b"\xff")),
    *(number(value) for value in (1, 3, 65536, 65537, (1 << 64) - 1, (1 << 64) + 1)),
    string(b"\0\0\3"),
    rsa(3072)[-389:],
    rsa(3071)[-388:],
    rsa(3072, even=True)[-389:],
    b"",
    b"\0",
    b"\xff" * 4,
]
SHAPES = [
    [string(ED25519.encode()), string(bytes(32))],
    [string(SK_ED25519.encode()), string(bytes(32)), string(b"ssh:")],
    [string(SK_ECDSA.encode()), string(b"nistp256"), string(point("nistp256")), string(b"ssh:")],
    [string(b"ssh-rsa"), number(65537), rsa(3072)[-389:]],
    *(
        [string(f"ecdsa-sha2-{curve}".encode()), string(curve.encode()), string(point(curve))]
        for curve in GENERATORS
    ),
]


@st.composite
def blobs(draw: st.DrawFn) -> bytes:
    """A key with up to two fields exchanged for others, or one more."""
    fields = list(draw(st.sampled_from(SHAPES)))
    for _ in range(draw(st.integers(0, 2))):
        fields[draw(st.integers(0, len(fields) - 1))] = draw(st.sampled_from(FIELDS))
    return b"".join(fields) + draw(st.sampled_from([b"", b"", b"", b"x"]))


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line whose type mostly fits its blob, with things before, between and behind."""
    blob = draw(st.one_of(blobs(), st.just(certificate())))
    inner = blob[4 : 4 + int.from_bytes(blob[:4], "big")].decode("ascii", "replace")
    kind = draw(st.one_of(st.just(inner), st.sampled_from(KINDS)))
    encoded = draw(st.one_of(st.just(base64.b64encode(blob).decode()), st.text("AQ=/+_", max_size=9)))
    before = draw(st.sampled_from(["", "", "", "", " ", "\n", "no-pty ", "---- BEGIN ", "-----BEGIN", "\t"]))
    between = draw(st.sampled_from([" ", " ", " ", "  ", "\t", ""]))
    behind = draw(
        st.one_of(
            st.just(""),
            st.sampled_from(["=", "==", "A", " \n", "\r\n", " me", "\n" + ED25519, " " * 8192, " \ud800"]),
            st.text(max_size=5),
        )
    )
    return before + kind + between + encoded + behind


def answers(line: str) -> tuple[str, str]:
    """What each end says: the stored line, or the refusal's code."""
    try:
        ours = parse_public_key(line).line
    except MalformedKeyError as error:
        ours = error.code
    try:
        theirs = central.parse_public_key(line).line
    except KeyRefused as refused:
        theirs = refused.refusal.value
    return ours, theirs


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines())
@example("---- BEGIN X")
@example(f"no-pty {CERTIFICATE} AAAA")
@example(f"{ED25519} ==")
def test_both_ends_answer_alike_and_ssh_keygen_takes_it(tmp_path: Path, line: str) -> None:
    ours, theirs = answers(line)
    assert ours == theirs
    if not ours.startswith("key_"):
        keygen(ours, tmp_path)


def test_lines_of_the_vectors_are_answered_alike() -> None:
    """Whole, cut anywhere, and two in one."""
    whole = [row["line"] for row in (*VECTORS["valid"], *VECTORS["refused"]) if len(row["line"]) < 800]
    cut = [line[:size] for line in whole for size in range(0, len(line), 3)]
    joined = [f"{one} {two}" for one, two in pairwise(whole)]
    for line in (*whole, *cut, *joined):
        ours, theirs = answers(line)
        assert ours == theirs, line

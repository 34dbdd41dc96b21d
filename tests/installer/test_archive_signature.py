"""Who may have signed, and which bytes (rows 13, 15): nothing is believed before a signature verified."""

import base64
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from installer.bootstrap import signature
from installer.bootstrap.archive import VerifiedArchive, open_verified
from installer.bootstrap.known_answers import KNOWN_ANSWERS
from installer.domain.refusal import Refusal
from tests.installer.archives import NAMESPACE, TRUST, Workshop, allow, sign


def opened(workshop: Workshop, signers: Path | None = None) -> VerifiedArchive:
    return open_verified(
        workshop.archive, allowed_signers=signers or workshop.keys.allowed_signers, trust=TRUST
    )


def refused(workshop: Workshop, signers: Path | None = None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        opened(workshop, signers)
    return caught.value


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa-p256"])
def test_one_good_signature_is_enough(workshop: Workshop, kind: str) -> None:
    workshop.write()
    for other in {"ed25519", "ecdsa-p256"} - {kind}:
        workshop.signature(other).unlink()
    with opened(workshop) as archive:
        assert [found.suffix for found in archive.signatures] == [f".{kind}.sig"]


def test_row15_missing(workshop: Workshop) -> None:
    workshop.write()
    for kind in ("ed25519", "ecdsa-p256"):
        workshop.signature(kind).unlink()
    assert refused(workshop).code == "signature_missing"


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa-p256"])
@pytest.mark.parametrize(
    "content", [b"", b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n", b"\0" * 99]
)
def test_row15_an_empty_or_broken_one_refuses_whatever_the_other_says(
    workshop: Workshop, kind: str, content: bytes
) -> None:
    workshop.write()
    workshop.signature(kind).write_bytes(content)
    assert refused(workshop).code == "signature_signer_unknown"


def test_row15_other_key(workshop: Workshop) -> None:
    workshop.write()
    workshop.signature("ed25519").write_bytes(sign(workshop.archive, workshop.keys.stranger))
    error = refused(workshop)
    assert (error.code, error.exit_code) == ("signature_signer_unknown", 4)


def test_row15_other_namespace(workshop: Workshop) -> None:
    workshop.write()
    workshop.sign(namespace="pharos-hpc-evidence")
    assert refused(workshop).code in {"signature_signer_unknown", "signature_invalid"}


def test_row15_other_namespace_when_the_signers_allow_it(workshop: Workshop, tmp_path: Path) -> None:
    workshop.write()
    workshop.sign(namespace="pharos-hpc-evidence")
    signers = allow(tmp_path / "wide", workshop.keys.ed25519, workshop.keys.ecdsa_p256, options="")
    assert refused(workshop, signers).code == "signature_invalid"


def test_row15_key_outside_its_window(workshop: Workshop, tmp_path: Path) -> None:
    workshop.write()
    both = (workshop.keys.ed25519, workshop.keys.ecdsa_p256)
    over = allow(tmp_path / "over", *both, options=f'namespaces="{NAMESPACE}",valid-before="20200101"')
    assert refused(workshop, over).code == "signature_signer_unknown"
    early = allow(tmp_path / "early", *both, options=f'namespaces="{NAMESPACE}",valid-after="20990101"')
    assert refused(workshop, early).code == "signature_signer_unknown"


def test_row15_revoked_by_removal(workshop: Workshop, tmp_path: Path) -> None:
    workshop.write()
    signers = allow(tmp_path / "rest", workshop.keys.ecdsa_p256)
    assert refused(workshop, signers).code == "signature_signer_unknown"


@pytest.mark.parametrize("content", ["", "# nobody\n", "not a line of allowed signers\n"])
def test_row15_nobody_is_allowed(workshop: Workshop, tmp_path: Path, content: str) -> None:
    workshop.write()
    signers = tmp_path / "nobody"
    signers.write_text(content, encoding="ascii")
    assert refused(workshop, signers).code == "signature_signer_unknown"


def test_row13_one_byte_of_the_archive(workshop: Workshop) -> None:
    workshop.write()
    data = bytearray(workshop.archive.read_bytes())
    data[len(data) // 2] ^= 1
    workshop.archive.write_bytes(data)
    assert refused(workshop).code == "signature_invalid"


def test_row13_one_byte_of_a_signature(workshop: Workshop) -> None:
    workshop.write()
    text = workshop.signature("ed25519").read_text(encoding="ascii")
    body = text.splitlines()
    body[-2] = body[-2][:-4] + ("AAAA" if body[-2][-4:] != "AAAA" else "BBBB")
    workshop.signature("ed25519").write_text("\n".join(body) + "\n", encoding="ascii")
    assert refused(workshop).code in {"signature_invalid", "signature_signer_unknown"}


def test_a_signature_of_another_release_is_not_one_of_this(workshop: Workshop) -> None:
    workshop.write()
    old = {kind: workshop.signature(kind).read_bytes() for kind in ("ed25519", "ecdsa-p256")}
    workshop.entries["LICENSE"] = b"changed\n"
    workshop.write()
    for kind, data in old.items():
        workshop.signature(kind).write_bytes(data)
    assert refused(workshop).code == "signature_invalid"


def test_a_key_that_two_principals_share_verifies(workshop: Workshop, tmp_path: Path) -> None:
    workshop.write()
    first = allow(tmp_path / "a", workshop.keys.ed25519, workshop.keys.ecdsa_p256).read_text(encoding="ascii")
    signers = tmp_path / "both"
    signers.write_text(first + first.replace("release@", "second@"), encoding="ascii")
    with opened(workshop, signers) as archive:
        assert {found.principal for found in archive.signatures} == {"release@pharos-hpc.invalid"}


def test_the_archive_cannot_change_after_it_was_verified(workshop: Workshop) -> None:
    workshop.write()
    with opened(workshop) as archive:
        workshop.archive.write_bytes(b"evil")
        assert archive.read("LICENSE") == b"licence\n"


FAKE_KEYGEN = """#!/bin/sh
# ssh-keygen of a host without some kinds: says so for a file that names one, else is the real one.
for word in "$@"; do
    case "$word" in /proc/self/fd/*)
        for kind in KINDS; do
            if grep -v -e '^-' "$word" | base64 -d 2>/dev/null | grep -q "$kind"; then
                echo "sshsig: key type $kind is not supported" >&2
                exit 255
            fi
        done ;;
    esac
done
exec /usr/bin/ssh-keygen "$@"
"""
ED25519, ECDSA = "ssh-ed25519", "ecdsa-sha2-nistp256"


@pytest.fixture
def without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes the host's ssh-keygen one that lacks the named key types."""

    def lacks(*kinds: str) -> None:
        tool = tmp_path / "ssh-keygen"
        tool.write_text(FAKE_KEYGEN.replace("KINDS", " ".join(kinds)), encoding="ascii")
        tool.chmod(0o755)
        monkeypatch.setattr(signature, "_KEYGEN", os.fspath(tool))

    return lacks


@pytest.mark.parametrize("kind", [ED25519, ECDSA])
def test_X14_the_known_answers_are_good_and_tell_what_a_host_lacks(
    kind: str, without: Callable[..., None]
) -> None:
    assert signature.can_verify(kind)
    assert signature.declared_key_type(KNOWN_ANSWERS[kind].armoured) == kind
    without(kind)
    assert not signature.can_verify(kind)


def test_X14_a_kind_the_host_lacks_is_not_counted_when_the_other_verifies(
    workshop: Workshop, without: Callable[..., None]
) -> None:
    workshop.write()
    without(ED25519)
    with opened(workshop) as archive:
        assert [found.suffix for found in archive.signatures] == [".ecdsa-p256.sig"]
        assert archive.unsupported_signatures == (".ed25519.sig",)


def test_X14_the_other_must_verify(workshop: Workshop, without: Callable[..., None]) -> None:
    workshop.write()
    without(ED25519)
    workshop.signature("ecdsa-p256").write_bytes(sign(workshop.archive, workshop.keys.stranger))
    assert refused(workshop).code == "signature_signer_unknown"
    workshop.signature("ecdsa-p256").unlink()
    error = refused(workshop)
    assert (error.code, error.exit_code) == ("signature_unsupported", 4)
    assert ".ed25519.sig" in error.found


def test_X14_a_signature_that_declares_another_type_than_its_name_is_counted(
    workshop: Workshop, without: Callable[..., None]
) -> None:
    workshop.write()
    without(ED25519)
    for content in (b"", b"junk", sign(workshop.archive, workshop.keys.ecdsa_p256, "other")):
        workshop.signature("ed25519").write_bytes(content)
        assert refused(workshop).code in {"signature_signer_unknown", "signature_invalid"}


def test_X14_a_bad_signature_of_a_kind_the_host_has_refuses(
    workshop: Workshop, without: Callable[..., None]
) -> None:
    workshop.write()
    without(ECDSA)
    workshop.signature("ed25519").write_bytes(sign(workshop.archive, workshop.keys.stranger))
    assert refused(workshop).code == "signature_signer_unknown"


@given(st.binary(max_size=80), st.booleans())
def test_junk_declares_no_key_type(data: bytes, armoured: bool) -> None:
    text = base64.encodebytes(b"SSHSIG\0\0\0\1" + data) if armoured else data
    lines = b"-----BEGIN SSH SIGNATURE-----\n" + text + b"-----END SSH SIGNATURE-----\n"
    found = signature.declared_key_type(lines)
    assert found is None or found.encode("ascii") in data


def test_validation_without_signers_is_never_asked_for() -> None:
    """``check-novalidate`` accepts any key; the word stands in a docstring that says so, and nowhere in a
    call.
    """
    source = Path("installer/bootstrap/signature.py").read_text(encoding="utf-8")
    assert '"check-novalidate"' not in source


def test_without_ssh_keygen_nothing_is_verified(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """B14: a missing tool is a refusal, never a skipped check."""

    def missing(*_arguments: object, **_options: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    workshop.write()
    monkeypatch.setattr(subprocess, "run", missing)
    error = refused(workshop)
    assert (error.code, error.exit_code) == ("signature_tool_missing", 10)

"""Who may have signed, and which bytes (rows 13, 15): nothing is believed before a signature verified."""

import subprocess
from pathlib import Path

import pytest

from installer.bootstrap.archive import VerifiedArchive, open_verified
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
        assert [signature.suffix for signature in archive.signatures] == [f".{kind}.sig"]


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
        assert {signature.principal for signature in archive.signatures} == {"release@pharos-hpc.invalid"}


def test_the_archive_cannot_change_after_it_was_verified(workshop: Workshop) -> None:
    workshop.write()
    with opened(workshop) as archive:
        workshop.archive.write_bytes(b"evil")
        assert archive.read("LICENSE") == b"licence\n"


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

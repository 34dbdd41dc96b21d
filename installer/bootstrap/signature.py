"""Verifies detached ``ssh-keygen -Y`` signatures against the host's allowed signers (I2).

1. A signature lies beside the file as ``<file>.ed25519.sig`` or ``<file>.ecdsa-p256.sig``; at least one is
   there.
2. Every signature that is there must verify: an existing but bad one refuses, whatever the other says. Only
   one whose declared key type this host's ssh-keygen provably cannot verify (it fails a known answer of that
   type, as under FIPS) is not counted, and that is said; one must verify all the same.
3. The principal is the one the allowed signers give the key (find-principals); the key's window, namespaces
   and
   revocation by removal are judged by ssh-keygen. ``check-novalidate`` is never used, and nothing skips this.
4. Signature, allowed signers and bytes reach ssh-keygen as sealed copies, so what is judged is what was read.

Source: ssh-keygen(1) -Y, ALLOWED SIGNERS; design row 15; X14 for FIPS.
"""

import base64
import fcntl
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from installer.bootstrap.errors import refusal
from installer.bootstrap.handoff import SIGNERS
from installer.bootstrap.inputs import HOST_TRUST, Trust, read_input
from installer.bootstrap.known_answers import KNOWN_ANSWERS, MESSAGE, NAMESPACE
from installer.domain.refusal import Refusal

_KEY_TYPES: Final = MappingProxyType(
    {".ed25519.sig": "ssh-ed25519", ".ecdsa-p256.sig": "ecdsa-sha2-nistp256"}
)
SUFFIXES: Final = tuple(_KEY_TYPES)
ARCHIVE_NAMESPACE: Final = "pharos-hpc-release"
PROVENANCE_NAMESPACE: Final = "pharos-hpc-provenance"

_KEYGEN: Final = "/usr/bin/ssh-keygen"
_SIGNATURE_LIMIT: Final = 16 * 1024
_SIGNERS_LIMIT: Final = 256 * 1024
_SECONDS: Final = 120
_SEALS: Final = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


@dataclass(frozen=True, slots=True)
class VerifiedSignature:
    """A signature that verified: its file's suffix and the principal the allowed signers give its key."""

    suffix: str
    principal: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The signatures that verified, at least one, and the suffixes of those this host cannot judge."""

    verified: tuple[VerifiedSignature, ...]
    unsupported: tuple[str, ...]


def sealed_copy(name: str, data: bytes) -> int:
    """A memory file with ``data``, which nobody can change; closed by the caller."""
    return _sealed(name, iter((data,)))


def sealed_copy_of(source: int, name: str, *, size_limit: int) -> int:
    """A memory file with what ``source`` holds, which nobody can change; closed by the caller.

    Raises Refusal ``input_too_large`` when ``source`` grew past ``size_limit`` bytes meanwhile.
    """
    return _sealed(name, _pieces(source, name, size_limit))


def _pieces(source: int, name: str, size_limit: int) -> Iterator[bytes]:
    total = 0
    while piece := os.read(source, 1 << 20):
        total += len(piece)
        if total > size_limit:
            raise refusal("input_too_large", found=f"the {name} grew", wanted=f"at most {size_limit} bytes")
        yield piece


def _sealed(name: str, pieces: Iterator[bytes]) -> int:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.writelines(pieces)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def verify_signatures(
    message: int, path: Path, *, namespace: str, allowed_signers: Path, trust: Trust = HOST_TRUST
) -> Verdict:
    """Who signed the sealed bytes ``message``, by the signatures beside ``path``. Raises Refusal
    ``signature_*``.
    """
    signers = read_input(allowed_signers, what=SIGNERS, size_limit=_SIGNERS_LIMIT, trust=trust)
    verified: list[VerifiedSignature] = []
    unsupported: list[str] = []
    for suffix in SUFFIXES:
        signature = _beside(path, suffix, trust)
        if signature is None:
            continue
        try:
            principal = _verify(message, signature, signers, f"{path.name}{suffix}", namespace)
        except Refusal:
            if declared_key_type(signature) != _KEY_TYPES[suffix] or can_verify(_KEY_TYPES[suffix]):
                raise
            unsupported.append(suffix)
        else:
            verified.append(VerifiedSignature(suffix, principal))
    if not verified:
        raise _none(path, unsupported)
    return Verdict(tuple(verified), tuple(unsupported))


def _none(path: Path, unsupported: list[str]) -> Refusal:
    if unsupported:
        return refusal(
            "signature_unsupported",
            found=f"only {' and '.join(path.name + suffix for suffix in unsupported)}",
            wanted="a signature of a kind that this host's ssh-keygen can verify",
        )
    return refusal(
        "signature_missing",
        found=f"neither {' nor '.join(path.name + suffix for suffix in SUFFIXES)} in {path.parent}",
        wanted="at least one signature",
    )


def declared_key_type(signature: bytes) -> str | None:
    """The key type an armoured signature says it is of; None when it is no such thing (PROTOCOL.sshsig)."""
    lines = signature.split(b"\n")
    try:
        blob = base64.b64decode(
            b"".join(lines[1 : lines.index(b"-----END SSH SIGNATURE-----")]), validate=True
        )
        if lines[0] != b"-----BEGIN SSH SIGNATURE-----" or blob[:6] != b"SSHSIG":
            return None
        return _string(_string(blob[10:])).decode("ascii")
    except ValueError:
        return None


def _string(data: bytes) -> bytes:
    """The string (RFC 4251 section 5) at the start of ``data``. Raises ValueError."""
    size = int.from_bytes(data[:4], "big")
    if len(data) < 4 + size:
        raise ValueError("a string that ends too early")
    return data[4 : 4 + size]


def can_verify(key_type: str) -> bool:
    """Whether the host's ssh-keygen verifies a signature of ``key_type`` that is known to be good."""
    answer = KNOWN_ANSWERS[key_type]
    message = sealed_copy("known answer", MESSAGE)
    try:
        _verify(message, answer.armoured, answer.allowed_signers, "the known answer", NAMESPACE)
    except Refusal as error:
        if error.code == "signature_tool_missing":
            raise
        return False
    finally:
        os.close(message)
    return True


def verify_one(
    message: bytes, signature: Path, *, namespace: str, allowed_signers: Path, trust: Trust
) -> str:
    """The principal who signed ``message`` with the one signature file ``signature``. Raises Refusal
    ``signature_*``.
    """
    signers = read_input(allowed_signers, what=SIGNERS, size_limit=_SIGNERS_LIMIT, trust=trust)
    data = _beside(signature, "", trust)
    if data is None:
        raise refusal("signature_missing", found=f"no {signature}", wanted="a signature")
    copy = sealed_copy("message", message)
    try:
        return _verify(copy, data, signers, signature.name, namespace)
    finally:
        os.close(copy)


def _beside(path: Path, suffix: str, trust: Trust) -> bytes | None:
    beside = path.with_name(path.name + suffix)
    try:
        return read_input(beside, what="a signature", size_limit=_SIGNATURE_LIMIT, trust=trust)
    except Refusal as error:
        if error.code == "input_missing":
            return None
        raise


def _verify(message: int, signature: bytes, signers: bytes, name: str, namespace: str) -> str:
    copies = [sealed_copy("signature", signature), sealed_copy("signers", signers)]
    try:
        signature_path, signers_path = (f"/proc/self/fd/{descriptor}" for descriptor in copies)
        found = _keygen(["find-principals", "-s", signature_path, "-f", signers_path], copies, None)
        principals = [line.strip() for line in found.stdout.splitlines() if line.strip()]
        if found.returncode != 0 or not principals:
            raise refusal(
                "signature_signer_unknown",
                found=f"{name}: {_words(found)}",
                wanted=f"a key of the allowed signers, for the namespace {namespace}, within its window",
            )
        said = ""
        for principal in principals:
            arguments = ["verify", "-f", signers_path, "-I", principal, "-n", namespace, "-s", signature_path]
            outcome = _keygen(arguments, copies, message)
            if outcome.returncode == 0:
                return principal
            said = _words(outcome)
        raise refusal(
            "signature_invalid", found=f"{name}: {said}", wanted=f"a good signature for {namespace}"
        )
    finally:
        for descriptor in copies:
            os.close(descriptor)


def _keygen(
    arguments: list[str], inherit: list[int], message: int | None
) -> subprocess.CompletedProcess[str]:
    if message is not None:
        os.lseek(message, 0, os.SEEK_SET)
    try:
        return subprocess.run(
            [_KEYGEN, "-Y", *arguments],
            stdin=subprocess.DEVNULL if message is None else message,
            capture_output=True,
            text=True,
            errors="replace",
            pass_fds=inherit,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise refusal(
            "signature_tool_missing", found=f"{_KEYGEN}: {error}", wanted="ssh-keygen of OpenSSH"
        ) from error


def _words(outcome: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (outcome.stderr + "\n" + outcome.stdout).splitlines() if line.strip()]
    text = "; ".join(lines)[:300] or f"ssh-keygen ended with {outcome.returncode}"
    return "".join(character if character.isprintable() else "?" for character in text)

"""Detached signatures with ``ssh-keygen -Y`` and the keys that make them (I2)."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from installer.bootstrap.signature import ARCHIVE_NAMESPACE, PROVENANCE_NAMESPACE
from release.errors import ReleaseError

ALLOWED_SIGNERS: Final = "allowed_signers"
_KINDS: Final = {"ed25519": ["-t", "ed25519"], "ecdsa-p256": ["-t", "ecdsa", "-b", "256"]}
_DEVELOPMENT: Final = "development@pharos-hpc.invalid"


@dataclass(frozen=True, slots=True)
class Keys:
    """Private key files by the signature suffix they make: ``ed25519``, ``ecdsa-p256``."""

    ed25519: Path | None
    ecdsa_p256: Path | None

    def items(self) -> list[tuple[str, Path]]:
        """Those that are given."""
        both = (("ed25519", self.ed25519), ("ecdsa-p256", self.ecdsa_p256))
        return [(kind, path) for kind, path in both if path is not None]


def development_folder() -> Path:
    """Where development keys live: the user's data folder (XDG Base Directory)."""
    return (
        Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
        / "pharos-hpc"
        / "development-keys"
    )


def keys_in(folder: Path) -> Keys:
    """The keys that ``make_keys`` put in ``folder``."""
    return Keys(folder / "ed25519", folder / "ecdsa-p256")


def make_keys(folder: Path) -> Path:
    """Make development keys without a passphrase, and their allowed signers (the path returned).

    Raises ReleaseError ``key_exists``: a key is never overwritten.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = []
    for kind, options in _KINDS.items():
        path = folder / kind
        if path.exists():
            raise ReleaseError(
                "key_exists", found=str(path), wanted="an empty folder", remedy="Choose another."
            )
        _keygen([*options, "-q", "-N", "", "-C", "development", "-f", os.fspath(path)])
        public = path.with_suffix(".pub").read_text(encoding="ascii").split()
        spaces = f"{ARCHIVE_NAMESPACE},{PROVENANCE_NAMESPACE}"
        lines.append(f'{_DEVELOPMENT} namespaces="{spaces}" {public[0]} {public[1]}\n')
    signers = folder / ALLOWED_SIGNERS
    signers.write_text("# Development keys: never on a production host.\n" + "".join(lines), encoding="ascii")
    signers.chmod(0o644)
    return signers


def make_keys_once(folder: Path) -> None:
    """Make development keys in ``folder``, which appears complete or not at all: two builds may start at
    once.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        made = Path(scratch, "keys")
        make_keys(made)
        try:
            made.rename(folder)
        except OSError:
            if not (folder / ALLOWED_SIGNERS).exists():
                raise


def sign(path: Path, keys: Keys, namespace: str) -> list[Path]:
    """Write ``<path>.<kind>.sig`` for each key; stale ones of other keys are removed. The paths written."""
    for kind in _KINDS:
        path.with_name(f"{path.name}.{kind}.sig").unlink(missing_ok=True)
    written = []
    for kind, key in keys.items():
        if not key.is_file():
            raise ReleaseError(
                "signing_failed",
                found=f"no key {key}",
                wanted="a private key",
                remedy="python -m release keygen DIR",
            )
        target = path.with_name(f"{path.name}.{kind}.sig")
        with path.open("rb") as message:
            options = ["-Y", "sign", "-q", "-O", "hashalg=sha256", "-n", namespace, "-f", os.fspath(key)]
            target.write_bytes(_keygen(options, message.fileno()))
        target.chmod(0o644)
        written.append(target)
    return written


def _keygen(options: list[str], message: int = subprocess.DEVNULL) -> bytes:
    tool = shutil.which("ssh-keygen") or "ssh-keygen"
    outcome = subprocess.run([tool, *options], stdin=message, capture_output=True, check=False)
    if outcome.returncode != 0:
        raise ReleaseError(
            "signing_failed",
            found=outcome.stderr.decode(errors="replace").strip(),
            wanted="ssh-keygen to succeed",
            remedy="Check the key file and its passphrase.",
        )
    return outcome.stdout

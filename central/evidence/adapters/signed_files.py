"""Evidence as a YAML file and its `ssh-keygen -Y` signature (PROTOCOL.sshsig)."""

import subprocess
import tempfile
from pathlib import Path
from typing import Final

import yaml

from central.evidence.domain.statement import NAMESPACE, EvidenceRefused, Statement
from central.kernel.times import format_rfc3339

_SIGN_SECONDS: Final = 60


class SigningFailed(EvidenceRefused):
    """`ssh-keygen` did not sign; nothing was written."""

    def __init__(self, text: str) -> None:
        super().__init__("evidence_signing", text)


class SignedFiles:
    """The adapter. The signing key is named by its path and read by `ssh-keygen` alone (X5)."""

    def write(self, statement: Statement, path: Path, signing_key: Path) -> Path:
        """See `EvidenceFolder`. An existing file is not replaced."""
        signature = path.with_name(path.name + ".sig")
        for existing in (path, signature):
            if existing.exists() or existing.is_symlink():
                raise EvidenceRefused("evidence_exists", f"{existing} is there already; name another file")
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".evidence-") as folder:
            draft = Path(folder) / path.name
            draft.write_bytes(render(statement))
            _sign(draft, signing_key)
            draft.with_name(draft.name + ".sig").rename(signature)
            draft.rename(path)
        return signature


def render(statement: Statement) -> bytes:
    """The file's bytes: one mapping in the seam's order, times in UTC."""
    document: dict[str, object] = {
        "schema": 1,
        "contract": statement.contract,
        "revision": statement.revision,
        "component": statement.component,
        "site": statement.site,
        "issuedBy": statement.issued_by,
        "issuedAt": format_rfc3339(statement.issued_at),
        "validUntil": format_rfc3339(statement.valid_until),
        "laboratory": statement.laboratory,
    }
    if statement.token_keys is not None:
        document["tokenKeys"] = {
            "keyIds": list(statement.token_keys.key_ids),
            "userClaim": statement.token_keys.user_claim,
        }
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_style=None)
    return text.encode("utf-8")


def _sign(draft: Path, signing_key: Path) -> None:
    try:
        done = subprocess.run(
            ["ssh-keygen", "-Y", "sign", "-q", "-f", str(signing_key), "-n", NAMESPACE, str(draft)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SIGN_SECONDS,
        )
    except FileNotFoundError as error:
        raise SigningFailed("ssh-keygen is not installed; it comes with OpenSSH's client") from error
    except subprocess.TimeoutExpired as error:
        raise SigningFailed(f"ssh-keygen did not sign within {_SIGN_SECONDS} s") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise SigningFailed(f"ssh-keygen did not sign with {signing_key}: {said}")

"""Every refusal of the bootstrap: one table of codes, one function that makes the error.

The table is what ``docs/errors.md`` shows and what a test compares; a code that is not in it cannot be
raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from installer.domain.refusal import (
    INSTALL_FAILED,
    LOCKED,
    PREFLIGHT_REFUSED,
    UNSUPPORTED_HOST,
    USAGE,
    VERIFICATION_FAILED,
    Refusal,
)


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of refusal: the exit code, what it means, and the remedy when the raiser has none that is
    nearer.
    """

    exit_code: int
    meaning: str
    remedy: str


_FETCH_AGAIN = "Fetch the archive and its signatures again, and compare its SHA-256 with the hand-off."
_DAMAGED = (
    "Keep a copy to look at. Once no link names the release (see `pharos-installer status`; switch to another"
    " one first), move its folder away and install it again."
)

CODES: Final[Mapping[str, Code]] = MappingProxyType(
    {
        "usage": Code(USAGE, "an option of the bootstrap is wrong", "Run install.sh --help."),
        "index_missing": Code(
            USAGE,
            "a release of dependency mode index, and no approved index is named",
            "Name it: --index-url https://… [--index-ca FILE], as the profile's dependencies section does; or"
            " use the release of mode wheelhouse, which needs none.",
        ),
        "index_unwanted": Code(
            USAGE,
            "an index is named, and the release holds its wheels",
            "Leave the index out, here and in the profile; or use the release of mode index.",
        ),
        "index_invalid": Code(
            USAGE,
            "the index is no HTTPS URL without credentials",
            "Name the simple API of the one approved index, such as https://packages.example/simple/.",
        ),
        "input_missing": Code(USAGE, "an input is not there", "Name the right path."),
        "input_unreadable": Code(
            VERIFICATION_FAILED, "an input cannot be read", "Make it readable for the user who runs this."
        ),
        "input_link": Code(
            VERIFICATION_FAILED, "an input, or a folder above it, is a symbolic link", "Name the real path."
        ),
        "input_kind": Code(
            VERIFICATION_FAILED, "an input is not a regular file or folder", "Name a regular file."
        ),
        "input_owner": Code(
            VERIFICATION_FAILED,
            "an input belongs to somebody who is not trusted",
            "Compare it with the hand-off; if it is right, put a copy of root in its place.",
        ),
        "input_writable": Code(
            VERIFICATION_FAILED,
            "an input, or a folder above it, can be changed by others",
            "Compare it with the hand-off, then chmod go-w it.",
        ),
        "input_too_large": Code(
            VERIFICATION_FAILED, "an input is larger than its bound", "Name the right file."
        ),
        "signature_tool_missing": Code(
            UNSUPPORTED_HOST, "ssh-keygen cannot be run", "Install the package openssh-client (or openssh)."
        ),
        "signature_missing": Code(VERIFICATION_FAILED, "no signature lies beside the file", _FETCH_AGAIN),
        "signature_signer_unknown": Code(
            VERIFICATION_FAILED,
            "a signature's key is not among the allowed signers, or is outside its window or namespace",
            "Compare the allowed signers with the hand-off, and the host's clock with the key's window.",
        ),
        "signature_unsupported": Code(
            VERIFICATION_FAILED,
            "no signature is of a kind that this host's ssh-keygen can verify (as under FIPS)",
            "Fetch the other signature too; the ECDSA one is for such hosts.",
        ),
        "signature_invalid": Code(VERIFICATION_FAILED, "a signature is not one of these bytes", _FETCH_AGAIN),
        "archive_compression": Code(
            VERIFICATION_FAILED, "not exactly one complete gzip member", _FETCH_AGAIN
        ),
        "archive_member": Code(VERIFICATION_FAILED, "a member that no release has", _FETCH_AGAIN),
        "archive_manifest": Code(
            VERIFICATION_FAILED, "the manifest is missing or not schema 1", _FETCH_AGAIN
        ),
        "archive_contents": Code(VERIFICATION_FAILED, "files and manifest disagree", _FETCH_AGAIN),
        "archive_requirements": Code(
            VERIFICATION_FAILED, "a requirements file and the wheels disagree", _FETCH_AGAIN
        ),
        "folder_differs": Code(
            VERIFICATION_FAILED,
            "the extracted folder is not what the archive holds",
            "Remove the folder and extract the archive again, as root.",
        ),
        "host_interpreter": Code(
            UNSUPPORTED_HOST,
            "the interpreter is not the one that releases need",
            "Install Python 3.13, or name it with PHAROS_PYTHON.",
        ),
        "host_architecture": Code(
            UNSUPPORTED_HOST, "another processor", "Use a host of the release's architecture."
        ),
        "host_libc": Code(
            UNSUPPORTED_HOST, "another or an older C library", "Use a host with a newer glibc."
        ),
        "host_clock": Code(
            PREFLIGHT_REFUSED,
            "the host's clock is before the release's commit",
            "Set the clock, then run again.",
        ),
        "host_not_root": Code(PREFLIGHT_REFUSED, "only root may do this", "Run it as root (sudo)."),
        "host_link": Code(
            PREFLIGHT_REFUSED,
            "a path that must be our link is something else",
            "Look at it and move it away.",
        ),
        "host_noexec": Code(
            PREFLIGHT_REFUSED,
            "programs may not run from the release folder",
            "Mount the file system of /opt/pharos-hpc without noexec.",
        ),
        "locked": Code(LOCKED, "another installer holds the lock", "Wait for it, then run again."),
        "lock_unusable": Code(
            PREFLIGHT_REFUSED,
            "the lock is no regular file of root in a folder of root",
            "Another hand made or changed it. Find out whose; while no installer runs, move the lock away or"
            " give the folder back to root after looking at what lies in it.",
        ),
        "storage_failed": Code(
            INSTALL_FAILED, "the file system refused a write", "Free space or mend the mount."
        ),
        "environment_exists": Code(
            INSTALL_FAILED,
            "the environment's folder is there already",
            "Look what it is; once no link names it, move it away and run again.",
        ),
        "environment_venv": Code(
            INSTALL_FAILED, "the interpreter could not make an environment", "Mend Python."
        ),
        "environment_pip": Code(
            INSTALL_FAILED,
            "pip could not install the wheels",
            "Read pip's words, free space or mend the host, run again.",
        ),
        "environment_incomplete": Code(
            VERIFICATION_FAILED,
            "the installed set does not satisfy itself",
            "Use a release whose closure is proved.",
        ),
        "environment_broken": Code(
            INSTALL_FAILED,
            "the installed program cannot be imported",
            "Mend the host (a noexec mount, for instance), run again.",
        ),
        "seal_missing": Code(VERIFICATION_FAILED, "the folder was never finished", "Run install again."),
        "seal_malformed": Code(
            VERIFICATION_FAILED,
            "the seal cannot be read",
            _DAMAGED,
        ),
        "seal_other_release": Code(VERIFICATION_FAILED, "the seal is of another release", _DAMAGED),
        "tree_changed": Code(
            VERIFICATION_FAILED,
            "something in a sealed folder was changed",
            _DAMAGED,
        ),
        "tree_unsealable": Code(
            INSTALL_FAILED,
            "a folder that a seal cannot cover, or one that is sealed already",
            "Run install again, which builds it anew; if it happens again use another release.",
        ),
    }
)


def index_refusal(mode: str) -> Refusal:
    """The error of a release of dependency mode ``mode`` whose index is missing or unwanted (I4, I5)."""
    code = "index_missing" if mode == "index" else "index_unwanted"
    found = "no approved index" if mode == "index" else "an index"
    return refusal(code, found=found, wanted=f"what dependency mode {mode} needs")


def refusal(code: str, *, found: str, wanted: str, remedy: str = "") -> Refusal:
    """The error for ``code``; ``remedy`` replaces the table's when the raiser knows a nearer one."""
    entry = CODES[code]
    return Refusal(code, found=found, wanted=wanted, remedy=remedy or entry.remedy, exit_code=entry.exit_code)

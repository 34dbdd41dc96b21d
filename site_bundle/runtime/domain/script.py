"""The script of a stage: a template's `@NAME@` words filled with single-quoted texts (S2, S4, K08).

A script holds no credential, so that the job is saved and compared without one. A word is quoted once, here,
and the shell reads it back as it was: between single quotes every character stands for itself (POSIX.1-2017
XCU 2.2.2).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from site_bundle.runtime.domain.command import Command, StageName, Submit

_NAME = re.compile(r"@([A-Z_]+)@")
USERNAME, PASSWORD = "PHAROS_REPOSITORY_USERNAME", "PHAROS_REPOSITORY_PASSWORD"

# What a stage's script ends with when it knows why (K05): the result's code.
EXIT_CODES: Mapping[int, str] = {
    80: "workspace_refused",
    81: "account_unknown_on_node",
    82: "helper_unusable",
    83: "tools_missing",
    84: "clone_failed",
    85: "commit_missing",
    86: "large_files_failed",
    87: "output_missing",
    88: "commit_failed",
    89: "push_failed",
    90: "result_unwritten",
}


@dataclass(frozen=True, slots=True)
class Grant:
    """Where the helper, CA and drop folder of an Attempt are, below the Runtime's folder (S4)."""

    name: str
    drop: str


def grant_of(attempt_id: UUID, origin: str, authority: bytes, salt: str) -> Grant:
    """Names from Attempt and material. The drop's name is nobody's to guess: a stage writes there."""
    material = hashlib.sha256(origin.encode() + b"\0" + authority).hexdigest()
    name = hashlib.sha256(f"{attempt_id}\0{material}".encode()).hexdigest()[:16]
    drop = hashlib.sha256(f"{salt}\0{attempt_id}".encode()).hexdigest()[:32]
    return Grant(f"{attempt_id}-{name}", drop)


def origin_of(url: str) -> str:
    """Scheme, host and port of a repository's URL, as Git names them in a prompt."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.split('/', 1)[0]}"


def quoted(word: str) -> str:
    """`word` as one word of the shell. ValueError for a NUL, which no argument can hold."""
    if "\0" in word:
        raise ValueError("a NUL in a word")
    return "'" + word.replace("'", "'\\''") + "'"


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with each `@NAME@` replaced; what a value holds is not looked at again. KeyError."""
    return _NAME.sub(lambda match: values[match[1]], template)


@dataclass(frozen=True, slots=True)
class Places:
    """Folders on the shared file system."""

    scratch: str
    grant: str
    drop: str


def values_of(command: Command, action: Submit, places: Places) -> dict[str, str]:
    """What the stage's template wants, but for the part all of them begin with."""
    values = {
        "SCRATCH": quoted(places.scratch),
        "ATTEMPT": quoted(str(command.attempt_id)),
        "GRANT": quoted(places.grant),
        "RESULT": quoted(f"{places.drop}/{command.command_id}"),
    }
    if action.repository is not None:
        values |= {"URL": quoted(action.repository.url), "COMMIT": quoted(action.repository.commit)}
    if action.compute is not None:
        values["ARGV"] = _words(action.compute.argv)
    if action.outputs is not None:
        values |= {
            "PATHS": _words(action.outputs.paths),
            "REF": quoted(action.outputs.ref),
            "LARGE": str(action.outputs.large_file_bytes),
            "MESSAGE": quoted(f"Outputs of Run {command.run_id}"),
        }
    return values


def _words(words: Sequence[str]) -> str:
    return " ".join(quoted(word) for word in words)


def talks_to_git(stage: StageName) -> bool:
    """Whether the stage gets the repository credential."""
    return stage is not StageName.COMPUTE

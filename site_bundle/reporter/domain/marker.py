"""The applied binding and generation in an association's comment: `pharos:1:<bindingId>:<generation>`,
beside whatever else stands there (S8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

# Only a word of its own is a marker, and only in the form that is written here.
_WORD = re.compile(r"(?<!\S)pharos:1:\S*")
_MARKER = re.compile(
    r"pharos:1:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}):([1-9][0-9]{0,17})", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose account it is: the member's site binding and the generation of the membership."""

    binding_id: UUID
    generation: int


def read_marker(comment: str) -> Identity | None:
    """The identity `comment` proves; None where there is none, several, or a broken one."""
    words = _WORD.findall(comment)
    match = _MARKER.fullmatch(words[0]) if len(words) == 1 else None
    return Identity(UUID(match[1]), int(match[2])) if match else None


def with_marker(comment: str, identity: Identity) -> str:
    """`comment` with this identity's marker in the place of any other; the rest stays as it is."""
    text = f"pharos:1:{identity.binding_id}:{identity.generation}"
    words = list(_WORD.finditer(comment))
    if not words:
        return f"{comment} {text}" if comment else text
    kept = comment[: words[0].start()] + text
    position = words[0].end()
    for word in words[1:]:
        kept += comment[position : word.start()].rstrip(" ")
        position = word.end()
    return kept + comment[position:]

"""What may be inside a release archive, judged from names and headers alone: stricter than tarfile's
``data`` filter.

Every rule has a reason that names the offending member:

1. a name is relative, normalised, printable ASCII without space, at most 200 bytes (so it is its own NFC);
2. no two names are equal, equal by case, or one the folder of the other;
3. only regular files, owner 0:0, mode exactly 0644 or 0755;
4. no sparse file and no extended (pax, GNU) header: those are kinds of their own;
5. count, size of one and size of all are bounded.

Sources: python/cpython#151558, moby/moby#7889, bazelbuild/bazel#30245; cases H01, H03 to H05, B15.
"""

import string
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_NAME_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + "._-+@/")
MODES: Final = frozenset({0o644, 0o755})


@dataclass(frozen=True, slots=True)
class MemberLimits:
    """Bounds of one archive: bytes of a name, members, bytes of one file and of all."""

    name: int = 200
    members: int = 20_000
    file_size: int = 256 * 1024 * 1024
    total_size: int = 1024 * 1024 * 1024


LIMITS: Final = MemberLimits()


@dataclass(frozen=True, slots=True)
class Member:
    """A tar header as read: ``kind`` is ``file`` or what the type is called, ``mode`` all twelve bits."""

    name: str
    kind: str
    mode: int
    size: int
    uid: int = 0
    gid: int = 0
    owner_names: bool = False


def name_fault(name: str, limits: MemberLimits = LIMITS) -> str | None:
    """Why ``name`` may not be a path in an archive, or None."""
    if not name:
        return "an empty name"
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in name):
        return f"a control character in {name!a}"
    if unicodedata.normalize("NFC", name) != name:
        return f"{name!a} is not in Unicode form NFC"
    if len(name.encode("utf-8", "surrogatepass")) > limits.name:
        return f"a name longer than {limits.name} bytes: {name[:40]!a}…"
    unusual = sorted(set(name) - _NAME_CHARACTERS)
    if unusual:
        return f"the character {unusual[0]!a} in {name!a}"
    if name.startswith("/"):
        return f"the absolute name {name!a}"
    if any(part in {"", ".", ".."} for part in name.split("/")):
        return f"the name {name!a} is not normalised"
    return None


def member_fault(member: Member, limits: MemberLimits = LIMITS) -> str | None:
    """Why this one member is refused, or None."""
    reason = name_fault(member.name, limits)
    if reason is not None:
        return reason
    if member.kind != "file":
        return f"{member.name!a} is a {member.kind}, not a regular file"
    if member.mode not in MODES:
        return f"{member.name!a} has mode {member.mode:04o}"
    if member.uid != 0 or member.gid != 0 or member.owner_names:
        return f"{member.name!a} belongs to {member.uid}:{member.gid} or to a named owner"
    if not 0 <= member.size <= limits.file_size:
        return f"{member.name!a} declares {member.size} bytes"
    return None


def names_fault(names: Iterable[str]) -> str | None:
    """Why these names cannot stand side by side (rule 2), or None."""
    seen: dict[str, str] = {}
    for name in names:
        folded = unicodedata.normalize("NFC", name).casefold()
        other = seen.get(folded)
        if other == name:
            return f"{name!a} twice"
        if other is not None:
            return f"{other!a} and {name!a} differ by case or Unicode form only"
        seen[folded] = name
    for folded, name in seen.items():
        parent = folded.rpartition("/")[0]
        while parent:
            if parent in seen:
                return f"{seen[parent]!a} is a file and the folder of {name!a}"
            parent = parent.rpartition("/")[0]
    folders: dict[str, str] = {}
    for name in seen.values():
        parent = name.rpartition("/")[0]
        while parent:
            if folders.setdefault(parent.casefold(), parent) != parent:
                return f"folders {folders[parent.casefold()]!a} and {parent!a} differ by case only"
            parent = parent.rpartition("/")[0]
    return None


def members_fault(members: Iterable[Member], limits: MemberLimits = LIMITS) -> str | None:
    """Why these members are refused as a whole, or None; stops at the first fault, so a bomb is never
    counted out.
    """
    names: list[str] = []
    total = 0
    for member in members:
        reason = member_fault(member, limits)
        if reason is not None:
            return reason
        names.append(member.name)
        total += member.size
        if len(names) > limits.members:
            return f"more than {limits.members} members"
        if total > limits.total_size:
            return f"more than {limits.total_size} bytes unpacked"
    return names_fault(names)

"""Reads POSIX ustar headers, and nothing newer: no GNU, pax or base-256 extension can change what a header
says.

The archive's format is so narrow (regular files, short names) that this is less to trust than a general
reader. Source: IEEE Std 1003.1, pax, ustar interchange format.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from installer.domain.members import LIMITS, Member, MemberLimits, members_fault

BLOCK: Final = 512
_KINDS: Final = {
    b"0": "file",
    b"\0": "file of the old format",
    b"1": "hard link",
    b"2": "symbolic link",
    b"3": "character device",
    b"4": "block device",
    b"5": "folder",
    b"6": "FIFO",
    b"7": "contiguous file",
    b"g": "global extended header",
    b"x": "extended header",
    b"S": "sparse file",
    b"L": "long name",
    b"K": "long link name",
}


class UstarError(ValueError):
    """The bytes are no archive of ours; the text says where."""


class Source(Protocol):
    """Random access to the bytes of the tar file."""

    def __call__(self, offset: int, size: int) -> bytes:
        """``size`` bytes at ``offset``; fewer at the end."""


def read_members(read: Source, total: int, limits: MemberLimits = LIMITS) -> list[tuple[Member, int]]:
    """Every member and the offset of its content, all judged by the member rules. Raises UstarError."""
    found: list[tuple[Member, int]] = []

    def members() -> Iterator[Member]:
        for member, offset in _walk(read, total):
            found.append((member, offset))
            yield member

    reason = members_fault(members(), limits)
    if reason is not None:
        raise UstarError(reason)
    return found


def _walk(read: Source, total: int) -> Iterator[tuple[Member, int]]:
    offset = 0
    while True:
        block = read(offset, BLOCK)
        if len(block) < BLOCK:
            raise UstarError("the archive ends without its end mark")
        if not any(block):
            _check_end(read, offset, total)
            return
        member = _parse(block)
        content = offset + BLOCK
        yield member, content
        end = content + member.size
        offset = -(-end // BLOCK) * BLOCK
        if offset > total or any(read(end, offset - end)):
            raise UstarError(f"{member.name!a} is cut off or padded with data")


def _check_end(read: Source, offset: int, total: int) -> None:
    """Two zero blocks at least, then zeros only, within one record of 20 blocks."""
    rest = total - offset
    if rest < 2 * BLOCK or rest > 22 * BLOCK or any(read(offset, rest)):
        raise UstarError("the end mark is not two zero blocks and zeros to the record's end")


def _parse(block: bytes) -> Member:
    if block[257:265] != b"ustar\x0000":
        raise UstarError("a header that is not POSIX ustar")
    total = sum(block) - sum(block[148:156]) + 8 * 0x20
    if _octal(block[148:156], "checksum") != total:
        raise UstarError("a header whose checksum is wrong")
    name = _text(block[0:100])
    prefix = _text(block[345:500])
    kind = _KINDS.get(block[156:157], "member of an unknown kind")
    return Member(
        name=f"{prefix}/{name}" if prefix else name,
        kind=kind if not any(block[157:257]) else "link" if kind == "file" else kind,
        mode=_octal(block[100:108], "mode"),
        size=_octal(block[124:136], "size"),
        uid=_octal(block[108:116], "uid"),
        gid=_octal(block[116:124], "gid"),
        owner_names=any(block[265:329]),
    )


def _text(field: bytes) -> str:
    """The text up to the first NUL; whatever follows it must be NUL too. Latin-1 keeps every byte to be
    judged.
    """
    text, _, rest = field.partition(b"\0")
    if any(rest):
        raise UstarError("a name that hides bytes behind a NUL")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _octal(field: bytes, what: str) -> int:
    digits = field.rstrip(b"\0 ").lstrip(b" ")
    if not digits or not all(0x30 <= byte <= 0x37 for byte in digits):
        raise UstarError(f"a header whose {what} is not octal")
    return int(digits, 8)

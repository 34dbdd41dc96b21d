"""How two archives differ, file by file, without trusting either."""

import hashlib
import tarfile
from pathlib import Path


def compare(first: Path, second: Path) -> list[str]:
    """One line a difference, empty when both hold the same files with the same modes, times and content."""
    left, right = _facts(first), _facts(second)
    lines = [f"only in {first}: {name}" for name in left.keys() - right.keys()]
    lines += [f"only in {second}: {name}" for name in right.keys() - left.keys()]
    for name in left.keys() & right.keys():
        what = [label for label, a, b in zip(_LABELS, left[name], right[name], strict=True) if a != b]
        if what:
            lines.append(f"{', '.join(what)}: {name}")
    return sorted(lines)


_LABELS = ("mode", "time", "content")


def _facts(path: Path) -> dict[str, tuple[int, float, str]]:
    facts: dict[str, tuple[int, float, str]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member)
            digest = hashlib.sha256(content.read()).hexdigest() if content is not None else member.linkname
            facts[member.name.partition("/")[2]] = (member.mode, member.mtime, digest)
    return facts

"""Local identities, read from the host's own passwd(5) and group(5): a component's user is never a
directory's (I7).
"""

import re
from dataclasses import dataclass

from installer.domain.refusal import VERIFICATION_FAILED, Refusal
from installer.host.commands import RunAs
from installer.host.files import read_file
from installer.host.paths import HostPaths

_LIMIT = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One local user."""

    name: str
    uid: int
    gid: int
    shell: str
    groups: tuple[str, ...]
    """Names of the primary and all supplementary groups."""

    @property
    def run_as(self) -> RunAs:
        """To start a child as this user, without supplementary groups."""
        return RunAs(uid=self.uid, gid=self.gid)


def local_identity(paths: HostPaths, name: str) -> Identity | None:
    """The user ``name``; None when proven absent. Raises Refusal for files that cannot be read or
    understood.
    """
    for fields in _lines(paths, "/etc/passwd", 7):
        if fields[0] == name:
            uid, gid = _number(fields[2], "/etc/passwd"), _number(fields[3], "/etc/passwd")
            groups = _groups(paths, name, gid)
            return Identity(name=name, uid=uid, gid=gid, shell=fields[6], groups=groups)
    return None


def _groups(paths: HostPaths, name: str, gid: int) -> tuple[str, ...]:
    found: list[str] = []
    for fields in _lines(paths, "/etc/group", 4):
        if _number(fields[2], "/etc/group") == gid or name in fields[3].split(","):
            found.append(fields[0])
    return tuple(found)


def _lines(paths: HostPaths, path: str, count: int) -> list[list[str]]:
    file = read_file(paths.at(path), limit=_LIMIT)
    if file is None:
        raise _strange(path, "it is absent")
    lines = file.data.decode("utf-8", errors="surrogateescape").splitlines()
    split = [line.split(":") for line in lines if line and line[0] not in "#+-"]
    if any(len(fields) != count for fields in split):
        raise _strange(path, "a line has another number of fields")
    return split


def _number(text: str, path: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise _strange(path, "an id is no number")
    return int(text)


def _strange(path: str, why: str) -> Refusal:
    return Refusal(
        "identity_unreadable",
        found=f"{path}: {why}",
        wanted="passwd(5) and group(5) as their manual pages say",
        remedy="Repair the file (pwck, grpck), then run the phase again.",
        exit_code=VERIFICATION_FAILED,
    )

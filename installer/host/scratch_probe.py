"""What the runtime's user may really do in its folder of scratch: it makes a folder and a program there, and
takes both away again (S4).

Asked with the members' group as its only supplementary one, as the unit has it. Who is not in it may set no
set-group-ID bit (chmod(2)) and does not even pass through a folder of mode 3770.
"""

import re
from dataclasses import dataclass
from typing import Final

from installer.host.commands import CommandError, RunAs, Runner

_SCRIPT: Final = r"""
LC_ALL=C
for folder in "$1" "$2"; do
  stat -c '%a %u %g %F' -- "$folder" || exit 3
done
probe=$2/.probe-installer-$$
trap 'rm -rf -- "$probe"' EXIT
umask 077
mkdir -- "$probe" && chmod 2710 -- "$probe" || exit 4
printf '#!/bin/sh\nexit 0\n' >"$probe/run" && chmod 0750 -- "$probe/run" || exit 4
stat -c '%a %g' -- "$probe" "$probe/run" || exit 4
"$probe/run" && echo runs || echo noexec
"""
_FOLDER: Final = re.compile(r"([0-7]{1,5}) (\d{1,10}) (\d{1,10}) (.+)", re.ASCII)
_MADE: Final = re.compile(r"([0-7]{1,5}) (\d{1,10})", re.ASCII)
_LOOK, _MAKE = 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """One folder as stat(1) tells it."""

    mode: int
    uid: int
    gid: int
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.mode:04o}, uid {self.uid}, gid {self.gid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """``made``: what its user could make there, a folder and a file; None and ``words`` when it could not."""

    scratch: Folder
    grants: Folder
    made: tuple[tuple[int, int], tuple[int, int]] | None
    runs: bool
    words: str


def try_scratch(run: Runner, scratch: str, grants: str, *, run_as: RunAs, timeout: float) -> Scratch | str:
    """What was seen, or why nothing was: a folder that is not there, or that its user does not reach."""
    try:
        done = run(["/bin/sh", "-c", _SCRIPT, "sh", scratch, grants], timeout=timeout, run_as=run_as)
    except CommandError as error:
        return str(error)
    words = (done.stderr.strip().splitlines() or [f"the probe exits {done.code}"])[-1][:200]
    lines = done.stdout.splitlines()
    folders = [_folder(line) for line in lines[:2]]
    if done.code == _LOOK or len(folders) != 2:
        return words
    above, own = folders
    if above is None or own is None:
        return "stat answers in another form"
    if done.code == _MAKE:
        return Scratch(scratch=above, grants=own, made=None, runs=False, words=words)
    made = [_MADE.fullmatch(line) for line in lines[2:4]]
    if done.code != 0 or len(made) != 2 or made[0] is None or made[1] is None or len(lines) != 5:
        return words
    pair = ((int(made[0][1], 8), int(made[0][2])), (int(made[1][1], 8), int(made[1][2])))
    return Scratch(scratch=above, grants=own, made=pair, runs=lines[4] == "runs", words="")


def _folder(line: str) -> Folder | None:
    match = _FOLDER.fullmatch(line)
    if match is None:
        return None
    return Folder(mode=int(match[1], 8), uid=int(match[2]), gid=int(match[3]), kind=match[4])

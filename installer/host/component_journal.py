"""Which schema a component's own journal has on disk: asked before a release that could not read it is
started (B32).

The question is put as the component's identity, in a child: SQLite may make files beside a database it
opens, and those
must not be root's.
"""

import os
import sys

from installer.domain.refusal import VERIFICATION_FAILED, Refusal
from installer.host.commands import CommandError, RunAs, Runner
from installer.host.paths import HostPaths

_ASK = (
    "import sqlite3,sys;from urllib.parse import quote;"
    "c=sqlite3.connect('file:'+quote(sys.argv[1])+'?mode=ro',uri=True,timeout=5);"
    "print(c.execute('PRAGMA user_version').fetchone()[0])"
)


def journal_schema(
    paths: HostPaths, run: Runner, *, component: str, run_as: RunAs, timeout: float
) -> int | None:
    """The journal's ``user_version``; None when there is no journal. Raises Refusal
    ``component_journal_unreadable``.
    """
    path = paths.component_journal(component)
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(component, str(error)) from error
    try:
        done = run([sys.executable, "-I", "-c", _ASK, os.fspath(path)], timeout=timeout, run_as=run_as)
    except CommandError as error:
        raise _unreadable(component, str(error)) from error
    answer = done.stdout.strip()
    if done.code != 0 or not answer.isdecimal():
        words = (done.stderr.strip().splitlines() or [f"exit {done.code}"])[-1]
        raise _unreadable(component, words[:200])
    return int(answer)


def _unreadable(component: str, why: str) -> Refusal:
    return Refusal(
        "component_journal_unreadable",
        found=f"{component}'s journal: {why}",
        wanted="its schema number, before anything is stopped",
        remedy="Look at the journal with the component's own `doctor`; nothing was changed.",
        exit_code=VERIFICATION_FAILED,
    )

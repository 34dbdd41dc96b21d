"""The commands of `pharos-ssh-access`, each importing only what it needs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from site_bundle.kernel.command_line import HEALTHY, Program, say
from site_bundle.ssh_access.run import USER, run_agent_process

PROGRAM = Program("pharos-ssh-access", "ssh-access", Path("/etc/pharos-hpc/ssh-access.env"))
# What the running unit has, then what it would be given.
TOKEN_FILES = (
    Path("/run/credentials/pharos-ssh-access.service/site-api-token"),
    Path("/etc/pharos-hpc/credentials/ssh-access/site-api-token"),
)

_EPILOG = """exit codes: 0 healthy, 1 bug, 2 usage or settings, 3 unhealthy or a check failed, 4 not running

examples:
  systemctl status pharos-ssh-access     what the running agent says in one line
  pharos-ssh-access status               its checks, keys and feed
  pharos-ssh-access doctor               asks the directory and the Site API itself; each fault with its
  remedy

`VERB --help` says what a verb reads, who may use it, and how it ends.
"""
_HELP = {
    "run": (
        """Runs the agent in the foreground until SIGTERM or Ctrl-C: what the unit does. Settings
come from the environment alone (docs/settings.md); its log goes to stderr, one line an event. As
root it becomes the component's user. Only one can run: beside the service it refuses
(journal_locked).""",
        """exit codes: 0 ended as asked, 2 settings, 3 it cannot run (the log's last line says why)

example, beside a stopped service:
  set -a; . /etc/pharos-hpc/ssh-access.env
  export PHAROS_SITE_API_TOKEN_FILE=/etc/pharos-hpc/credentials/ssh-access/site-api-token
  pharos-ssh-access run
""",
    ),
    "status": (
        """What the running agent says of itself: state, checks with their remedies, keys, the
latest poll and report. Reads status.json in the runtime folder (/run/pharos-ssh-access), asks
nobody, changes nothing; any user may.""",
        """exit codes: 0 ready, 2 settings, 3 not ready or its word is too old or unreadable, 4 not running

examples:
  pharos-ssh-access status
  pharos-ssh-access status --json | jq .checks.directory
""",
    ),
    "doctor": (
        """Asks everything the agent needs, now: settings, the token, the Site API, who slapd says we
are, the people's base, and the right to add and delete on the probe entry (where its own value is put
and taken out again). Reads the environment file and the token; needs root, or the component's user.
As root it becomes that user before it asks.""",
        """exit codes: 0 all pass (warnings too), 2 environment file, 3 a check failed

examples:
  sudo pharos-ssh-access doctor
  sudo pharos-ssh-access doctor --json | jq '.checks[] | select(.status != "pass")'
""",
    ),
    "accept-feed": (
        """Accepts central's new history after it was restored or rebuilt: from now on removals are
taken from it, and keys of the earlier history that it does not list are removed. Writes the journal
when no agent runs, else asks the running one. Needs root, or the component's user.""",
        """exit codes: 0 accepted or asked, 2 settings or no feed id, 3 another history, one not read to its
end, or no access

example, with the id that status shows as feed.current:
  sudo pharos-ssh-access accept-feed 1b4e28ba-2fa1-41d2-883f-0016d3cca427
""",
    ),
}


def command(words: list[str]) -> int:
    """Does what `words` say; the exit code."""
    parser = PROGRAM.parser(
        "Puts members' SSH keys into the site's directory, takes them out, and reports on each.", _EPILOG
    )
    verbs = PROGRAM.verbs(parser, _HELP)
    verbs("run", "run the agent in the foreground (what the unit does)", lambda _: run_agent_process())
    status = verbs("status", "what the running agent says of itself", _status)
    status.add_argument("--json", action="store_true", help="the whole document")
    doctor = verbs("doctor", "check token, Site API, directory identity and rights now", _doctor)
    doctor.add_argument("--json", action="store_true", help="the checks as one document")
    text = "accept central's new history: removals are taken from it from now on"
    accept = verbs("accept-feed", text, _accept_feed)
    accept.add_argument("feed", help="the history's id, as status shows it under feed.current")
    for taking in (status, doctor, accept):
        PROGRAM.taking_settings(taking)
    return PROGRAM.run(parser, words)


def _status(chosen: argparse.Namespace) -> int:
    from site_bundle.ssh_access.settings import FOLDERS

    folder = FOLDERS.runtime(PROGRAM.environment(chosen))
    return PROGRAM.status(folder, as_json=chosen.json, more=_status_lines)


def _status_lines(document: dict[str, Any]) -> list[str]:
    keys = ", ".join(f"{number} {name}" for name, number in document["keys"].items() if number)
    poll, report = (document[name] or "none yet" for name in ("lastPollAt", "lastReportAt"))
    return [
        f"  keys: {keys or 'none'}",
        f"  last poll {poll}, last report {report}",
        f"  a removed key may let in for {document['removalCacheSeconds']} s more (sssd's cache)",
    ]


def _doctor(chosen: argparse.Namespace) -> int:
    from site_bundle.ssh_access.doctor import run_doctor

    checks = run_doctor(PROGRAM.environment(chosen), user=USER, token_files=TOKEN_FILES)
    return PROGRAM.checked(checks, as_json=chosen.json)


def _accept_feed(chosen: argparse.Namespace) -> int:
    from site_bundle.ssh_access.doctor import accept_feed

    say(accept_feed(PROGRAM.environment(chosen), user=USER, text=chosen.feed))
    return HEALTHY

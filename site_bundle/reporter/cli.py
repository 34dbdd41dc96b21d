"""The commands of `pharos-reporter`, each importing only what it needs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from site_bundle.kernel.command_line import HEALTHY, Program, say
from site_bundle.reporter.run import USER, run_reporter_process

PROGRAM = Program("pharos-reporter", "reporter", Path("/etc/pharos-hpc/reporter.env"))

_EPILOG = """exit codes: 0 healthy, 1 bug, 2 usage or settings, 3 unhealthy or a check failed, 4 not running

examples:
  systemctl status pharos-reporter     what the running reporter says in one line
  pharos-reporter status               its checks, and what the latest pass found
  pharos-reporter doctor               asks every source itself; each fault with its remedy
  pharos-reporter once                 one pass by hand, shown; with the mode observe nothing is written
  pharos-reporter accept-absence NAME  an account the directory may only hide is gone: your word for it

`VERB --help` says what a verb reads, who may use it, and how it ends.
"""
_HELP = {
    "run": (
        """Runs the reporter in the foreground until SIGTERM or Ctrl-C: what the unit does. Once a minute
it reads the offering's resources at Waldur, the cluster, the directory and central's lists of members,
applies new identities, and reports. Settings come from the environment alone (docs/settings.md); its log
goes to stderr, one line an event. As root it becomes the component's user. Only one can run: beside the
service it refuses (journal_locked).""",
        """exit codes: 0 ended as asked, 2 settings, 3 it cannot run (the log's last line says why)
""",
    ),
    "once": (
        """One pass and one delivery, shown: every allocation with its state, what was applied or would be,
and why an account is not ready or an allocation not whole. It names accounts, so it is for the Site's own
people. Needs the same settings and credentials as the service, and the service stopped: there is one journal.
As root it becomes the component's user first.""",
        """exit codes: 0 whole and delivered, 2 settings, 3 something was unreadable, held back or refused

examples, beside a stopped service:
  sudo PHAROS_REPORTER_MODE=observe pharos-reporter once     the difference report: writes nothing to Slurm
  sudo pharos-reporter once --json | jq .differences
""",
    ),
    "status": (
        """What the running reporter says of itself: state, checks with their remedies, counts of the latest
pass. Reads status.json in the runtime folder (/run/pharos-reporter), asks nobody, changes nothing; any user
may. It names no person.""",
        """exit codes: 0 ready, 2 settings, 3 not ready or its word is too old or unreadable, 4 not running

example:
  pharos-reporter status --json | jq .checks.slurm
""",
    ),
    "doctor": (
        """Asks everything the reporter needs, now: settings, the three credentials, Waldur, the intake, the
directory's people and groups, the cluster, the parent account, the coordinator's right, and the declared
capacity beside the nodes'. Writes nothing. Needs root, or the component's user; as root it becomes that user
before it asks.""",
        """exit codes: 0 all pass (warnings too), 2 environment file, 3 a check failed

example:
  sudo pharos-reporter doctor --json | jq '.checks[] | select(.status != "pass")'
""",
    ),
    "accept-absence": (
        """Accepts that an account is absent which the directory neither shows nor is proven not to have
(entry_hidden, group_hidden, absence_unproven): its allocations are reported again, without it or as
incomplete. Who accepted it, when and why is kept in the journal for good; the word holds until the directory
shows the account again, with a group. Needs the service stopped: there is one journal. Needs root, or the
component's user.""",
        """exit codes: 0 accepted, 2 no login name or no reason, 3 the service runs, or no access

example, with the name that `pharos-reporter once` shows beside the code:
  sudo systemctl stop pharos-reporter
  sudo pharos-reporter accept-absence bob --reason 'ticket 4711: left, entry locked by the directory team'
  sudo systemctl start pharos-reporter
""",
    ),
}


def command(words: list[str]) -> int:
    """Does what `words` say; the exit code."""
    parser = PROGRAM.parser(
        "Tells central which allocations, limits and accounts really exist at this Site.", _EPILOG
    )
    verb = PROGRAM.verbs(parser, _HELP)
    verb("run", "run the reporter in the foreground (what the unit does)", lambda _: run_reporter_process())
    once = verb("once", "one pass by hand, shown", _once)
    status = verb("status", "what the running reporter says of itself", _status)
    doctor = verb("doctor", "check settings, credentials, sources and rights now", _doctor)
    text = "an account the directory may only hide is absent: your word for it"
    accept = verb("accept-absence", text, _accept_absence)
    accept.add_argument("name", metavar="NAME", help="the username, as once shows it")
    accept.add_argument("--reason", required=True, help="how you know; kept with it")
    for taking in (once, status, doctor):
        taking.add_argument("--json", action="store_true", help="the answer as one document")
    for taking in (once, status, doctor, accept):
        PROGRAM.taking_settings(taking)
    return PROGRAM.run(parser, words)


def _once(chosen: argparse.Namespace) -> int:
    from site_bundle.reporter.by_hand import once

    document, code = once(PROGRAM.environment(chosen), user=USER)
    from site_bundle.reporter.entrypoints.once_document import once_lines

    say(document if chosen.json else "\n".join(once_lines(document)))
    return code


def _accept_absence(chosen: argparse.Namespace) -> int:
    from site_bundle.reporter.by_hand import accept_absence

    say(accept_absence(PROGRAM.environment(chosen), user=USER, name=chosen.name, reason=chosen.reason))
    return HEALTHY


def _status(chosen: argparse.Namespace) -> int:
    from site_bundle.reporter.settings import FOLDERS

    folder = FOLDERS.runtime(PROGRAM.environment(chosen))
    return PROGRAM.status(folder, as_json=chosen.json, more=_status_lines)


def _status_lines(document: dict[str, Any]) -> list[str]:
    accounts, allocations = document["accounts"], document["allocations"]
    lines = [f"  mode {document['mode']}, last observation {document['lastObservedAt'] or 'none yet'}"]
    if allocations:
        counts = (
            f"{allocations['resources']} allocations, {allocations['accountReports']} with their accounts"
        )
        lines.append(f"  {counts}: {accounts['ready']} ready, {accounts['incomplete']} incomplete")
    waiting = document["outbox"]
    since = f", the oldest of {waiting['oldestObservedAt']}" if waiting["oldestObservedAt"] else ""
    lines.append(
        f"  last receipt {document['lastReceiptAt'] or 'none yet'}, {waiting['waiting']} waiting{since}"
    )
    return lines


def _doctor(chosen: argparse.Namespace) -> int:
    from site_bundle.reporter.by_hand import doctor

    return PROGRAM.checked(doctor(PROGRAM.environment(chosen), user=USER), as_json=chosen.json)

"""The commands of `pharos-runtime`, each importing only what it needs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from site_bundle.kernel.command_line import HEALTHY, Program, say
from site_bundle.runtime.run import USER, run_runtime_process

PROGRAM = Program("pharos-runtime", "runtime", Path("/etc/pharos-hpc/runtime.env"))

_EPILOG = """exit codes: 0 healthy, 1 bug, 2 usage or settings, 3 unhealthy or a check failed, 4 not running

examples:
  systemctl status pharos-runtime       what the running Runtime says in one line
  pharos-runtime status                 its checks, commands by state, Slurm commands a minute
  pharos-runtime doctor                 asks every owner itself; each fault with its remedy
  pharos-runtime drain --reason "Slurm upgrade" --until 2026-12-01T18:00:00Z

`VERB --help` says what a verb reads, who may use it, and how it ends.
"""
_HELP = {
    "run": (
        """Runs the Runtime in the foreground until SIGTERM or Ctrl-C: what the unit does. It takes
commands from the Site API, submits each stage as the member with the member's own token, observes and
cancels as itself, and reports. It refuses to start while an owner it needs is not connected. Settings come
from the environment alone (docs/settings.md); its log goes to stderr, one line an event. As root it becomes
the component's user. Only one can run: beside the service it refuses (journal_locked).""",
        """exit codes: 0 ended as asked, 2 settings, 3 it cannot run (the log's last line says why)

example, beside a stopped service:
  pharos-runtime run --check-owners     lists each owner, connected or not, and ends
""",
    ),
    "status": (
        """What the running Runtime says of itself: state, checks with their remedies, commands by state,
what waits for central. Reads status.json in the runtime folder (/run/pharos-runtime), asks nobody, changes
nothing; any user may. It names no person.""",
        """exit codes: 0 ready, 2 settings, 3 not ready or its word is too old or unreadable, 4 not running

example:
  pharos-runtime status --json | jq .slurm.commandsPerMinute
""",
    ),
    "doctor": (
        """Asks everything the Runtime needs, now: settings, the token, the Site API, the directory's
names, Slurm's version, token submission, accounting, the coordinator's right, and the folder on scratch,
where a folder is made and taken away. Needs root, or the component's user; as root it becomes that user
before it asks.""",
        """exit codes: 0 all pass (warnings too), 2 environment file, 3 a check failed

example:
  sudo pharos-runtime doctor --json | jq '.checks[] | select(.status != "pass")'
""",
    ),
    "drain": (
        """Takes no new work and says so to central, which holds Runs (site_maintenance). What runs, runs
on and is reported. Leaves a request in the state folder and wakes the service, which takes it at once, or
when it next starts. Needs root, or the component's user.""",
        """exit codes: 0 asked, 2 settings, 3 not possible

example:
  sudo pharos-runtime drain --reason "Slurm upgrade" --until 2026-12-01T18:00:00Z
""",
    ),
    "undrain": (
        "Takes work again, and says so to central. Needs root, or the component's user.",
        """exit codes: 0 asked, 2 settings, 3 not possible
""",
    ),
    "accept-feed": (
        """Accepts central's new history after it was restored or rebuilt: from now on its commands are
begun. Commands this journal knows by their ids are never done twice, whatever history lists them. Needs
root, or the component's user.""",
        """exit codes: 0 asked, 2 settings, or no feed id, 3 no access

example, with the id that status shows as feed.current:
  sudo pharos-runtime accept-feed 1b4e28ba-2fa1-41d2-883f-0016d3cca427
""",
    ),
}


def command(words: list[str]) -> int:
    """Does what `words` say; the exit code."""
    line = "Runs members' stages in Slurm as the members themselves, each exactly once."
    parser = PROGRAM.parser(line, _EPILOG)
    verb = PROGRAM.verbs(parser, _HELP)
    run = verb("run", "run the Runtime in the foreground (what the unit does)", _run)
    run.add_argument("--check-owners", action="store_true", help="list each owner, connected or not, and end")
    status = verb("status", "what the running Runtime says of itself", _status)
    doctor = verb("doctor", "check settings, token, owners and rights now", _doctor)
    drain = verb("drain", "take no new work, and say so to central", _drain)
    drain.add_argument("--until", metavar="TIME", help="when it is expected to end (with a zone)")
    drain.add_argument("--reason", required=True, help="why, in 1…200 characters: members are shown it")
    undrain = verb("undrain", "take work again", _undrain)
    accept = verb(
        "accept-feed", "accept central's new history: its commands are begun from now on", _accept_feed
    )
    accept.add_argument("feed", help="the history's id, as status shows it under feed.current")
    for taking in (run, status, doctor):
        taking.add_argument("--json", action="store_true", help="the answer as one document")
    for taking in (run, status, doctor, drain, undrain, accept):
        PROGRAM.taking_settings(taking)
    return PROGRAM.run(parser, words)


def _run(chosen: argparse.Namespace) -> int:
    if not chosen.check_owners:
        return run_runtime_process()
    from site_bundle.runtime.by_hand import owners

    return PROGRAM.checked(owners(PROGRAM.environment(chosen), user=USER), as_json=chosen.json)


def _status(chosen: argparse.Namespace) -> int:
    from site_bundle.runtime.settings import FOLDERS

    folder = FOLDERS.runtime(PROGRAM.environment(chosen))
    return PROGRAM.status(folder, as_json=chosen.json, more=_status_lines)


def _status_lines(document: dict[str, Any]) -> list[str]:
    commands = ", ".join(f"{number} {name}" for name, number in sorted(document["commands"].items()))
    slurm = document["slurm"]
    return [
        f"  mode {document['mode']}, {'draining' if document['draining'] else 'taking work'}",
        f"  commands: {commands or 'none'}; {document['outbox']['waiting']} words wait for central",
        f"  last poll {document['lastPollAt'] or 'none yet'}, look {document['lastLookAt'] or 'none yet'}",
        f"  Slurm commands a minute: {slurm['commandsPerMinute']}",
    ]


def _doctor(chosen: argparse.Namespace) -> int:
    from site_bundle.runtime.by_hand import doctor

    return PROGRAM.checked(doctor(PROGRAM.environment(chosen), user=USER), as_json=chosen.json)


def _drain(chosen: argparse.Namespace) -> int:
    from site_bundle.kernel.errors import RefusedError
    from site_bundle.kernel.runtime import utc_now
    from site_bundle.runtime.application.ports import DrainRequest
    from site_bundle.runtime.by_hand import drain, parse_until

    reason = " ".join(chosen.reason.split())
    if not 1 <= len(reason) <= 200 or not reason.isprintable():
        raise RefusedError("reason_malformed", found="the reason", wanted="1…200 printable characters")
    request = DrainRequest(True, parse_until(chosen.until, utc_now()), reason)
    say(drain(PROGRAM.environment(chosen), user=USER, request=request))
    return HEALTHY


def _undrain(chosen: argparse.Namespace) -> int:
    from site_bundle.runtime.application.ports import DrainRequest
    from site_bundle.runtime.by_hand import drain

    say(drain(PROGRAM.environment(chosen), user=USER, request=DrainRequest(False, None, None)))
    return HEALTHY


def _accept_feed(chosen: argparse.Namespace) -> int:
    from site_bundle.runtime.by_hand import accept_feed

    say(accept_feed(PROGRAM.environment(chosen), user=USER, text=chosen.feed))
    return HEALTHY

"""The commands of `pharos-ssh-access`, each importing only what it needs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from site_bundle.ssh_access.run import USER, run_agent_process

if TYPE_CHECKING:
    from site_bundle.kernel.health import Check

ENV_FILE = Path("/etc/pharos-hpc/ssh-access.env")
# What the running unit has, then what it would be given.
TOKEN_FILES = (
    Path("/run/credentials/pharos-ssh-access.service/site-api-token"),
    Path("/etc/pharos-hpc/credentials/ssh-access/site-api-token"),
)
HEALTHY, BUG, USAGE, UNHEALTHY, NOT_RUNNING, INTERRUPTED = 0, 1, 2, 3, 4, 130

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
  PHAROS_SITE_API_TOKEN_FILE=/root/token pharos-ssh-access run
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
    parser = _parser()
    chosen = parser.parse_args(words)
    if chosen.version:
        print(_version())  # noqa: T201 - the answer
        return HEALTHY
    if chosen.verb is None:
        parser.print_help(sys.stderr)
        return USAGE
    from site_bundle.kernel.errors import SiteError

    try:
        code: int = chosen.act(chosen)
    except SiteError as error:
        print(f"pharos-ssh-access: {error}", file=sys.stderr)  # noqa: T201 - the refusal
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pharos-ssh-access",
        description="Puts members' SSH keys into the site's directory, takes them out, and reports on each.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print version and release, and end")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")

    def verb(name: str, text: str, act: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        description, epilog = _HELP[name]
        raw = argparse.RawDescriptionHelpFormatter
        made = verbs.add_parser(name, help=text, description=description, epilog=epilog, formatter_class=raw)
        made.set_defaults(act=act)
        return made

    verb("run", "run the agent in the foreground (what the unit does)", lambda _: run_agent_process())
    status = verb("status", "what the running agent says of itself", _status)
    status.add_argument("--json", action="store_true", help="the whole document")
    doctor = verb("doctor", "check token, Site API, directory identity and rights now", _doctor)
    doctor.add_argument("--json", action="store_true", help="the checks as one document")
    text = "accept central's new history: removals are taken from it from now on"
    accept = verb("accept-feed", text, _accept_feed)
    accept.add_argument("feed", help="the history's id, as status shows it under feed.current")
    for taking in (status, doctor, accept):
        taking.add_argument(
            "--env-file",
            type=Path,
            metavar="FILE",
            help=f"settings for variables that are unset (default: {ENV_FILE} if it exists)",
        )
    return parser


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    from site_bundle.kernel.release import release_id

    try:
        number = version("pharos-hpc")
    except PackageNotFoundError:
        number = "0"
    return f"pharos-ssh-access {number} ({release_id()})"


def _environment(chosen: argparse.Namespace) -> Mapping[str, str]:
    from site_bundle.kernel.errors import SettingsError
    from site_bundle.kernel.settings import read_environment_file

    try:
        found = read_environment_file(chosen.env_file or ENV_FILE)
    except SettingsError as error:
        # Only the default file need not be there; one that is there is read or said to be unreadable.
        if chosen.env_file or not isinstance(error.__cause__, FileNotFoundError):
            raise
        found = {}
    return {**found, **os.environ}


def _status(chosen: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from site_bundle.kernel.health import Status
    from site_bundle.kernel.status_files import process_check, read_status
    from site_bundle.ssh_access.settings import runtime_directory

    folder = runtime_directory(_environment(chosen))
    document = read_status(folder)
    check = process_check(document, unit=USER, now=datetime.now(UTC))
    if document is None or check.code == "not_running":
        why = "there is no" if document is None else "gone is the process of"
        shown = f"the agent does not run: {why} {folder}/status.json\n  remedy: {check.remedy}"
        told = {"schema": 1, "component": "ssh-access", "state": "not_running"}
        _say(told if chosen.json else shown, chosen)
        return NOT_RUNNING
    _say(document if chosen.json else _status_text(document, check), chosen)
    return HEALTHY if check.status is Status.PASS else UNHEALTHY


def _say(answer: Any, chosen: argparse.Namespace) -> None:
    print(json.dumps(answer, indent=1) if chosen.json else answer)  # noqa: T201 - the answer


def _status_text(document: dict[str, Any], process: Check) -> str:
    lines = [
        f"{document['state']} since {document['since']}, release {document['release']}, pid {document['pid']}"
    ]
    for name, check in sorted(document["checks"].items()):
        lines.append(f"  {check['status']:7} {name}: {check['found']}")
        if check["status"] != "pass" and check["remedy"]:
            lines.append(f"          remedy: {check['remedy']}")
    if process.code == "status_stale":
        lines.append(f"  {process.status.value:7} process: {process.found}; remedy: {process.remedy}")
    keys = ", ".join(f"{number} {name}" for name, number in document["keys"].items() if number)
    poll, report = (document[name] or "none yet" for name in ("lastPollAt", "lastReportAt"))
    lines += [f"  keys: {keys or 'none'}", f"  last poll {poll}, last report {report}"]
    lines.append(f"  a removed key may let in for {document['removalCacheSeconds']} s more (sssd's cache)")
    return "\n".join(lines)


def _doctor(chosen: argparse.Namespace) -> int:
    from site_bundle.kernel.health import Status, worst
    from site_bundle.kernel.release import release_id
    from site_bundle.ssh_access.doctor import run_doctor

    checks = run_doctor(_environment(chosen), user=USER, token_files=TOKEN_FILES)
    if chosen.json:
        listed = [
            {"id": c.id, "status": c.status.value, "found": c.found, "wanted": c.wanted, "remedy": c.remedy}
            for c in checks
        ]
        _say({"schema": 1, "component": "ssh-access", "release": release_id(), "checks": listed}, chosen)
    else:
        _say("\n".join(_check_lines(checks)), chosen)
    return HEALTHY if worst(checks) in {Status.PASS, Status.WARN} else UNHEALTHY


def _check_lines(checks: tuple[Check, ...]) -> list[str]:
    lines = []
    for check in checks:
        lines.append(f"{check.status.value:7} {check.id}: {check.found}")
        if check.status.value != "pass":
            lines.append(f"        wanted: {check.wanted}")
            lines.append(f"        remedy: {check.remedy}")
    return lines


def _accept_feed(chosen: argparse.Namespace) -> int:
    from site_bundle.ssh_access.doctor import accept_feed

    print(accept_feed(_environment(chosen), user=USER, text=chosen.feed))  # noqa: T201 - the answer
    return HEALTHY

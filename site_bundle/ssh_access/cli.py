"""The commands of `pharos-ssh-access`, each importing only what it needs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from site_bundle.ssh_access.run import run_agent_process

if TYPE_CHECKING:
    from site_bundle.ssh_access.application.health import Check

USER = "pharos-ssh-access"
ENV_FILE = Path("/etc/pharos-hpc/ssh-access.env")
# What the running unit has, then what it would be given.
TOKEN_FILES = (
    Path("/run/credentials/pharos-ssh-access.service/site-api-token"),
    Path("/etc/pharos-hpc/credentials/ssh-access/site-api-token"),
)
HEALTHY, BUG, USAGE, UNHEALTHY, NOT_RUNNING = 0, 1, 2, 3, 4

_EPILOG = """exit codes: 0 healthy, 1 bug, 2 usage or settings, 3 unhealthy or a check failed, 4 not running

examples:
  systemctl status pharos-ssh-access     what the running agent says in one line
  pharos-ssh-access status               its checks, keys and feed
  pharos-ssh-access doctor               asks the directory and the Site API itself; each fault with its
  remedy
"""


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
    run = verbs.add_parser("run", help="run the agent in the foreground (what the unit does)")
    run.set_defaults(act=lambda _chosen: run_agent_process())
    status = verbs.add_parser("status", help="what the running agent says of itself")
    status.add_argument("--json", action="store_true", help="the whole document")
    status.set_defaults(act=_status)
    doctor = verbs.add_parser("doctor", help="check token, Site API, directory identity and rights now")
    doctor.add_argument("--json", action="store_true", help="the checks as one document")
    doctor.set_defaults(act=_doctor)
    accept = verbs.add_parser(
        "accept-feed", help="accept central's new history: removals are taken from it from now on"
    )
    accept.add_argument("feed", help="the history's id, as status shows it under feed.current")
    accept.set_defaults(act=_accept_feed)
    for verb in (status, doctor, accept):
        verb.add_argument(
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
    from site_bundle.kernel.settings import read_environment_file

    path = chosen.env_file or (ENV_FILE if ENV_FILE.exists() else None)
    return {**(read_environment_file(path) if path else {}), **os.environ}


def _status(chosen: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from site_bundle.ssh_access.adapters.status_files import process_check, read_status
    from site_bundle.ssh_access.application.health import Status
    from site_bundle.ssh_access.settings import runtime_directory

    document = read_status(runtime_directory(_environment(chosen)))
    check = process_check(document, now=datetime.now(UTC))
    if document is None or check.code == "not_running":
        _say(
            {"schema": 1, "component": "ssh-access", "state": "not_running"} if chosen.json else check.found,
            chosen,
        )
        return NOT_RUNNING
    _say(document if chosen.json else _status_text(document), chosen)
    return HEALTHY if check.status is Status.PASS else UNHEALTHY


def _say(answer: Any, chosen: argparse.Namespace) -> None:
    print(json.dumps(answer, indent=1) if chosen.json else answer)  # noqa: T201 - the answer


def _status_text(document: dict[str, Any]) -> str:
    lines = [
        f"{document['state']} since {document['since']}, release {document['release']}, pid {document['pid']}"
    ]
    for name, check in sorted(document["checks"].items()):
        lines.append(f"  {check['status']:7} {name}: {check['found']}")
        if check["status"] != "pass" and check["remedy"]:
            lines.append(f"          remedy: {check['remedy']}")
    keys = ", ".join(f"{number} {name}" for name, number in document["keys"].items() if number)
    lines.append(f"  keys: {keys or 'none'}")
    lines.append(f"  last poll {document['lastPollAt']}, last report {document['lastReportAt']}")
    lines.append(f"  a removed key may let in for {document['removalCacheSeconds']} s more (sssd's cache)")
    return "\n".join(lines)


def _doctor(chosen: argparse.Namespace) -> int:
    from site_bundle.kernel.release import release_id
    from site_bundle.ssh_access.application.health import Status, worst
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

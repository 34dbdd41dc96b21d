"""What the verbs of every component share: help, settings from a file, answers for people and programs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from site_bundle.kernel.health import Check

HEALTHY, BUG, USAGE, UNHEALTHY, NOT_RUNNING, INTERRUPTED = 0, 1, 2, 3, 4, 130
Act = Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True)
class Program:
    """A component's command: its names, and where its settings stand."""

    name: str
    component: str
    env_file: Path

    def parser(self, description: str, epilog: str) -> argparse.ArgumentParser:
        """The parser with `--version`; verbs are added to it."""
        raw = argparse.RawDescriptionHelpFormatter
        made = argparse.ArgumentParser(
            prog=self.name, description=description, epilog=epilog, formatter_class=raw
        )
        made.add_argument("--version", action="store_true", help="print version and release, and end")
        return made

    def verbs(
        self, parser: argparse.ArgumentParser, texts: Mapping[str, tuple[str, str]]
    ) -> Callable[[str, str, Act], argparse.ArgumentParser]:
        """Adds one verb at a call: its name, its line, its act. `texts`: what each does, and its epilog."""
        adding = parser.add_subparsers(dest="verb", metavar="VERB")

        def verb(name: str, line: str, act: Act) -> argparse.ArgumentParser:
            description, epilog = texts[name]
            raw = argparse.RawDescriptionHelpFormatter
            made = adding.add_parser(
                name, help=line, description=description, epilog=epilog, formatter_class=raw
            )
            made.set_defaults(act=act)
            return made

        return verb

    def run(self, parser: argparse.ArgumentParser, words: list[str]) -> int:
        """Does what `words` say; the exit code."""
        chosen = parser.parse_args(words)
        if chosen.version:
            say(self.version())
            return HEALTHY
        if chosen.verb is None:
            parser.print_help(sys.stderr)
            return USAGE
        from site_bundle.kernel.errors import SiteError

        try:
            code: int = chosen.act(chosen)
        except SiteError as error:
            print(f"{self.name}: {error}", file=sys.stderr)  # noqa: T201 - the refusal
            return error.exit_status
        except KeyboardInterrupt:
            return INTERRUPTED
        return code

    def taking_settings(self, parser: argparse.ArgumentParser) -> None:
        """Adds `--env-file`."""
        parser.add_argument(
            "--env-file",
            type=Path,
            metavar="FILE",
            help=f"settings for variables that are unset (default: {self.env_file} if it exists)",
        )

    def environment(self, chosen: argparse.Namespace) -> Mapping[str, str]:
        """The environment over the file's settings. SettingsError for a file that cannot be read."""
        from site_bundle.kernel.errors import SettingsError
        from site_bundle.kernel.settings import read_environment_file

        try:
            found = read_environment_file(chosen.env_file or self.env_file)
        except SettingsError as error:
            # Only the default file need not be there; one that is there is read or said to be unreadable.
            if chosen.env_file or not isinstance(error.__cause__, FileNotFoundError):
                raise
            found = {}
        return {**found, **os.environ}

    def version(self) -> str:
        """Name, version and release in a line."""
        from importlib.metadata import PackageNotFoundError, version

        from site_bundle.kernel.release import release_id

        try:
            number = version("pharos-hpc")
        except PackageNotFoundError:
            number = "0"
        return f"{self.name} {number} ({release_id()})"

    def status(self, folder: Path, *, as_json: bool, more: Callable[[dict[str, Any]], list[str]]) -> int:
        """Says what the running component says of itself; `more`: lines of its own below the checks."""
        from site_bundle.kernel.health import Status
        from site_bundle.kernel.status_files import process_check, read_status

        document = read_status(folder)
        check = process_check(document, unit=self.name, now=datetime.now(UTC))
        if document is None or check.code == "not_running":
            why = "there is no" if document is None else "gone is the process of"
            shown = f"{self.name} does not run: {why} {folder}/status.json\n  remedy: {check.remedy}"
            told = {"schema": 1, "component": self.component, "state": "not_running"}
            say(told if as_json else shown)
            return NOT_RUNNING
        say(document if as_json else "\n".join([*_status_lines(document, check), *more(document)]))
        return HEALTHY if check.status is Status.PASS else UNHEALTHY

    def checked(self, checks: Sequence[Check], *, as_json: bool) -> int:
        """Says the checks of `doctor`."""
        from site_bundle.kernel.health import Status, worst
        from site_bundle.kernel.release import release_id

        if as_json:
            listed = [
                {
                    "id": c.id,
                    "status": c.status.value,
                    "found": c.found,
                    "wanted": c.wanted,
                    "remedy": c.remedy,
                }
                for c in checks
            ]
            say({"schema": 1, "component": self.component, "release": release_id(), "checks": listed})
        else:
            say("\n".join(line for check in checks for line in _check_lines(check)))
        return HEALTHY if worst(checks) in {Status.PASS, Status.WARN} else UNHEALTHY


def say(answer: Any) -> None:
    """The answer: a text as it is, anything else as JSON."""
    print(answer if isinstance(answer, str) else json.dumps(answer, indent=1))  # noqa: T201 - the answer


def _check_lines(check: Check) -> list[str]:
    lines = [f"{check.status.value:7} {check.id}: {check.found}"]
    if check.status.value != "pass":
        lines += [f"        wanted: {check.wanted}", f"        remedy: {check.remedy}"]
    return lines


def _status_lines(document: dict[str, Any], process: Check) -> list[str]:
    head = "{state} since {since}, release {release}, pid {pid}".format(**document)
    lines = [head]
    for name, check in sorted(document["checks"].items()):
        lines.append(f"  {check['status']:7} {name}: {check['found']}")
        if check["status"] != "pass" and check["remedy"]:
            lines.append(f"          remedy: {check['remedy']}")
    if process.code == "status_stale":
        lines.append(f"  {process.status.value:7} process: {process.found}; remedy: {process.remedy}")
    return lines

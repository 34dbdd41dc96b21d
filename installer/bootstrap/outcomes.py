"""Judges how the programs ended that build an environment, and puts their words into refusals."""

import re
from collections.abc import Iterable
from typing import Final

from installer.bootstrap.children import Outcome
from installer.bootstrap.errors import refusal
from installer.bootstrap.pip_tool import INSTALLED
from installer.domain.manifest import Override
from installer.domain.refusal import Refusal
from installer.domain.requirements import normalise

_CHECK_LINE: Final = re.compile(
    r"(?P<package>\S+) \S+ has requirement (?P<field>.+), but you have (?P<have>\S+ \S+)\."
)
_WORDS: Final = 600
_LINES: Final = 4


def after_install(outcome: Outcome) -> Outcome:
    """The part of pip's run that was ``pip check``. Raises Refusal ``environment_pip`` when it did not get
    there.
    """
    before, mark, after = outcome.stdout.partition(f"{INSTALLED}\n")
    if not mark:
        raise _failed("environment_pip", "pip", Outcome(outcome.returncode, before, outcome.stderr))
    return Outcome(outcome.returncode, after, outcome.stderr)


def accept(outcome: Outcome, overrides: Iterable[Override]) -> None:
    """Every complaint of ``pip check`` is exactly a recorded override, or the environment is refused (I5)."""
    if outcome.returncode == 0:
        return
    recorded = {(normalise(override.package), override.field) for override in overrides}
    complaints = [line.strip() for line in outcome.stdout.splitlines() if line.strip()]
    for line in complaints:
        match = _CHECK_LINE.fullmatch(line)
        if match is None or (normalise(match["package"]), match["field"]) not in recorded:
            raise refusal(
                "environment_incomplete", found=line, wanted="a complete set, or a recorded override"
            )
    if not complaints:
        raise _failed("environment_incomplete", "pip check", outcome)


def succeeded(code: str, name: str, outcomes: Iterable[Outcome]) -> None:
    """Raises Refusal ``code`` with the words of the first program that did not end well."""
    for outcome in outcomes:
        if outcome.returncode != 0:
            raise _failed(code, name, outcome)


def _failed(code: str, name: str, outcome: Outcome) -> Refusal:
    lines = [line.strip() for line in (outcome.stdout + outcome.stderr).splitlines() if line.strip()]
    words = " | ".join(lines[-_LINES:])[-_WORDS:]
    text = "".join(character if character.isprintable() else "?" for character in words)
    return refusal(code, found=f"{name} ended with {outcome.returncode}: {text}", wanted="it to succeed")

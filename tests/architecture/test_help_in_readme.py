"""What a page shows of a program's help is what the program prints.

A page holds `<!-- help: pharos-installer install -->`, a fenced block and `<!-- /help -->`; `python -m
tests.architecture.test_help_in_readme` writes the blocks anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, files

BLOCK = re.compile(
    r"(<!-- help: ([a-z-]+(?: [a-z-]+)*) -->\n```(?:text)?\n)(.*?)(```\n<!-- /help -->)", re.DOTALL
)
PROGRAMS = {
    "pharos-central": ["-m", "central"],
    "pharos-installer": ["-m", "installer"],
    "pharos-ssh-access": ["-m", "site_bundle.ssh_access"],
}
CALLS = {
    "pharos-central": "from central.cli import main; main()",
    "pharos-installer": "from installer.cli import main; main()",
    "pharos-ssh-access": "from site_bundle.ssh_access.main import main; raise SystemExit(main())",
}


def printed_help(words: str) -> str:
    """What `<program> <words> --help` prints in a terminal of 100 columns."""
    program, *rest = words.split(" ")
    code = f"import sys; sys.argv = [{program!r}, *sys.argv[1:]]; {CALLS[program]}"
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-B", "-c", code, *rest, "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines()) + "\n"


def stale_blocks(text: str, printed: dict[str, str]) -> list[str]:
    """Commands whose block differs from what `printed` says."""
    return [match[2] for match in BLOCK.finditer(text) if match[3] != printed[match[2]]]


def commands(text: str) -> list[str]:
    """The commands whose help a page shows."""
    return [match[2] for match in BLOCK.finditer(text)]


PAGES = [path for path in files() if path.endswith(".md")]
SHOWN = [(page, words) for page in PAGES for words in commands((ROOT / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "words"), SHOWN)
def test_page_shows_the_help(page: str, words: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    mine = "".join(match[0] + "\n" for match in BLOCK.finditer(text) if match[2] == words)
    assert stale_blocks(mine, {words: printed_help(words)}) == []


def test_pages_show_the_four_phases() -> None:
    shown = {words for _, words in SHOWN}
    assert {
        f"pharos-installer {phase}" for phase in ("preflight", "install", "validate", "activate")
    } <= shown


def test_markers_are_whole() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert len(re.findall(r"^<!-- help: ", text, re.MULTILINE)) == len(commands(text)), page


def test_rule_sees() -> None:
    text = "<!-- help: pharos-installer install -->\n```text\nUsage: old\n```\n<!-- /help -->\n"
    assert stale_blocks(text, {"pharos-installer install": "Usage: new\n"}) == ["pharos-installer install"]
    assert stale_blocks(text, {"pharos-installer install": "Usage: old\n"}) == []


def write_blocks(path: Path) -> None:
    """Put what the programs print into the page's blocks."""
    text = path.read_text(encoding="utf-8")
    path.write_text(BLOCK.sub(lambda m: m[1] + printed_help(m[2]) + m[4], text), encoding="utf-8")


if __name__ == "__main__":
    for page in PAGES:
        write_blocks(ROOT / page)

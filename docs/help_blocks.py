"""Blocks of a page that show a program's help, and what the program prints now.

A page holds `<!-- help: pharos-installer install -->`, a fenced block and `<!-- /help -->`; `make docs` fills
the block, `tests/architecture/test_help_in_readme.py` compares it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"(<!-- help: ([a-z-]+(?: [a-z-]+)*) -->\n```(?:text)?\n)(.*?)(```\n<!-- /help -->)", re.DOTALL
)
CALLS = {
    "pharos-central": "from central.cli import main; main()",
    "pharos-installer": "from installer.cli import main; main()",
    "pharos-ssh-access": "from site_bundle.ssh_access.main import main; raise SystemExit(main())",
    "pharos-reporter": "from site_bundle.reporter.main import main; raise SystemExit(main())",
    "pharos-runtime": "from site_bundle.runtime.main import main; raise SystemExit(main())",
}
"""How the console scripts of pyproject.toml are called without being installed."""


def commands(text: str) -> list[str]:
    """The commands whose help a page shows."""
    return [match[2] for match in BLOCK.finditer(text)]


def printed_help(words: str) -> str:
    """What `<program> <words> --help` prints on a terminal of 100 columns; RuntimeError when it fails."""
    program, *rest = words.split(" ")
    code = f"import sys; sys.argv = [{program!r}, *sys.argv[1:]]; {CALLS[program]}"
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-B", "-c", code, *rest, "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words} --help ended with {done.returncode}: {done.stderr[-500:]}")
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines()) + "\n"


def stale_blocks(text: str, printed: dict[str, str]) -> list[str]:
    """Commands whose block differs in words from what `printed` says."""
    return [match[2] for match in BLOCK.finditer(text) if not same_words(match[3], printed[match[2]])]


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ in white space at most: Python 3.13 lays columns out differently from 3.11."""
    return one.split() == other.split()


def filled(text: str) -> str:
    """The page with every block as the programs print it; a block with the same words is left alone."""
    return BLOCK.sub(_filled, text)


def _filled(match: re.Match[str]) -> str:
    printed = printed_help(match[2])
    return match[0] if same_words(match[3], printed) else match[1] + printed + match[4]


def pages() -> list[Path]:
    """The pages that may show help."""
    return sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

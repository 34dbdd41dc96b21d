"""What a page shows of a program's help is what the program prints (docs/help_blocks.py; `make docs`)."""

from __future__ import annotations

import re

import pytest

from tests.architecture.generated import help_blocks
from tests.architecture.sources import ROOT

TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in help_blocks().pages()
}
SHOWN = [(page, words) for page, text in TEXTS.items() for words in help_blocks().commands(text)]


@pytest.mark.parametrize(("page", "words"), SHOWN)
def test_page_shows_the_help(page: str, words: str) -> None:
    blocks = [match[0] + "\n" for match in help_blocks().BLOCK.finditer(TEXTS[page]) if match[2] == words]
    assert help_blocks().stale_blocks("".join(blocks), {words: help_blocks().printed_help(words)}) == []


def test_pages_show_the_four_phases() -> None:
    shown = {words for _, words in SHOWN}
    assert {
        f"pharos-installer {phase}" for phase in ("preflight", "install", "validate", "activate")
    } <= shown


def test_markers_are_whole() -> None:
    for page, text in TEXTS.items():
        assert len(re.findall(r"^<!-- help: ", text, re.MULTILINE)) == len(help_blocks().commands(text)), page


def test_programs_are_the_console_scripts() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.scripts]")[2]
    named = re.findall(r'^(pharos-[a-z-]+) = "([\w.]+):main"$', text.partition("\n[")[0], re.MULTILINE)
    assert {name: f"from {module} import main" for name, module in named} == {
        name: call.partition(";")[0] for name, call in help_blocks().CALLS.items()
    }


def test_rule_sees() -> None:
    text = "<!-- help: pharos-installer install -->\n```text\nUsage: old\n```\n<!-- /help -->\n"
    assert help_blocks().stale_blocks(text, {"pharos-installer install": "Usage: new\n"})
    assert help_blocks().stale_blocks(text, {"pharos-installer install": "Usage: old\n"}) == []
    assert help_blocks().stale_blocks(text, {"pharos-installer install": "Usage:   old\n"}) == []

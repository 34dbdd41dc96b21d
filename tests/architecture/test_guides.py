"""What the guides tell an administrator to apply is what the laboratory runs with (I9).

A block after `<!-- lines of PATH -->` holds lines of that file alone, in its order.
"""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT, files

BLOCK = re.compile(r"<!-- lines of (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((#[a-z0-9-]+|[^)#:\s]+)(?:#[a-z0-9-]+)?\)")
NAMED = re.compile(r"`((?:docs|tests|profiles|units|release|installer|central|site_bundle)/[\w./-]+\.\w+)`")
PAGES = [path for path in files() if path.endswith(".md")]


def foreign_lines(block: str, source: str) -> list[str]:
    """Lines of `block` that do not follow one another, in order, in `source`."""
    rest = source.splitlines()
    missing = []
    for line in block.splitlines():
        if line in rest:
            rest = rest[rest.index(line) + 1 :]
        else:
            missing.append(line)
    return missing


def anchors(text: str) -> set[str]:
    """The anchors GitHub gives a page's headings."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", head.replace("`", "").lower()) for head in heads)
    return {f"#{head.replace(' ', '-')}" for head in plain}


def broken_links(page: str, text: str) -> list[str]:
    """Links and named paths that lead nowhere."""
    here = (ROOT / page).parent
    links = set(LINK.findall(text))
    wrong = {t for t in links if t.startswith("#") and t not in anchors(text)}
    wrong |= {t for t in links if not t.startswith("#") and not (here / t).exists()}
    return sorted(wrong | {path for path in NAMED.findall(text) if not (ROOT / path).exists()})


@pytest.mark.parametrize("page", PAGES)
def test_quoted_lines_are_the_laboratorys(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for path, block in BLOCK.findall(text):
        assert foreign_lines(block, (ROOT / path).read_text(encoding="utf-8")) == []
    assert len(BLOCK.findall(text)) == text.count("<!-- lines of")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    assert broken_links(page, (ROOT / page).read_text(encoding="utf-8")) == []


def test_rules_see() -> None:
    assert foreign_lines("a\nc\n", "a\nb\nc\n") == []
    assert foreign_lines("c\na\n", "a\nb\nc\n") == ["a"]
    assert foreign_lines("a: write\n", "a: read\n") == ["a: write"]
    text = "# One\n[a](#one) [b](#two) [c](gone.md) `docs/gone.md` `docs/wire.md`\n"
    assert broken_links("README.md", text) == ["#two", "docs/gone.md", "gone.md"]

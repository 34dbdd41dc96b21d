"""A README's map equals the tree.

Tables headed `folder` or `room` list exactly the folders beside it; tables headed `file` list exactly the
files (tests and what a package always has left out) and may name folders, with a final slash.
"""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT, files

HEAD = re.compile(r"^\|\s*(folder|room|file)\s*\|", re.IGNORECASE)
ENTRY = re.compile(r"`([^`]+)`")
UNLISTED = re.compile(r"README\.md|__init__\.py|__main__\.py|conftest\.py|test_.*\.py|py\.typed|\..*")


def listed(text: str) -> dict[str, set[str]]:
    """The entries of a README's map tables by the table's kind, `folder` or `file`."""
    found: dict[str, set[str]] = {}
    kind = ""
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            kind = "file" if head[1].lower() == "file" else "folder"
            found.setdefault(kind, set())
        elif not line.startswith("|"):
            kind = ""
        elif kind:
            names = ENTRY.findall(line.split("|")[1])
            found[kind] |= {f"{name.rstrip('/')}/" if kind == "folder" else name for name in names}
    return found


def present(readme: str, tracked: tuple[str, ...]) -> set[str]:
    """Folders (with a slash) and files beside a README; hidden ones and a package's own files left out."""
    base = readme.removesuffix("README.md")
    below = [path.removeprefix(base) for path in tracked if path.startswith(base)]
    names = {f"{path.partition('/')[0]}/" if "/" in path else path for path in below}
    return {name for name in names if not UNLISTED.fullmatch(name)}


def map_faults(text: str, readme: str, tracked: tuple[str, ...]) -> list[str]:
    """Entries that are named and not there, or there and not named."""
    there = present(readme, tracked)
    faults = []
    for kind, names in listed(text).items():
        wanted = {name for name in there if name.endswith("/") == (kind == "folder")}
        faults += [f"{readme} names {name}, which is not there" for name in sorted(names - there)]
        faults += [f"{readme} does not name {name}" for name in sorted(wanted - names)]
    return faults


READMES = [path for path in files() if path.rpartition("/")[2] == "README.md"]


@pytest.mark.parametrize("readme", READMES)
def test_map_equals_tree(readme: str) -> None:
    assert map_faults((ROOT / readme).read_text(encoding="utf-8"), readme, files()) == []


@pytest.mark.parametrize(
    "readme", ["README.md", "central/README.md", "site_bundle/README.md", "installer/README.md"]
)
def test_each_house_has_a_map(readme: str) -> None:
    assert readme in files()
    assert listed((ROOT / readme).read_text(encoding="utf-8")).get("folder")


def test_rule_sees() -> None:
    tracked = ("a/README.md", "a/b/x.py", "a/c/y.py", "a/z.sql")
    good = "| room | what |\n|---|---|\n| `b/` | x |\n| `c/` | `d/` y |\n"
    assert map_faults(good, "a/README.md", tracked) == []
    assert map_faults(good.replace("| `c/` | `d/` y |\n", ""), "a/README.md", tracked)
    assert map_faults(good + "| `gone/` | z |\n", "a/README.md", tracked)
    assert map_faults("| file | what |\n|---|---|\n| `other.sql` | q |\n", "a/README.md", tracked)

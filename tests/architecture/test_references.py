"""Requirement ids quoted in parentheses exist: `(X4, P12)`, `(I18)`; cases such as `C04` have two digits."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from tests.architecture.sources import ROOT, files

LAST = {"X": 14, "P": 40, "E": 7, "I": 21, "S": 16, "F": 11, "O": 7}
"""The highest id of each part of the requirements."""

THIS = "tests/architecture/test_references.py"
CASES = re.compile(r"[A-K]\d\d|W\d\d")
QUOTED = re.compile(r"\((?:docs/[\w.]+; )?((?:[A-Z]\d{1,2})(?:(?:, |; |–|-)(?:[A-Z]\d{1,2}))*)\)")


def unknown_ids(text: str) -> list[str]:
    """Ids in a parenthesis of nothing but ids that neither the requirements nor the cases hold."""
    found = []
    for group in QUOTED.findall(text):
        for name in re.findall(r"[A-Z]\d{1,2}", group):
            known = name[0] in LAST and name[1] != "0" and int(name[1:]) <= LAST[name[0]]
            if not known and not CASES.fullmatch(name):
                found.append(name)
    return found


def prose(path: str, text: str) -> str:
    """What of a file is written for people: of Python the comments and docstrings, of others all."""
    if not path.endswith(".py"):
        return text
    comments = [
        t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT
    ]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return "\n".join([*comments, *(ast.get_docstring(node) or "" for node in nodes)])


def test_quoted_ids_exist() -> None:
    kept = [
        p
        for p in files()
        if p != THIS and p.endswith((".py", ".md", ".sql", ".sh", ".yaml", ".j2", ".service"))
    ]
    faults = {p: unknown_ids(prose(p, (ROOT / p).read_text(encoding="utf-8"))) for p in kept}
    assert {p: names for p, names in faults.items() if names} == {}


def test_rule_sees() -> None:
    assert unknown_ids("keeps it (X4, P41)") == ["P41"]
    assert unknown_ids("keeps it (Q1)") == ["Q1"]
    assert unknown_ids("keeps it (X4, P12; C04) and (see P99)") == []
    assert unknown_ids(prose("a.py", "x = f(T4)  # by (T5)\n")) == ["T5"]
    assert unknown_ids(prose("a.py", 'def f():\n    """Keeps (T6)."""\n')) == ["T6"]

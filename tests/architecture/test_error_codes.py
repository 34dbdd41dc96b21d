"""Every code of a problem, refusal or exit is unique, documented and raised by a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

import pytest

from tests.architecture.generated import generate
from tests.architecture.sources import ROOT, files

HOUSES = ("central", "site_bundle", "installer", "release")
NOT_BY_A_TEST = {
    "internal_error": "a bug has no recipe",
}
"""Codes no test can raise, each with the reason."""


def problem_codes() -> list[str]:
    """Codes of central's problem tables, repeated where two tables hold one."""
    return [spec.code for _, spec in generate().problem_specs()]


def house_codes(house: str) -> dict[str, str]:
    """Code and module of every refusal of a house, its problems left out."""
    rows = [row for row in generate().code_tables() if row.where.startswith(house)] + generate().all_raised(
        house
    )
    problems = set(problem_codes()) if house == "central" else set()
    return {row.code: row.where for row in rows if row.code not in problems}


def twice(codes: Iterable[str]) -> list[str]:
    """Codes that stand more than once."""
    listed = list(codes)
    return sorted({code for code in listed if listed.count(code) > 1})


def contradictions(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Codes that end with different exit codes in different places."""
    seen: dict[str, str] = {}
    return sorted({code for code, status in rows if status and seen.setdefault(code, status) != status})


def untested(codes: Mapping[str, str], corpus: str) -> list[str]:
    """Codes no test names as a word: literally, or by the constant of the problem."""
    words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", corpus))
    return sorted(f"{code} ({where})" for code, where in codes.items() if not {code, code.upper()} & words)


def corpus() -> str:
    """The tests' own text and the goldens they drive; the rules of this folder are no tests of a code."""
    kept = [p for p in files() if p.startswith("tests/") and not p.startswith("tests/architecture/")]
    return "\n".join((ROOT / p).read_text(encoding="utf-8") for p in kept if p.endswith((".py", ".json")))


def test_a_problem_has_one_table() -> None:
    assert twice(problem_codes()) == []


def test_a_problem_says_when_and_what_to_do() -> None:
    assert [s.code for _, s in generate().problem_specs() if not (s.title and s.meaning and s.remedy)] == []
    assert [s.code for _, s in generate().problem_specs() if not 400 <= s.status <= 599] == []


@pytest.mark.parametrize("house", ["installer", "release"])
def test_a_refusal_has_one_exit_code(house: str) -> None:
    rows = [(r.code, r.status) for r in generate().all_raised(house)]
    assert contradictions(rows) == []


def test_exit_codes_are_distinct() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").partition("## Exit codes of the site")[0]
    assert twice(re.findall(r"^\| (\d+) \|", page, re.MULTILINE)) == []


@pytest.mark.parametrize("house", HOUSES)
def test_every_code_is_documented(house: str) -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    codes = [*house_codes(house), *(problem_codes() if house == "central" else [])]
    assert [code for code in codes if f"`{code}`" not in page] == []


@pytest.mark.parametrize("house", HOUSES)
def test_every_code_is_raised_by_a_test(house: str) -> None:
    codes = house_codes(house)
    if house == "central":
        codes |= {spec.code: module for module, spec in generate().problem_specs()}
    assert untested({c: w for c, w in codes.items() if c not in NOT_BY_A_TEST}, corpus()) == []


def test_rules_see() -> None:
    assert twice(["a", "b", "a"]) == ["a"]
    assert contradictions([("a", "USAGE"), ("a", "LOCKED"), ("b", "USAGE"), ("b", "")]) == ["a"]
    assert untested({"key_new": "m", "key_old": "m"}, 'assert code == "key_old"') == ["key_new (m)"]
    assert untested({"key_new": "m"}, "assert problem.spec is KEY_NEW") == []
    assert untested({"key": "m"}, 'assert code == "key_new"') == ["key (m)"]


def test_collector_sees_a_raised_code() -> None:
    text = 'raise Refusal("odd_thing", found="x", wanted=f"a {y}", remedy="r", exit_code=USAGE)'
    text += '\nlog.info("told", found="")'
    rows = generate().raised_codes("m", ast.parse(text))
    assert [(r.code, r.status, r.title, r.remedy) for r in rows] == [("odd_thing", "USAGE", "a …", "r")]

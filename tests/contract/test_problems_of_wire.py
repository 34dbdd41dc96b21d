"""The problem tables of docs/wire.md and of central say the same: every code with one status (X4)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.architecture.generated import generate
from tests.contract.goldens import WIRE

ROW = re.compile(r"^\| ((?:`[a-z0-9_]+`(?:, )?)+) \| ([0-9, ]+) \|", re.MULTILINE)


def statuses(text: str) -> dict[str, set[int]]:
    """Code → statuses of a page's tables whose second column is the status; several codes may share a row."""
    found: dict[str, set[int]] = {}
    for names, numbers in ROW.findall(text):
        codes = re.findall(r"`([a-z0-9_]+)`", names)
        each = [int(number) for number in numbers.split(",")]
        for index, code in enumerate(codes):
            found.setdefault(code, set()).add(each[index] if len(each) == len(codes) else each[0])
    return found


def differences(page: dict[str, set[int]], specs: Iterable[tuple[str, int]]) -> list[str]:
    """Codes the page does not name, or names with another status."""
    return [
        f"{code} {status}: docs/wire.md says {sorted(page.get(code, set()))}"
        for code, status in specs
        if status not in page.get(code, set())
    ]


def test_every_problem_of_central_is_on_the_page() -> None:
    specs = [(spec.code, spec.status) for _, spec in generate().problem_specs()]
    grammar = {code for code, status in specs if code.startswith("key_") and status == 422}
    assert differences(statuses(WIRE), [spec for spec in specs if spec[0] not in grammar]) == []
    assert [code for code in grammar if f"| `{code}` |" not in WIRE] == []


def test_a_code_has_one_status_on_the_page() -> None:
    assert {code: found for code, found in statuses(WIRE).items() if len(found) > 1} == {}


def test_rules_see() -> None:
    page = statuses("| `a_b`, `c` | 411, 414 | x |\n| `d`, `e` | 503 | y |\n")
    assert page == {"a_b": {411}, "c": {414}, "d": {503}, "e": {503}}
    assert differences(page, [("c", 414)]) == []
    assert differences(page, [("c", 400), ("new", 409)])

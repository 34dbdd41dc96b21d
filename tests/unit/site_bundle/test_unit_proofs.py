"""No directive stands in a unit without its proof on a lab host, or a named reason why it has none (I10)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lab.unit_directives import PROOFS, REASONS, SHOWN
from tests.lab.unit_probes import PROBES
from tests.unit.site_bundle.units import ALL, Unit

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("unit", ALL, ids=[unit.component for unit in ALL])
def test_each_directive_has_a_probe_or_a_reason(unit: Unit) -> None:
    assert unit.directives - set(PROOFS) - set(SHOWN) - set(REASONS) == set()


def test_no_proof_or_reason_is_of_a_directive_that_is_gone() -> None:
    used = set().union(*(unit.directives for unit in ALL))
    assert sorted([*PROOFS, *SHOWN, *REASONS]) == sorted(used), "one of the three, once"


def test_each_proof_names_a_probe_and_each_probe_is_used() -> None:
    assert {proof.probe for proof in PROOFS.values()} | {"leaving"} == set(PROBES)
    assert [name for name, proof in PROOFS.items() if (proof.plain is None) != bool(proof.why)] == []


def test_tests_named_as_reasons_exist() -> None:
    named = {path for reason in REASONS.values() for path in re.findall(r"tests/[\w/]+\.py", reason)}
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []

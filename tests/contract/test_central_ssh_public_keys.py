"""Central's key grammar answers every shared vector as the Site's does (E6, S7, C cases)."""

from typing import Any

import pytest

from central.ssh_access.domain.public_key import parse_public_key
from central.ssh_access.domain.refusals import REMEDIES, KeyRefused, Refusal
from tests.contract.goldens import key_vectors

VECTORS = key_vectors()


def _id(row: dict[str, Any]) -> str:
    return f"{row['case']}_{row['name']}" if row["case"] else str(row["name"])


@pytest.mark.parametrize("row", VECTORS["valid"], ids=_id)
def test_accepted(row: dict[str, Any]) -> None:
    key = parse_public_key(row["line"])
    assert (key.key_type, key.line, key.fingerprint) == (row["type"], row["stored"], row["fingerprint"])


@pytest.mark.parametrize("row", VECTORS["refused"], ids=_id)
def test_refused(row: dict[str, Any]) -> None:
    with pytest.raises(KeyRefused) as caught:
        parse_public_key(row["line"])
    assert caught.value.refusal.value == row["code"]
    assert caught.value.remedy == REMEDIES[caught.value.refusal]


def test_every_refusal_has_a_vector() -> None:
    assert {refusal.value for refusal in Refusal} == {row["code"] for row in VECTORS["refused"]}

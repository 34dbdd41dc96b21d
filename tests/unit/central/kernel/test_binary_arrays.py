"""The binary form of arrays; a real server reads them in tests/postgres/kernel."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from central.kernel.binary_arrays import integer_array, uuid_array, uuid_text_array

ONE, TWO = UUID(int=1), UUID("a0b1c2d3-e4f5-4678-9abc-def012345678")


def test_texts_with_dashes_or_without_are_the_same_array_as_uuids() -> None:
    wanted = uuid_array([ONE, TWO])
    assert uuid_text_array([str(ONE), TWO.hex]) == wanted == uuid_text_array([ONE.hex, str(TWO).upper()])


@pytest.mark.parametrize(
    "text",
    [
        "", "1", TWO.hex[:-1], TWO.hex + "0", "g" * 32, "0" * 36, f"{TWO.hex}-", TWO.hex + "00",
        TWO.hex[:-1] + " ", f" {TWO.hex}", f"{TWO.hex}\n{TWO.hex}", TWO.hex[:-2] + "é",
    ],
)  # fmt: skip
def test_another_text_is_refused_and_shifts_no_other(text: str) -> None:
    for texts in ([text], [TWO.hex, text], [text, "0" * (64 - len(text)), TWO.hex], [TWO.hex, ""]):
        with pytest.raises(ValueError, match="hexadecimal"):
            uuid_text_array(texts)


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(struct.error):
        integer_array([2**31])

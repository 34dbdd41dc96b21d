"""The grammar of whole numbers in text (D13, E27)."""

import pytest

from central.kernel.integers import parse_integer


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("900", 900), ("86400", 86400)])
def test_d13_plain_digits(text: str, value: int) -> None:
    assert parse_integer(text, minimum=1, maximum=86400) == value


@pytest.mark.parametrize(
    "text",
    [
        "1_000",
        "９００",
        " 7 ",
        "+5",
        "-5",
        "0",
        "86401",
        "900.0",
        "1e2",
        "",
        "007",
        "0x10",
        "7\n",
        "9" * 5000,
        "%%%",
    ],
)
def test_d13_every_other_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="from 1 to 86400"):
        parse_integer(text, minimum=1, maximum=86400)

"""The one grammar for whole numbers in text: settings and query parameters (D13, E27)."""

import re

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")


def parse_integer(text: str, *, minimum: int, maximum: int) -> int:
    """Return the number; ``ValueError`` for any form but plain ASCII digits without sign, space or leading
    zero.
    """
    if _DECIMAL.fullmatch(text) is None or not minimum <= int(text) <= maximum:
        raise ValueError(f"wanted a whole number from {minimum} to {maximum}, plain digits")
    return int(text)

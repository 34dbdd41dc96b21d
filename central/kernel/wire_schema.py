"""The ``Pharos-Schema`` header: both ends name the schema numbers they speak (X10; docs/wire.md, rule 3)."""

import re
from typing import Final

from central.kernel.problems import REQUEST_MALFORMED, SCHEMA_UNSUPPORTED, Problem

SPOKEN: Final = (1, 1)
"""The first and last schema number this central speaks."""

_RANGE: Final = re.compile(r"([1-9][0-9]{0,3})-([1-9][0-9]{0,3})")


def check_schema(header: str | None) -> None:
    """Check a ``Pharos-Schema`` header; raise the ``Problem`` of rule 3."""
    match = _RANGE.fullmatch(header or "")
    if match is None or int(match[1]) > int(match[2]):
        raise Problem(REQUEST_MALFORMED, "the header `Pharos-Schema` is missing or no range such as `1-1`")
    if int(match[1]) > SPOKEN[1] or int(match[2]) < SPOKEN[0]:
        raise Problem(SCHEMA_UNSUPPORTED, f"schema {SPOKEN[0]} to {SPOKEN[1]} is spoken here")

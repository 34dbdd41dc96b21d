"""The codes of the peers this component calls (docs/errors.md)."""

from __future__ import annotations

from site_bundle.kernel.errors import codes_of

CODES = codes_of("intake") | codes_of("waldur")

"""How long the long suites are: a minute at most in CI, whole under ``make soak`` (``--soak``)."""

SOAK = False
SEED = 0
"""The seed this run prints."""
_WHOLE = 25


def examples(usual: int) -> int:
    """How many cases a property test takes: ``usual``, or 25 times as many in a soak."""
    return usual * _WHOLE if SOAK else usual

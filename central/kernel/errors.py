"""The kernel's failures that are not a caller's mistake.

Three outcomes hold everywhere (X1): a value, proven absence (``None`` or a domain answer), or one of the
errors below. ``http`` turns them into problem documents; a command line prints ``str(error)``.
"""

from datetime import timedelta


class Unavailable(Exception):
    """Something needed could not be read or written now; the same request may succeed later.

    ``code`` is the stable problem code, ``retry_after`` whole seconds for ``Retry-After``.
    """

    def __init__(self, code: str, detail: str, *, retry_after: int = 2) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.retry_after = retry_after


class CorruptState(Exception):
    """Stored state contradicts itself (digest, version, id, a naive time). Refused, never repaired (P7,
    X2).
    """


class InvalidTime(ValueError):
    """A text is not a strict RFC 3339 time (X2). The message names what was wanted, never the text."""


class ObservedInFuture(Exception):
    """A Site's observation is more than ``times.AHEAD_MAX`` ahead of our clock; ``ahead`` says how much."""

    def __init__(self, ahead: timedelta) -> None:
        super().__init__(f"observed {ahead.total_seconds():.1f} s ahead of our clock")
        self.ahead = ahead

"""How long an answer of the Site API may be acted upon (E2)."""

from datetime import datetime, timedelta
from typing import Final

ANSWER_LIFETIME: Final = timedelta(seconds=60)


def valid_until(
    now: datetime,
    *,
    account_observed_at: datetime,
    account_max_age: timedelta,
    authority_expires_at: datetime,
    deadline: datetime,
) -> datetime:
    """The earliest of observation + age limit, the Project authority's end, the work's deadline and 60 s.

    It may lie in the past: then nothing may be done on this answer.
    """
    return min(
        account_observed_at + account_max_age,
        authority_expires_at,
        deadline,
        now + ANSWER_LIFETIME,
    )

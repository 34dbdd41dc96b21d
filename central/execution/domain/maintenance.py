"""What a Site says of its own availability (S15): pure. The latest statement by the Site's clock counts."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. Draining has a reason and may have an end; not draining has neither."""

    statement_id: UUID
    observed_at: datetime
    draining: bool
    until: datetime | None
    reason: str | None


def in_force(said: Statement | None, now: datetime) -> bool:
    """Whether the Site takes no new work now. A Site that never said anything takes it."""
    return said is not None and said.draining and (said.until is None or now < said.until)

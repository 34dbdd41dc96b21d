"""What a run says while it works: one stream of events feeds text, JSON and the log file (design: one event
stream).
"""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["phase", "plan", "step", "check", "warning", "notice", "refusal", "result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. ``fields`` holds JSON values only, and no secret."""

    kind: Kind
    text: str
    """One line for a human."""
    fields: dict[str, object] = field(default_factory=dict)

"""In which state a scope of the view is, and when it may answer (P14).

uninitialised → loading → current ⇄ diverged → repairing → current. Only a current scope answers, and only
while the last comparison with Beto's checkpoint is recent: a view nobody compares any more is stale.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from central.projects.domain.ids import Scope


class Phase(StrEnum):
    """A scope's state."""

    UNINITIALISED = "uninitialised"
    LOADING = "loading"
    CURRENT = "current"
    DIVERGED = "diverged"
    REPAIRING = "repairing"


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """`compare_every`: how often the checkpoints are compared. `stale_after`: how long a comparison counts.
    `settle_attempts` comparisons, `settle_seconds` apart, let events under way arrive before a mismatch is a
    divergence. `pass_seconds`: how long one pass may hold a scope before another may take over (O3).
    `receipts_kept`: after that a message that comes again is known by its revision alone.
    """

    compare_every: timedelta = timedelta(seconds=60)
    stale_after: timedelta = timedelta(seconds=900)
    settle_attempts: int = 3
    settle_seconds: float = 2.0
    pass_seconds: float = 300.0
    receipts_kept: timedelta = timedelta(days=30)
    load_attempts: int = 5


@dataclass(frozen=True, slots=True)
class ScopeView:
    """One scope. `epoch` counts loads and repairs and is their fencing token; `position` is Beto's, of the
    snapshot that last matched; `checked_at` when that was asked for. `refused_position` is the earlier one
    Beto spoke of since: what an operator may accept, if Beto was restored from a copy.
    """

    scope: Scope
    phase: Phase
    epoch: int
    position: int | None
    checked_at: datetime | None
    held_until: datetime | None
    reason: str | None
    refused_position: int | None = None

    def held(self, now: datetime) -> bool:
        """Whether a load or repair is at work."""
        return self.held_until is not None and now < self.held_until

    def begun(self, now: datetime, limits: ViewLimits) -> "ScopeView":
        """A load or repair begins: what is learned from now on is newer than the snapshot it asks for."""
        first = self.phase in (Phase.UNINITIALISED, Phase.LOADING)
        return replace(
            self,
            phase=Phase.LOADING if first else Phase.REPAIRING,
            epoch=self.epoch + 1,
            held_until=now + timedelta(seconds=limits.pass_seconds),
        )

    def looked_at(self, now: datetime, limits: ViewLimits) -> "ScopeView":
        """A comparison item by item begins: as `begun`, but nothing is proven yet, so the phase stands."""
        return replace(self.begun(now, limits), phase=self.phase)

    def matched(self, position: int, now: datetime) -> "ScopeView":
        """It was Beto's truth when asked at `now`. Of two passes the later word stands."""
        return replace(
            self,
            phase=Phase.CURRENT,
            position=max(position, self.position or 0),
            checked_at=max(now, self.checked_at or now),
            held_until=None,
            reason=None,
            refused_position=None,
        )

    def released(self, reason: str) -> "ScopeView":
        """A load or repair ended without result; its phase stands, so the scope goes on not answering."""
        return replace(self, held_until=None, reason=reason)

    def diverged(self, reason: str) -> "ScopeView":
        """It is proven to be another than Beto's truth. A scope that never was current stays what it is."""
        if self.phase is not Phase.CURRENT:
            return self
        return replace(self, phase=Phase.DIVERGED, reason=reason)

    def went_back(self, position: int) -> bool:
        """Whether Beto speaks of an earlier moment than the one already matched: a replica or a restored
        copy.
        """
        return self.position is not None and position < self.position

    def refused(self, position: int) -> "ScopeView":
        """Beto spoke of this earlier moment, and is not followed there."""
        return replace(self, refused_position=position)

    def restored(self) -> "ScopeView":
        """An operator says that Beto was restored from a copy: its earlier position counts, after a
        repair. The very same where no earlier position was refused.
        """
        if self.refused_position is None:
            return self
        return replace(self.diverged("Beto was restored from a copy"), position=0, refused_position=None)

    def unusable(self, now: datetime, limits: ViewLimits) -> str | None:
        """Why the scope cannot answer at `now`; None if it can."""
        if self.phase is not Phase.CURRENT:
            return f"the {self.scope} are {self.phase}" + (f": {self.reason}" if self.reason else "")
        if self.checked_at is None or now - self.checked_at >= limits.stale_after:
            return f"the {self.scope} are stale: no comparison with Beto matched lately"
        return None

"""When a list of retained accounts is complete: the standing of recovery (P28, P29, O3).

One standing for all processes, kept in the database. none → running → standing | failed → running …

1. A list is complete only while a pass over every owner stands.
2. Each start of a worker ends what stood, whichever replica made it: a worker cannot know what was lost
   while it was away. Starting costs a few refused lists, and a refused list takes no account away.
3. `epoch` is the fencing token: it grows with each start, pass and doubt. A pass whose epoch is over neither
   applies nor stands.
4. A pass stands as long as somebody goes on consuming: workers renew `alive_until` while every queue of
   theirs is being emptied. Once it lapsed, only another pass helps.
5. A pass is made again daily; while it runs, and after it failed, nothing stands.
6. A doubt (two contents under one revision, a message nobody can read) ends what stands, for the held
   items may lack some.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from central.retention.domain.ids import Owner


class Phase(StrEnum):
    """How far recovery is."""

    NONE = "none"
    RUNNING = "running"
    STANDING = "standing"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RecoveryLimits:
    """`every`: how often owners are read again. `stale_after`: when a pass counts no more, whoever should
    have made the next. `pass_seconds`: how long one pass may hold recovery before another may take over (O3).
    `alive`: how long a renewal counts; `beat` seconds lie between two. `quiet_beats`: a consumer that handled
    nothing whole for so many is not going on. `receipts_kept`: after that a message that comes again is known
    by its revision alone. `put_at_once`: items applied in one transaction.
    """

    every: timedelta = timedelta(days=1)
    stale_after: timedelta = timedelta(hours=25)
    pass_seconds: float = 300.0
    alive: timedelta = timedelta(seconds=90)
    beat: float = 10.0
    quiet_beats: int = 3
    receipts_kept: timedelta = timedelta(days=30)
    put_at_once: int = 500


@dataclass(frozen=True, slots=True)
class Recovery:
    """The standing. `owners` are those the pass read that stands or stood last, `asked_at` when it began."""

    phase: Phase
    epoch: int
    owners: tuple[Owner, ...]
    asked_at: datetime | None
    held_until: datetime | None
    alive_until: datetime | None
    reason: str | None

    def held(self, now: datetime) -> bool:
        """Whether a pass is at work."""
        return self.held_until is not None and now < self.held_until

    def started(self) -> "Recovery":
        """A worker started (rule 2)."""
        return self._over(Phase.NONE, "no recovery pass was made since a worker started")

    def doubted(self, reason: str) -> "Recovery":
        """Something was told that the held items do not show (rule 6). Before any pass there is nothing to
        doubt, but a pass at work begins again.
        """
        return self._over(Phase.NONE if self.phase is Phase.NONE else Phase.FAILED, reason)

    def begun(self, now: datetime, limits: RecoveryLimits) -> "Recovery":
        """A pass begins; until it ends nothing stands (rule 5)."""
        return replace(
            self,
            phase=Phase.RUNNING,
            epoch=self.epoch + 1,
            held_until=now + timedelta(seconds=limits.pass_seconds),
            reason="a recovery pass is running",
        )

    def kept(self, now: datetime, limits: RecoveryLimits) -> "Recovery":
        """The pass at work goes on."""
        return replace(self, held_until=now + timedelta(seconds=limits.pass_seconds))

    def stood(
        self, owners: tuple[Owner, ...], asked_at: datetime, now: datetime, limits: RecoveryLimits
    ) -> "Recovery":
        """The pass that began at `asked_at` read every owner whole, and all of it is held."""
        return Recovery(Phase.STANDING, self.epoch, owners, asked_at, None, now + limits.alive, None)

    def failed(self, reason: str) -> "Recovery":
        """The pass ended without result."""
        return replace(self, phase=Phase.FAILED, held_until=None, reason=reason)

    def beaten(self, now: datetime, limits: RecoveryLimits) -> "Recovery":
        """Somebody goes on consuming (rule 4). What lapsed is not brought back."""
        if self.phase is not Phase.STANDING or self._lapsed(now):
            return self
        until = now + limits.alive
        return replace(self, alive_until=max(until, self.alive_until or until))

    def missing(self, owners: tuple[Owner, ...], now: datetime, limits: RecoveryLimits) -> str | None:
        """Why no list is complete at `now`; None if a pass over exactly these owners stands."""
        if self.phase is not Phase.STANDING or self.asked_at is None:
            return self.reason or "no recovery pass was made yet"
        if set(self.owners) != set(owners):
            return "the pass that stands read other owners"
        if self._lapsed(now):
            return "nobody was seen consuming accepted work lately"
        if now - self.asked_at >= limits.stale_after:
            return "the pass that stands is too old"
        return None

    def due(self, owners: tuple[Owner, ...], now: datetime, limits: RecoveryLimits) -> bool:
        """Whether a pass has to be made now."""
        if self.missing(owners, now, limits) is not None or self.asked_at is None:
            return True
        return now - self.asked_at >= limits.every

    def _lapsed(self, now: datetime) -> bool:
        return self.alive_until is None or now >= self.alive_until

    def _over(self, phase: Phase, reason: str) -> "Recovery":
        return replace(self, phase=phase, epoch=self.epoch + 1, held_until=None, reason=reason)

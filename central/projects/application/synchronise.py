"""One scope of the view compared with Beto's checkpoint, and loaded or repaired where it differs (P14).

1. A scope that matches the checkpoint is current. Messages still under way make it differ too, so several
   comparisons, some seconds apart, must all differ.
2. If neither side moved meanwhile, that is a divergence. If one did, the snapshot is held against the view
   item by item: what messages told since the pass began, and what still arrives within the same pauses,
   explains a difference; anything else is a divergence.
3. A scope that diverged answers no more. It is read whole, page by page; count and fingerprint of
   everything read are verified; then it is swapped in one transaction with the generations.
4. A snapshot older than the one that last matched is refused: a replica, or a Beto restored from a copy.
5. Whatever cannot be read leaves the scope as it is: not answering if it was not, current until it is
   stale if it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from central.kernel.errors import Unavailable
from central.kernel.paging import Manifest, PagesDiffer
from central.kernel.questions import AnswerMalformed, SnapshotGone
from central.kernel.times import Clock
from central.projects.application.ports import (
    BetoTruth,
    PassLost,
    Swapped,
    ViewStore,
)
from central.projects.domain.ids import Scope
from central.projects.domain.revisions import Viewed
from central.projects.domain.view import Phase, ScopeView, ViewLimits


class Pass(StrEnum):
    """How one pass over a scope ended."""

    MATCHED = "matched"
    LOADED = "loaded"
    REPAIRED = "repaired"
    ELSEWHERE = "elsewhere"
    """Another pass holds the scope."""
    UNREADABLE = "unreadable"
    WENT_BACK = "went_back"


@dataclass(frozen=True, slots=True)
class Synchronised:
    """What a pass did. `reason` says why it could not."""

    outcome: Pass
    swapped: Swapped | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Synchronise:
    """The use case. `pause` waits that many seconds."""

    store: ViewStore
    beto: BetoTruth
    limits: ViewLimits
    clock: Clock
    pause: Callable[[float], None]

    def __call__(self, scope: Scope) -> Synchronised:
        """Makes the scope current, or says why it cannot be. `Unavailable` only for the view's own
        database.
        """
        if self.store.state(scope).phase not in (Phase.UNINITIALISED, Phase.LOADING):
            ended = self._compare(scope)
            if ended is not None:
                return ended
        return self._load(scope)

    def _compare(self, scope: Scope) -> Synchronised | None:
        """The outcome, or None if the scope has to be repaired."""
        seen: set[tuple[str, str]] = set()
        for attempt in range(self.limits.settle_attempts):
            if attempt:
                self.pause(self.limits.settle_seconds)
            asked_at = self.clock()
            manifest = self._checkpoint(scope)
            if isinstance(manifest, Synchronised):
                return manifest
            back = self._went_back(self.store.state(scope), manifest)
            if back is not None:
                return back
            mine = self.store.compare(scope, manifest, asked_at)
            if mine is None:
                return Synchronised(Pass.MATCHED)
            seen.add((mine, manifest.fingerprint))
        if len(seen) > 1:
            return self._look(scope)
        self.store.diverge(scope, "it is not what Beto's checkpoint says")
        return None

    def _look(self, scope: Scope) -> Synchronised | None:
        """Compares item by item while messages go on; as `_compare`."""
        asked_at = self.clock()
        begun = self.store.begin(scope, asked_at, self.limits, looking=True)
        if begun is None:
            return Synchronised(Pass.ELSEWHERE)
        found = self._items(begun)
        if isinstance(found, Synchronised):
            self.store.release(begun, found.reason or found.outcome.value)
            return found
        try:
            for attempt in range(self.limits.settle_attempts):
                if attempt:
                    self.pause(self.limits.settle_seconds)
                if self.store.settle_if_explained(begun, *found, asked_at):
                    return Synchronised(Pass.MATCHED)
            self.store.diverge(scope, "it is not what Beto's snapshot says")
            return Synchronised(Pass.REPAIRED, self.store.swap(begun, *found, asked_at))
        except PassLost:
            return Synchronised(Pass.ELSEWHERE)

    def _load(self, scope: Scope) -> Synchronised:
        ended = Synchronised(Pass.UNREADABLE)
        for attempt in range(self.limits.load_attempts):
            if attempt:
                self.pause(self.limits.settle_seconds)
            asked_at = self.clock()
            begun = self.store.begin(scope, asked_at, self.limits)
            if begun is None:
                return Synchronised(Pass.ELSEWHERE)
            ended = self._read(begun, asked_at)
            if ended.outcome is not Pass.UNREADABLE:
                break
        return ended

    def _read(self, begun: ScopeView, asked_at: datetime) -> Synchronised:
        """Reads the whole scope and swaps it; a pass without result lets go of the scope."""
        found = self._items(begun)
        if isinstance(found, Synchronised):
            self.store.release(begun, found.reason or found.outcome.value)
            return found
        try:
            swapped = self.store.swap(begun, *found, asked_at)
        except PassLost:
            return Synchronised(Pass.ELSEWHERE)
        return Synchronised(Pass.LOADED if begun.phase is Phase.LOADING else Pass.REPAIRED, swapped)

    def _items(self, begun: ScopeView) -> tuple[Manifest, Sequence[Viewed]] | Synchronised:
        """A verified whole, or why there is none."""
        manifest = self._checkpoint(begun.scope)
        if isinstance(manifest, Synchronised):
            return manifest
        back = self._went_back(begun, manifest)
        if back is not None:
            return back
        try:
            return manifest, self.beto.items(begun.scope, manifest)
        except (SnapshotGone, PagesDiffer, Unavailable, AnswerMalformed) as error:
            return Synchronised(Pass.UNREADABLE, reason=f"{type(error).__name__}: {error}")

    def _checkpoint(self, scope: Scope) -> Manifest | Synchronised:
        try:
            return self.beto.checkpoint(scope)
        except Unavailable as error:
            return Synchronised(Pass.UNREADABLE, reason=error.detail)
        except AnswerMalformed as error:
            return Synchronised(Pass.UNREADABLE, reason=f"answer_malformed: {error}")

    def _went_back(self, view: ScopeView, manifest: Manifest) -> Synchronised | None:
        if not view.went_back(manifest.position):
            return None
        self.store.refuse(view.scope, manifest.position)
        return Synchronised(
            Pass.WENT_BACK,
            reason=f"Beto's position is {manifest.position}; {view.position} has matched before",
        )

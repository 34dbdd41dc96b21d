"""Applying: an act of the Site (S8). Binding and generation go into the association's comment; what is read
back there goes into the journal, with the directory entry it was proven for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from site_bundle.reporter.application.ports import AppliedJournal, Cluster
from site_bundle.reporter.domain.accounts import Apply
from site_bundle.reporter.domain.marker import read_marker
from site_bundle.reporter.domain.sources import Applied


@dataclass(frozen=True, slots=True)
class Difference:
    """An act and what became of it: `applied`, `would` (observe mode), `unwritten`, `unwritable`, `later`."""

    act: Apply
    result: str


@dataclass(frozen=True, slots=True)
class ApplyIdentities:
    """At most `batch` acts a pass, in one command; the others follow in the next."""

    cluster: Cluster
    journal: AppliedJournal
    observe: bool
    batch: int = 200
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)

    def run(self, acts: Sequence[Apply], *, now: datetime) -> list[Difference]:
        """SiteError of the cluster: nothing was journalled, and the next pass does it again."""
        able = [act for act in acts if self.cluster.writable(act)]
        unable = [Difference(act, "unwritable") for act in acts if not self.cluster.writable(act)]
        if self.observe:
            return [*(Difference(act, "would") for act in able), *unable]
        chosen, later = able[: self.batch], able[self.batch :]
        done = self._apply(chosen, now) if chosen else []
        return [*done, *(Difference(act, "later") for act in later), *unable]

    def _apply(self, acts: Sequence[Apply], now: datetime) -> list[Difference]:
        self.checkpoint("before-apply")
        self.cluster.apply(acts)
        self.checkpoint("after-apply")
        comments = self.cluster.comments()
        proven = [act for act in acts if read_marker(comments.get(act.association.id, "")) == act.identity]
        self.journal.record_applied(
            [Applied(act.association.id, act.entry_uuid, act.party_id, act.identity) for act in proven], now
        )
        self.checkpoint("applied-journalled")
        written = {act.association.id for act in proven}
        return [Difference(act, "applied" if act.association.id in written else "unwritten") for act in acts]

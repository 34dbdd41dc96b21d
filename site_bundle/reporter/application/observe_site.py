"""One pass: the time, then every source, then the decision, then the act, then the reports in the outbox
(S8).

`observedAt` is taken before the first read. Nothing is made of a source that could not be read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from site_bundle.kernel.errors import SiteError, UnavailableError
from site_bundle.reporter.application.apply_identities import ApplyIdentities, Difference
from site_bundle.reporter.application.make_reports import MakeReports
from site_bundle.reporter.application.ports import (
    AppliedJournal,
    Cluster,
    Outbox,
)
from site_bundle.reporter.application.prove_absence import ProveAbsence
from site_bundle.reporter.application.read_outside import Reading
from site_bundle.reporter.domain.decide import Decision, decide
from site_bundle.reporter.domain.policy import Policy
from site_bundle.reporter.domain.presence import concern
from site_bundle.reporter.domain.sources import Row, Sources


@dataclass(frozen=True, slots=True)
class Observed:
    """What came of a pass. `failed`: error by source, of those that could not be read (`members` is any)."""

    observed_at: datetime
    decision: Decision
    differences: tuple[Difference, ...]
    reports: int
    failed: Mapping[str, SiteError] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class ObserveSite:
    """The use case. `told` is called after each step: work goes on."""

    outside: Reading
    cluster: Cluster
    journal: AppliedJournal
    outbox: Outbox
    absence: ProveAbsence
    apply: ApplyIdentities
    make: MakeReports
    policy: Policy
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)
    told: Callable[[], None] = field(default=lambda: None)

    def run(self, *, now: datetime) -> Observed:
        """`now` is the pass's `observedAt`. SiteError of the provider or the cluster: nothing can be said of
        any allocation, and nothing is.
        """
        sources, failed = self._read(now)
        decision = decide(sources, self.policy)
        acts = [act for found in decision.sets for act in found.decided.applies]
        differences = self.apply.run(acts, now=now)
        self.told()
        if any(difference.result == "applied" for difference in differences):
            sources = self._again(sources)
            decision = decide(sources, self.policy)
        reports = self.make.run(decision, observed_at=now)
        self.outbox.keep(reports, now)
        self.checkpoint("reports-journalled")
        return Observed(now, decision, tuple(differences), len(reports), failed, sources.listing.rows)

    def _read(self, now: datetime) -> tuple[Sources, Mapping[str, SiteError]]:
        self.outside.begin()
        slurm = self.cluster.read()
        self.told()
        found = self.outside.whole()
        self.told()
        applied = self.journal.applied()
        sources = Sources(found.listing, slurm, found.directory, found.projects, found.retained, applied)
        return self._proven(sources, found.failed, now)

    def _proven(
        self, sources: Sources, failed: Mapping[str, SiteError], now: datetime
    ) -> tuple[Sources, Mapping[str, SiteError]]:
        """The sources with a directory whose silence is doubted or proven; one that cannot be asked again is
        unavailable.
        """
        if sources.directory is None:
            return sources, failed
        of = concern(
            sources.listing, sources.slurm, sources.projects, sources.retained or (), sources.applied
        )
        whole = not (failed or sources.listing.unreadable)
        found = self.absence.run(sources.directory, of, whole=whole, now=now)
        self.told()
        if isinstance(found, UnavailableError):
            return replace(sources, directory=None), {**failed, "directory": found}
        return replace(sources, directory=found), failed

    def _again(self, sources: Sources) -> Sources:
        """The same sources with the comments and the journal as they are after the act."""
        comments = self.cluster.comments()
        accounts = {
            name: replace(
                account,
                associations=tuple(
                    replace(item, comment=comments.get(item.id, "")) for item in account.associations
                ),
            )
            for name, account in sources.slurm.accounts.items()
        }
        return replace(
            sources, slurm=replace(sources.slurm, accounts=accounts), applied=self.journal.applied()
        )

"""What the directory does not show any more is asked for by name before it is taken for absent (X1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from site_bundle.kernel.errors import UnavailableError
from site_bundle.reporter.application.ports import SeenJournal
from site_bundle.reporter.domain.presence import (
    Claim,
    Concern,
    Presence,
    compare,
    judge,
    questions,
)
from site_bundle.reporter.domain.sources import Directory


@dataclass(frozen=True, slots=True)
class ProveAbsence:
    """The use case. At most `limit` questions a pass; the others wait, and nothing is reported of them."""

    ask: Callable[[Sequence[Claim]], tuple[Presence, ...]]
    journal: SeenJournal
    limit: int = 200

    def run(
        self, directory: Directory, of: Concern, *, whole: bool, now: datetime
    ) -> Directory | UnavailableError:
        """The directory with its doubts; why it cannot be asked, where nothing of it can be believed in this
        pass. `whole`: `of` names everybody, so that whoever is not among them is forgotten. SiteError of the
        journal.
        """
        compared = compare(directory, self.journal.seen(), of)
        asked = questions(compared, of)
        claims = [question.claim for question in asked[: self.limit]]
        try:
            answers = self.ask(claims) if claims else ()
        except UnavailableError as error:
            return error
        judged = judge(asked, answers, usual=directory.usual)
        forgotten = (
            [row.name for row in compared.missing if row.name not in of.relevant | of.held] if whole else []
        )
        changed = {row.name: row for row in (*compared.changed, *judged.changed)}
        if changed or forgotten:
            self.journal.record_seen(tuple(changed.values()), forgotten, now)
        return replace(directory, doubts=judged.doubts) if judged.doubts else directory

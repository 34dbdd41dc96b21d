"""Events of Beto reach the view, each once (P13, P17)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.projects.application.items import scope_of
from central.projects.application.ports import Applied, ViewStore
from central.projects.domain.revisions import Effect, Told, Viewed


@dataclass(frozen=True, slots=True)
class ApplyEvents:
    """The use case. Two contents under one revision prove that the view is wrong, whichever came first."""

    store: ViewStore

    def __call__(
        self, consumer: str, messages: Sequence[tuple[UUID, Told[Viewed]]], now: datetime
    ) -> Sequence[Applied]:
        """Applies messages of one scope, all or none; one that was applied before changes nothing."""
        outcomes = self.store.apply(consumer, messages, now)
        for (_, told), applied in zip(messages, outcomes, strict=True):
            if applied.judgement is not None and applied.judgement.effect is Effect.CONFLICT:
                self.store.diverge(
                    scope_of(told.value),
                    f"revision {told.value.revision} of {told.value.id} was told with two contents",
                )
        return outcomes

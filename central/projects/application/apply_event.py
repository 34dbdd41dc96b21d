"""An event of Beto reaches the view, once (P13, P17)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.projects.application.items import scope_of
from central.projects.application.ports import Applied, ViewStore
from central.projects.domain.revisions import Effect, Told, Viewed


@dataclass(frozen=True, slots=True)
class ApplyEvent:
    """The use case. Two contents under one revision prove that the view is wrong, whichever came first."""

    store: ViewStore

    def __call__(self, consumer: str, message_id: UUID, told: Told[Viewed], now: datetime) -> Applied:
        """Applies the message; the same one again changes nothing."""
        applied = self.store.apply(consumer, message_id, told, now)
        if applied.judgement is not None and applied.judgement.effect is Effect.CONFLICT:
            scope = scope_of(told.value)
            self.store.diverge(
                scope, f"revision {told.value.revision} of {told.value.id} was told with two contents"
            )
        return applied

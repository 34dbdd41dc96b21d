"""Deliver what central is to be told, acknowledgements first; the same bytes until they are taken (E3,
X7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from site_bundle.kernel.errors import SiteError
from site_bundle.kernel.https import PeerRefusedError
from site_bundle.runtime.application.events import Events
from site_bundle.runtime.application.ports import CommandsApi, Journal, Word
from site_bundle.runtime.domain.refusals import FOR_GOOD, UNACKNOWLEDGED

BATCH = 100


@dataclass(frozen=True, slots=True)
class Sent:
    """`error`: what stopped the delivery; `refused`: words central refused for good."""

    words: int
    refused: int
    error: SiteError | None


@dataclass(frozen=True, slots=True)
class SendWords:
    """One pass over what waits. Raises UnavailableError of the journal alone."""

    api: CommandsApi
    journal: Journal
    events: Events
    checkpoint: Callable[[str], None] = field(default=lambda _name: None)

    def run(self) -> Sent:
        sent = refused = 0
        while waiting := self.journal.waiting_words(BATCH):
            for word in waiting:
                try:
                    self.api.send(word)
                    refusal = None
                except PeerRefusedError as error:
                    if error.code == UNACKNOWLEDGED and word.kind == "result":
                        self.journal.acknowledge_anew(word.command_id)
                        return Sent(sent, refused, error)
                    if error.code not in FOR_GOOD:
                        return Sent(sent, refused, error)
                    refusal = error.code
                    refused += 1
                except SiteError as error:
                    return Sent(sent, refused, error)
                self.checkpoint(f"{word.kind}-sent")
                self._delivered(word, refusal)
                sent += 1
        return Sent(sent, refused, None)

    def _delivered(self, word: Word, refusal: str | None) -> None:
        self.journal.delivered(word, refusal=refusal)
        self.events.word(word, refusal)
        self.checkpoint(f"{word.kind}-delivered")

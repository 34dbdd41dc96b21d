"""What happens, for whoever tells it. Nothing here names a person."""

from __future__ import annotations

from typing import Protocol

from site_bundle.kernel.errors import SiteError
from site_bundle.runtime.application.ports import Word
from site_bundle.runtime.domain.command import Command
from site_bundle.runtime.domain.stage import Stage


class Events(Protocol):
    """Called as things become true."""

    def moved(self, before: Stage, after: Stage) -> None: ...

    def would(self, stage: Stage, what: str) -> None: ...

    def waits(self, command: Command, error: SiteError) -> None: ...

    def cancelled(self, command: Command, job_id: str) -> None: ...

    def closed(self, command: Command) -> None: ...

    def word(self, word: Word, refusal: str | None) -> None: ...

    def progress(self) -> None: ...

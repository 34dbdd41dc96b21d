"""What a verb asks of the running Runtime, in its state folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from site_bundle.kernel.requests import MAX_REQUEST, RequestFile, look_for_feed, put_feed
from site_bundle.kernel.strict_json import MalformedJsonError, decode_object
from site_bundle.kernel.times import render_time
from site_bundle.runtime.application.ports import DrainRequest

DRAIN, ACCEPT = "drain", "accept-feed"


@dataclass(frozen=True, slots=True)
class RequestFiles:
    """Both kinds. The reads raise RequestUnreadableError."""

    state_directory: Path

    @property
    def _drain(self) -> RequestFile:
        return RequestFile(self.state_directory / DRAIN)

    @property
    def _acceptance(self) -> RequestFile:
        return RequestFile(self.state_directory / ACCEPT)

    def put_drain(self, request: DrainRequest) -> None:
        """OSError."""
        until = render_time(request.until) if request.until else None
        body = {"draining": request.draining, "until": until, "reason": request.reason}
        self._drain.put(json.dumps(body).encode())

    def drain(self) -> DrainRequest | None:
        """The request, until `drain_done`; None when nobody asked. A file that is none is forgotten."""
        raw = self._drain.look()
        if raw is None:
            return None
        try:
            return decode_object(raw, DrainRequest, max_bytes=MAX_REQUEST)
        except MalformedJsonError:
            self.drain_done()
            return None

    def drain_done(self) -> None:
        """It is journalled."""
        self._drain.done()

    def put_acceptance(self, feed: UUID) -> None:
        """OSError."""
        put_feed(self._acceptance, feed)

    def acceptance(self) -> UUID | None:
        """The history an operator accepts, until `acceptance_done`; None when nobody asked."""
        return look_for_feed(self._acceptance)

    def acceptance_done(self) -> None:
        """It is journalled."""
        self._acceptance.done()

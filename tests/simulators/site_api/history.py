"""What the stand-in knows: one Site's feed of changes, and the results it was sent (docs/wire.md)."""

from __future__ import annotations

import base64
import hashlib
import threading
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Target:
    """The saved target of a key."""

    username: str
    uid_number: int
    entry_uuid: str


@dataclass
class History:
    """Gapless sequences, one latest change a key, a feed id drawn once."""

    site: str = "slurm"
    feed: str = field(default_factory=lambda: str(uuid.uuid4()))
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)  # change id → key id, older changes included
    results: dict[str, tuple[datetime, dict[str, Any]]] = field(default_factory=dict)  # by change id
    reports: dict[str, bytes] = field(default_factory=dict)  # by report id
    receipts: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    sequence: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def present(self, line: str, target: Target, key_id: str | None = None) -> str:
        """A member adds a key; its id."""
        return self._change("present", line, target, key_id or str(uuid.uuid4()))

    def absent(self, key_id: str) -> None:
        """The member takes it out."""
        change = self.changes[key_id]
        target = change["target"]
        known = Target(target["username"], target["uidNumber"], target["entryUUID"])
        self._change("absent", change["publicKey"], known, key_id)

    def _change(self, act: str, line: str, target: Target, key_id: str) -> str:
        blob = base64.b64decode(line.split(" ")[1])
        digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
        with self.changed:
            self.sequence += 1
            change_id = str(uuid.uuid4())
            self.changes[key_id] = {
                "sequence": self.sequence,
                "changeId": change_id,
                "act": act,
                "keyId": key_id,
                "publicKey": line,
                "fingerprint": f"SHA256:{digest}",
                "target": {
                    "username": target.username,
                    "uidNumber": target.uid_number,
                    "entryUUID": target.entry_uuid,
                },
            }
            self.known[change_id] = key_id
            self.changed.notify_all()
        return key_id

    def page(self, after: int, limit: int, wait: float) -> dict[str, Any]:
        """The answer of the changes call; parked until there is something, at most `wait` seconds.

        LookupError when the history ends before `after`.
        """
        with self.changed:
            if after > self.sequence:
                raise LookupError(after)
            self.changed.wait_for(lambda: self.sequence > after, timeout=wait)
            later = sorted(
                (c for c in self.changes.values() if c["sequence"] > after), key=lambda c: int(c["sequence"])
            )
            shown = later[:limit]
            more = len(later) > len(shown)
            reach = shown[-1]["sequence"] if more else max(after, self.sequence)
            return {
                "schema": 1,
                "site": self.site,
                "feed": self.feed,
                "after": after,
                "changes": shown,
                "next": reach,
                "more": more,
            }

    def record(self, body: dict[str, Any], raw: bytes, observed_at: datetime) -> list[dict[str, str]] | None:
        """Receipts for a valid report; None when its id was used with other bytes."""
        report_id = body["reportId"]
        with self.changed:
            if report_id in self.reports:
                return self.receipts[report_id] if self.reports[report_id] == raw else None
            receipts = [self._receipt(item, observed_at) for item in body["results"]]
            self.reports[report_id], self.receipts[report_id] = raw, receipts
            self.changed.notify_all()
        return receipts

    def _receipt(self, item: dict[str, Any], observed_at: datetime) -> dict[str, str]:
        change_id = item["changeId"]
        key_id = self.known.get(change_id)
        standing = self.results.get(change_id)
        if key_id is None or key_id != item["keyId"]:
            outcome = "unknown"
        elif self.changes[key_id]["changeId"] != change_id:
            outcome = "stale"
        elif standing is not None and standing[1] == item:
            outcome = "unchanged"
        elif standing is not None and standing[0] > observed_at:
            outcome = "stale"
        else:
            outcome = "recorded"
            self.results[change_id] = (observed_at, item)
        return {"changeId": change_id, "outcome": outcome}

    def outcome(self, key_id: str) -> tuple[str, str | None] | None:
        """What is recorded of the key's latest change; None before the first report."""
        standing = self.results.get(self.changes[key_id]["changeId"])
        return (standing[1]["outcome"], standing[1]["code"]) if standing else None

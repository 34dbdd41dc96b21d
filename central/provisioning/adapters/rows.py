"""Rows of `provisioning` as domain values. Rows at odds with each other are `CorruptState` (P7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from central.kernel.errors import CorruptState
from central.kernel.times import stored_instant
from central.provisioning.adapters.snapshots import KIND, KnownVersions, version_digest
from central.provisioning.application.report import Answered
from central.provisioning.domain.allocation import Allocation, Lifecycle, Saved
from central.provisioning.domain.decision import Outcome, RefusalCode
from central.provisioning.domain.observation import Content


class Standing(StrEnum):
    """How a sighting may be renewed."""

    LIVE = "l"
    WAITING = "w"
    RETIRED = "r"


def standing_of(allocation: Allocation) -> Standing:
    """The standing that follows from an allocation."""
    if allocation.lifecycle is Lifecycle.RETIRED:
        return Standing.RETIRED
    return Standing.WAITING if allocation.waits_for_project else Standing.LIVE


@dataclass(frozen=True, slots=True)
class Renewed:
    """What `renew` renewed: positions from 1, each with its revision."""

    positions: list[int]
    revisions: list[int]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What `confirm` confirmed: positions from 1."""

    positions: list[int]


@dataclass(frozen=True, slots=True)
class Written:
    """What `add_changes` and `move_changes` wrote: numbers of rows."""

    heads: int
    sightings: int


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """`receipts`: what was answered to one command, if it was decided before."""

    request_digest: bytes | None
    answer: bytes | None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """`report`."""

    digest: bytes
    answers: bytes


@dataclass(frozen=True, slots=True)
class IdRow:
    """An allocation's id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class SavedRow:
    """`saved`: head, newest version and sighting of one allocation."""

    head_version: int | None
    head_digest: bytes | None
    version: int | None
    digest: bytes | None
    snapshot: str | None
    site: str | None
    project_id: UUID | None
    sighted_version: int | None
    revision: int | None
    standing: str | None
    content: str | None
    seen_at: datetime | None

    def saved(self, allocation_id: UUID, known: KnownVersions) -> Saved | None:
        """The allocation, every row checked against every other; None where none of them is."""
        if self.version is None and self.head_version is None and self.sighted_version is None:
            return None
        if self.version is None or self.snapshot is None or self.version != self.head_version:
            raise CorruptState(f"{KIND} {allocation_id}: the head and the newest version differ")
        digest = version_digest(allocation_id, self.version, self.snapshot.encode())
        if not digest == self.digest == self.head_digest:
            raise CorruptState(f"{KIND} {allocation_id}: version {self.version} differs from its digest")
        allocation = known.allocation(digest, allocation_id, self.version, self.snapshot)
        sighted = (self.site, self.project_id, self.sighted_version, self.revision, self.standing)
        wanted = (
            allocation.site,
            allocation.facts.project_id,
            self.version,
            allocation.revision,
            standing_of(allocation),
        )
        if sighted != wanted or self.content is None or self.seen_at is None:
            raise CorruptState(f"{KIND} {allocation_id}: the sighting differs from version {self.version}")
        last_seen = max(allocation.observed_at, stored_instant(self.seen_at))
        return Saved(allocation, self.version, Content(self.content), last_seen)


class _Answers(msgspec.Struct, frozen=True, gc=False):
    """Answers of a report, small when everything was `seen`: revisions of all, outcomes of the others."""

    revisions: list[int | None]
    others: dict[int, tuple[Outcome, RefusalCode | None]]


def encode_answers(answers: Sequence[Answered]) -> bytes:
    """The answers of a report as they are kept."""
    others: dict[int, tuple[Outcome, RefusalCode | None]] = {
        n: (answer.outcome, answer.code)
        for n, answer in enumerate(answers)
        if answer.outcome is not Outcome.SEEN
    }
    return msgspec.json.encode(_Answers([answer.revision for answer in answers], others))


def decode_answers(kept: bytes, wanted: int) -> Sequence[Answered]:
    """The answers of a report of `wanted` resources. Raises `CorruptState`."""
    try:
        found = msgspec.json.decode(kept, type=_Answers)
    except msgspec.DecodeError as error:
        raise CorruptState(f"the answers of a report cannot be read: {error}") from None
    if len(found.revisions) != wanted:
        raise CorruptState(f"{len(found.revisions)} answers are kept of a report of {wanted} resources")
    seen: tuple[Outcome, RefusalCode | None] = (Outcome.SEEN, None)
    return [
        Answered(outcome, revision, code)
        for n, revision in enumerate(found.revisions)
        for outcome, code in (found.others.get(n, seen),)
    ]


def encode_answer(answer: Answered) -> bytes:
    """One resource's answer as its command's receipt keeps it."""
    return msgspec.json.encode({"outcome": answer.outcome, "revision": answer.revision})


def decode_answer(kept: bytes) -> Answered:
    """The answer a receipt keeps. Raises `CorruptState`."""
    try:
        return msgspec.json.decode(kept, type=_Kept).answered()
    except msgspec.DecodeError as error:
        raise CorruptState(f"the answer of a receipt cannot be read: {error}") from None


class _Kept(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    outcome: Outcome
    revision: int

    def answered(self) -> Answered:
        return Answered(self.outcome, self.revision)

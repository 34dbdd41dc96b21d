"""What retained accounts need from outside. What cannot be read raises `Unavailable` (X1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.kernel.site_names import Site
from central.retention.domain.accepted_work import AcceptedWork
from central.retention.domain.ids import Owner
from central.retention.domain.judgement import Effect
from central.retention.domain.recovery import Recovery, RecoveryLimits
from central.retention.domain.retained import Fences, Holder, Required, Unknown


class PassLost(Exception):
    """A start, a doubt or another pass came between; this pass changes nothing more (O3)."""


class ProjectFences(Protocol):
    """What the Party and Project view says of accounts (P28)."""

    def of(self, holders: Collection[Holder], now: datetime) -> Mapping[Holder, Fences | Unknown]:
        """Every holder's fences, all read in one snapshot. `Unavailable` while the view may not answer."""
        ...


class OwnerInventories(Protocol):
    """The owners of accepted work, asked about all of it (P29)."""

    def read(self, owner: Owner) -> Sequence[AcceptedWork]:
        """Everything an owner lists, released work too, held against its count and fingerprint.

        Raises `Unavailable`, `SnapshotGone`, `AnswerMalformed` or `PagesDiffer`: then nothing was read.
        """
        ...


class DurableQueues(Protocol):
    """The broker, asked whether it keeps the events of accepted work."""

    def exists(self, queue: str) -> bool:
        """Whether the durable queue is there."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The standing and the required accounts of a Site, read in one moment."""

    recovery: Recovery
    required: Sequence[Required]


class WorkStore(Protocol):
    """Accepted work and the standing of recovery in one database."""

    def apply(
        self, consumer: str, messages: Sequence[tuple[UUID, AcceptedWork]], now: datetime
    ) -> Sequence[Effect | None]:
        """Applies each message once and in order, with its receipt; None for one applied before.

        A conflict ends what stands, in the same transaction.
        """
        ...

    def recovery(self) -> Recovery:
        """The standing."""
        ...

    def required(self, site: Site) -> Snapshot:
        """See `Snapshot`."""
        ...

    def start(self) -> Recovery:
        """A worker starts."""
        ...

    def begin(self, now: datetime, limits: RecoveryLimits) -> Recovery | None:
        """Begins a pass; None while another one is at work."""
        ...

    def put(
        self, begun: Recovery, items: Sequence[AcceptedWork], now: datetime, limits: RecoveryLimits
    ) -> Sequence[Effect]:
        """Applies some items of a verified inventory; the pass keeps its hold. `PassLost`."""
        ...

    def stand(
        self,
        begun: Recovery,
        owners: tuple[Owner, ...],
        asked_at: datetime,
        now: datetime,
        limits: RecoveryLimits,
    ) -> None:
        """The pass stands. `PassLost`."""
        ...

    def fail(self, begun: Recovery, reason: str) -> None:
        """Ends a pass without result, if it is still the one at work."""
        ...

    def doubt(self, reason: str) -> None:
        """Ends what stands."""
        ...

    def beat(self, now: datetime, limits: RecoveryLimits) -> Recovery:
        """Somebody goes on consuming; the standing afterwards."""
        ...

    def forget_receipts(self, before: datetime) -> int:
        """Forgets receipts older than `before`; revisions hold what they held. How many went."""
        ...

"""What the broker's administration does (P29, X12): as the migrator's role, in the broker's own database."""

from collections.abc import Sequence
from dataclasses import dataclass

from central.kernel.broker_administration import Administration, Buried, QueueState
from central.kernel.times import format_rfc3339
from central.processes import execution_worker, retention
from central.processes.broker_link import administration
from central.processes.provisioning_worker import ADMINISTRATION
from central.processes.refusals import DeadLetterUnknown, QueueUnknown
from central.retention.domain.ids import Owner
from central.settings import Settings


@dataclass(frozen=True, slots=True)
class Administered:
    """What the broker lacked."""

    lacking: Administration

    def lines(self) -> list[str]:
        """For people."""
        made = [f"declare {queue.name}" for queue in self.lacking.queues]
        return made + [f"enrol {one.identity} to {one.act} {one.name}" for one in self.lacking.enrolments]

    def document(self) -> dict[str, object]:
        """For programs."""
        return {
            "declared": [queue.name for queue in self.lacking.queues],
            "enrolled": [
                {"identity": one.identity, "act": one.act, "name": one.name}
                for one in self.lacking.enrolments
            ],
        }


def needed(owners: Sequence[Owner]) -> Administration:
    """What central's processes need of the broker, all together, with these owners of accepted work."""
    return ADMINISTRATION + retention.administration(owners) + execution_worker.ADMINISTRATION


def administer(settings: Settings, *, dry_run: bool) -> Administered:
    """Makes what the broker lacks, or only says it."""
    with administration(settings.database_direct_url) as broker:
        lacking = broker.lacking(needed(retention.owners_of(settings)))
        if not dry_run:
            broker.apply(lacking)
        return Administered(lacking)


def list_queues(settings: Settings) -> list[dict[str, object]]:
    """Every declared queue."""
    with administration(settings.database_direct_url) as broker:
        return [_queue(queue) for queue in broker.queues()]


def list_buried(settings: Settings, queue: str | None, limit: int) -> list[dict[str, object]]:
    """Buried messages, oldest first. Raises `QueueUnknown`."""
    with administration(settings.database_direct_url) as broker:
        if queue is not None:
            _known(broker.queues(), queue)
        return [_buried(one) for one in broker.buried(queue, limit)]


def take_out(
    settings: Settings, queue: str, positions: Sequence[int] | None, *, replay: bool, dry_run: bool
) -> int:
    """Replays or discards buried messages, all with None. How many. Raises `QueueUnknown`, and
    `DeadLetterUnknown` for a position without one: then nothing is done.
    """
    with administration(settings.database_direct_url) as broker:
        _known(broker.queues(), queue)
        chosen = broker.buried_positions(queue, positions)
        strange = set(positions or ()).difference(chosen)
        if strange:
            raise DeadLetterUnknown(
                f"{queue} has no buried message at {', '.join(map(str, sorted(strange)))}"
            )
        if dry_run:
            return len(chosen)
        return broker.replay(queue, chosen) if replay else broker.discard(queue, chosen)


def _known(queues: Sequence[QueueState], name: str) -> None:
    if all(queue.name != name for queue in queues):
        raise QueueUnknown(name)


def _queue(queue: QueueState) -> dict[str, object]:
    return {
        "queue": queue.name,
        "topics": list(queue.topics),
        "maxAttempts": queue.max_attempts,
        "waiting": queue.waiting,
        "dueSince": format_rfc3339(queue.due_since) if queue.due_since else None,
        "buried": queue.dead,
    }


def _buried(one: Buried) -> dict[str, object]:
    return {
        "queue": one.queue,
        "position": one.position,
        "messageId": str(one.message_id),
        "topic": one.topic,
        "bytes": one.size,
        "attempts": one.attempts,
        "reason": one.reason,
        "diedAt": format_rfc3339(one.died_at),
    }

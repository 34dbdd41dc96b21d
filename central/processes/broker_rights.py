"""Whether the broker lets a process do its work, asked before it starts (P20, P29)."""

from collections.abc import Sequence

from central.kernel.broker import Act, Broker
from central.processes.refusals import StartRefused


def require_rights(broker: Broker, wanted: Sequence[tuple[Act, str]], identity: str) -> None:
    """Refuses a start unless every queue exists and this connection may do each act at it.

    `Unavailable` if the broker cannot be reached. A queue is looked for only where there is a right to look.
    """
    faults = []
    for act, queue in wanted:
        if not broker.allowed(act, queue):
            faults.append(f"this identity is not enrolled to {act} at {queue}")
        elif not broker.exists(queue):
            faults.append(f"the broker has no queue {queue}")
    if faults:
        remedy = f"run `pharos-central broker administer` and connect as {identity}"
        raise StartRefused("; ".join([*faults, remedy]))

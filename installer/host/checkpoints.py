"""Named points at which a laboratory kills the process or makes it fail:
``PHAROS_LAB_CHECKPOINT=scope/point[:kill|raise]``.

Honoured with a laboratory profile alone (X8). The points of a switch are ``after-intent``, ``after-stop``,
``after-links``, ``after-files``, ``after-reload``, ``after-start``, ``during-health``, ``before-record``,
``after-record``
in the scopes ``activate`` and ``rollback``; ``recover/before-<step>`` and ``recover/after-<step>`` for each
step of a way
back, as ``activate/before-<step>`` and ``after-<step>`` for each of the way there; in ``install`` those of
``installer.bootstrap.environment`` and ``.seal``, ``before-seal`` and
``after-seal``.
"""

import os
import signal
from collections.abc import Callable

from installer.bootstrap.checkpoint import Checkpoint, no_checkpoint
from installer.domain.refusal import USAGE, Refusal

VARIABLE = "PHAROS_LAB_CHECKPOINT"


class InjectedFailureError(OSError):
    """A failure a laboratory asked for."""


def checkpoints(wanted: str, *, laboratory: bool) -> Callable[[str], Checkpoint]:
    """The port of each scope. Raises Refusal ``checkpoint_refused`` outside a laboratory."""
    if not wanted:
        return lambda _scope: no_checkpoint
    point, _, manner = wanted.rpartition(":")
    if manner not in {"kill", "raise"}:
        point, manner = wanted, "kill"
    if not laboratory or "/" not in point:
        raise Refusal(
            "checkpoint_refused",
            found=f"{VARIABLE} is set" if not laboratory else f"{VARIABLE} is not scope/point[:kill|raise]",
            wanted="no fault injection outside a laboratory profile",
            remedy=f"Unset {VARIABLE}.",
            exit_code=USAGE,
        )

    def scoped(scope: str) -> Checkpoint:
        def reach(name: str) -> None:
            if f"{scope}/{name}" != point:
                return
            if manner == "raise":
                raise InjectedFailureError(f"the laboratory's failure at {point}")
            os.kill(os.getpid(), signal.SIGKILL)

        return reach

    return scoped

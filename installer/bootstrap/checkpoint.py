"""Named points at which a laboratory may kill the process, to show that the next run converges.

A point is ``<scope>/<before|after>-<step>``, for instance ``controller/after-pip``. In production nothing
is named and every call does nothing.
"""

import os
import signal
from collections.abc import Callable

Checkpoint = Callable[[str], None]
"""Called with ``before-<step>`` and ``after-<step>``; may not return."""


def no_checkpoint(_point: str) -> None:
    """The production port: nothing happens."""


def lab_checkpoint(wanted: str | None, scope: str) -> Checkpoint:
    """The port for ``PHAROS_LAB_CHECKPOINT``: the process is killed (SIGKILL) at the point ``wanted``
    names.
    """
    if not wanted:
        return no_checkpoint
    point_wanted = wanted.removesuffix(":kill")

    def reach(point: str) -> None:
        if f"{scope}/{point}" == point_wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    return reach

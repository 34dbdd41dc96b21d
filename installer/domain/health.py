"""Whether a started component is healthy: judged by what it does over a window, not by one look (H19, H20,
B18, B19).

1. *Not yet*: activating, auto-restart, another release's or an old status file, a status other than
   ``ready``, an
   unreadable answer. None of them is a failure before the deadline, none ever counts as health.
2. The window starts with the first healthy sample and holds only while InvocationID and NRestarts stay the
   same.
3. Failed at once: systemd gave up (``failed``: the restart limit, or no restart at all).
4. Otherwise the deadline decides; durations are of the monotonic clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from installer.domain.units import UnitState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedStatus:
    """What the running component says of itself (``status.json``), or why that could not be had."""

    release: str
    pid: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look at a component."""

    at: float
    """Seconds of the monotonic clock."""
    unit: UnitState | None
    """None: systemd could not be asked."""
    status: ReportedStatus | str
    """The component's own words, or the reason there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The verdict so far, and its reason in words."""

    verdict: Literal["healthy", "waiting", "failed"]
    reason: str


def judge(
    samples: Sequence[Sample], *, started: float, release: str | None, window: float, deadline: float
) -> Health:
    """The verdict over all samples since ``started``. ``release`` None asks only for an active unit (a
    restored one).
    """
    since: float | None = None
    token: tuple[str, int] | None = None
    reason = "no answer yet"
    for sample in samples:
        problem = why_not(sample, release)
        if problem is not None or sample.unit is None:
            since, token, reason = None, None, problem or reason
            continue
        now = (sample.unit.invocation, sample.unit.restarts)
        if now != token:
            since, token = sample.at, now
            reason = "healthy, but not for long enough yet"
    if not samples:
        return Health(verdict="waiting", reason=reason)
    last = samples[-1]
    if since is not None and last.at - since >= window:
        return Health(verdict="healthy", reason=f"healthy for {last.at - since:.1f} s without a restart")
    if last.unit is not None and last.unit.active == "failed":
        return Health(verdict="failed", reason=reason)
    if last.at - started >= deadline:
        return Health(verdict="failed", reason=f"not healthy within {deadline:.0f} s: {reason}")
    return Health(verdict="waiting", reason=reason)


def why_not(sample: Sample, release: str | None) -> str | None:
    """Why this sample shows no health; None when it does."""
    unit = sample.unit
    if unit is None:
        return "systemd could not be asked"
    if unit.active != "active":
        return f"unit is {unit.active} ({unit.sub}), result {unit.result}"
    if release is None:
        return None
    status = sample.status
    if isinstance(status, str):
        return status
    if status.pid != unit.main_pid:
        return f"its status is of process {status.pid}, systemd's main process is {unit.main_pid}"
    if status.release != release:
        return f"the running process is release {status.release}"
    if status.state != "ready":
        return f"it reports itself {status.state}"
    return None

"""What one observation makes of one allocation (P4, P5, P6, P12): a pure function, the whole rule.

In this order, the first that holds:

1. First reported by another Site: refused, `other_site`.
2. Another offering, or another provider Project than the one proven: refused, `binding_changed`.
3. Observed further ahead of our clock than is accepted: refused, `observed_in_future`.
4. Older than what is saved: `stale_report`.
5. The allocation is retired: `unchanged`, for a retired allocation is final.
6. Equal time: the same content is `unchanged`, other content is `conflicting_report`.
7. Newer: a material change or new usage is `changed`, anything else is `seen` and renews last-seen.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from central.kernel.times import AHEAD_MAX
from central.provisioning.domain.allocation import Allocation, Facts, Lifecycle, Saved, lifecycle_of
from central.provisioning.domain.ids import WaldurInstance, allocation_id
from central.provisioning.domain.observation import Observation, ProviderState


class Outcome(StrEnum):
    """What a report was told about one resource."""

    CHANGED = "changed"
    SEEN = "seen"
    UNCHANGED = "unchanged"
    STALE_REPORT = "stale_report"
    CONFLICTING_REPORT = "conflicting_report"
    REFUSED = "refused"


class RefusalCode(StrEnum):
    """Why a resource was refused."""

    OTHER_SITE = "other_site"
    BINDING_CHANGED = "binding_changed"
    OBSERVED_IN_FUTURE = "observed_in_future"
    STATE_CORRUPT = "state_corrupt"
    """What is saved of it contradicts itself (P7): never decided upon, and no other resource waits for it."""


class Decision(Struct, frozen=True, gc=False):
    """`allocation` is the new version for `changed`, otherwise None. `revision` is the one that stands then,
    None where the caller may not know it (another Site's allocation).
    """

    outcome: Outcome
    revision: int | None
    allocation: Allocation | None = None
    code: RefusalCode | None = None


def decide(
    saved: Saved | None,
    observation: Observation,
    now: datetime,
    *,
    instance: WaldurInstance,
    project_id: UUID | None,
) -> Decision:
    """Decides. `project_id` is what the provider Project resolved to, None where it did not resolve (P3)."""
    refusal = _refusal(saved, observation, now)
    if refusal is not None:
        known = saved is not None and refusal is not RefusalCode.OTHER_SITE
        return Decision(Outcome.REFUSED, saved.allocation.revision if saved and known else None, code=refusal)
    if saved is None:
        return _changed(_first(observation, instance, project_id))
    before = saved.allocation
    if observation.observed_at < saved.last_seen:
        return Decision(Outcome.STALE_REPORT, before.revision)
    if before.lifecycle is Lifecycle.RETIRED:
        return Decision(Outcome.UNCHANGED, before.revision)
    if observation.observed_at == saved.last_seen:
        same = observation.content == saved.content
        return Decision(Outcome.UNCHANGED if same else Outcome.CONFLICTING_REPORT, before.revision)
    after = _next(before, observation, project_id)
    if (after.revision, after.used) == (before.revision, before.used):
        return Decision(Outcome.SEEN, before.revision)
    return _changed(after)


def _refusal(saved: Saved | None, observation: Observation, now: datetime) -> RefusalCode | None:
    if saved is not None:
        before = saved.allocation
        if before.site != observation.site:
            return RefusalCode.OTHER_SITE
        moved = observation.provider_project_ref != before.facts.provider_project_ref
        if observation.offering_id != before.offering_id or (moved and before.facts.project_id is not None):
            return RefusalCode.BINDING_CHANGED
    return RefusalCode.OBSERVED_IN_FUTURE if observation.observed_at - now > AHEAD_MAX else None


def _changed(after: Allocation) -> Decision:
    return Decision(Outcome.CHANGED, after.revision, allocation=after)


def _first(observation: Observation, instance: WaldurInstance, project_id: UUID | None) -> Allocation:
    facts = Facts(
        project_id=project_id,
        provider_project_ref=observation.provider_project_ref,
        native_name=observation.native_name,
        state=observation.state,
        paused=observation.paused,
        configured=observation.configured,
        applied=observation.applied,
    )
    lifecycle, reasons = lifecycle_of(facts)
    return Allocation(
        allocation_id=allocation_id(instance, observation.resource_id),
        site=observation.site,
        instance=instance,
        resource_id=observation.resource_id,
        offering_id=observation.offering_id,
        facts=facts,
        lifecycle=lifecycle,
        reasons=reasons,
        used=observation.used,
        revision=1,
        observed_at=observation.observed_at,
    )


def _next(before: Allocation, observation: Observation, project_id: UUID | None) -> Allocation:
    """The allocation after a newer observation; its revision moves only with the facts.

    What the Site does not know stands as it was (X1): so `changing` keeps the limits in force. A terminated
    resource has none in force unless the Site says so.
    """
    old = before.facts
    ended = observation.state is ProviderState.TERMINATED
    facts = Facts(
        project_id=old.project_id or project_id,
        provider_project_ref=observation.provider_project_ref,
        native_name=observation.native_name or old.native_name,
        state=observation.state,
        paused=observation.paused,
        configured=old.configured if observation.configured is None else observation.configured,
        applied=old.applied if observation.applied is None and not ended else observation.applied,
    )
    if facts == old:
        lifecycle, reasons, revision = before.lifecycle, before.reasons, before.revision
    else:
        (lifecycle, reasons), revision = lifecycle_of(facts), before.revision + 1
    return Allocation(
        allocation_id=before.allocation_id,
        site=before.site,
        instance=before.instance,
        resource_id=before.resource_id,
        offering_id=before.offering_id,
        facts=facts,
        lifecycle=lifecycle,
        reasons=reasons,
        used=observation.used,
        revision=revision,
        observed_at=observation.observed_at,
    )

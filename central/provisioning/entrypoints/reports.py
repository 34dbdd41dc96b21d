"""A report's body as a `Report`: checked whole, so that a malformed one is refused whole (P12).

What a resource says is named by its content: 128 bits of SHA-256 (X14) over `CANONICALISATION` and the
resource's canonical encoding (docs/wire.md, rule 7: UUIDs in lower case, keys of amounts sorted). Another way
to encode needs another `CANONICALISATION`, so that no content of one is ever taken for the other's.

An agent names the same resources every minute: what can be said of their texts alone is remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, NoReturn
from uuid import UUID

import msgspec

from central.kernel.problems import BODY_INVALID, BODY_TOO_LARGE, FieldError, Problem
from central.kernel.times import parse_rfc3339
from central.provisioning.domain.amounts import UNKNOWN, Amounts, unknown_component
from central.provisioning.domain.ids import WaldurInstance, allocation_id, canonical_uuid, content_digest
from central.provisioning.domain.observation import Content, Observation, ProviderProjectRef, Site
from central.provisioning.entrypoints.wire import RESOURCES_MAX, AmountsBody, ReportBody, ResourceBody

CANONICALISATION: Final = b"pharos allocation content 1\n"
NAME_MAX: Final = 128
_REMEMBERED: Final = 32_768


class TextRefused(ValueError):
    """A text of a resource is outside its grammar; `field` is the wire's name of it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Names:
    """A resource's texts in their canonical form, and the id that follows. `plain`: they were sent so."""

    resource_id: str
    offering_id: str
    provider_project_ref: str
    allocation_id: str
    plain: bool


@dataclass(frozen=True, slots=True)
class WireReport:
    """See `Report`. `resources` are in their canonical form."""

    report_id: UUID
    site: Site
    observed_at: datetime
    allocation_ids: Sequence[str]
    contents: Sequence[Content]
    resources: Sequence[ResourceBody]

    def observation(self, position: int) -> Observation:
        """See `Report`."""
        body = self.resources[position]
        return Observation(
            site=self.site,
            resource_id=UUID(body.resource_id),
            offering_id=UUID(body.offering_id),
            provider_project_ref=ProviderProjectRef(body.provider_project_ref),
            native_name=body.native_name,
            state=body.state,
            paused=body.paused,
            configured=_amounts(body.configured),
            applied=_amounts(body.applied),
            used=_amounts(body.used),
            observed_at=self.observed_at,
            content=self.contents[position],
        )


def wire_report(body: ReportBody, site: Site, instance: WaldurInstance) -> WireReport:
    """The report in a body. Raises the `Problem` of the first rule broken."""
    if len(body.resources) > RESOURCES_MAX:
        raise Problem(
            BODY_TOO_LARGE,
            f"the report holds {len(body.resources)} resources, at most {RESOURCES_MAX} are taken; split it",
        )
    report_id = canonical_uuid(body.report_id)
    if report_id is None:
        _refuse("/reportId", "wanted a UUID in its dashed form")
    observed_at = parse_rfc3339(body.observed_at, field="/observedAt")
    encode = msgspec.json.Encoder(order="deterministic").encode
    allocation_ids: list[str] = []
    contents: list[Content] = []
    resources: list[ResourceBody] = []
    for position, resource in enumerate(body.resources):
        names = _checked(position, resource, instance)
        canonical = resource if names.plain else _renamed(resource, names)
        allocation_ids.append(names.allocation_id)
        contents.append(Content(content_digest(CANONICALISATION + encode(canonical))))
        resources.append(canonical)
    if len(set(allocation_ids)) != len(allocation_ids):
        _refuse_twice(allocation_ids)
    return WireReport(UUID(report_id), site, observed_at, allocation_ids, contents, resources)


def _checked(position: int, resource: ResourceBody, instance: WaldurInstance) -> Names:
    configured, applied, used = resource.configured, resource.applied, resource.used
    if (
        (configured and unknown_component(tuple(configured)))
        or (applied and unknown_component(tuple(applied)))
        or (used and unknown_component(tuple(used)))
    ):
        _refuse_component(position, resource)
    try:
        return _names(
            instance,
            resource.resource_id,
            resource.offering_id,
            resource.provider_project_ref,
            resource.native_name,
        )
    except TextRefused as refused:
        _refuse(f"/resources/{position}/{refused.field}", refused.reason)


@lru_cache(maxsize=_REMEMBERED)
def _names(
    instance: WaldurInstance, resource: str, offering: str, ref: str, native_name: str | None
) -> Names:
    resource_id, offering_id = canonical_uuid(resource), canonical_uuid(offering)
    if resource_id is None:
        raise TextRefused("resourceId", "wanted a UUID in its dashed form")
    if offering_id is None:
        raise TextRefused("offeringId", "wanted a UUID in its dashed form")
    for field, text in (("providerProjectRef", ref), ("nativeName", native_name)):
        if text is not None and not (0 < len(text) <= NAME_MAX and text.isprintable()):
            raise TextRefused(field, f"wanted 1 to {NAME_MAX} printable characters")
    project_ref = canonical_uuid(ref) or ref
    return Names(
        resource_id,
        offering_id,
        project_ref,
        str(allocation_id(instance, UUID(resource_id))),
        plain=(resource, offering, ref) == (resource_id, offering_id, project_ref),
    )


def _refuse_component(position: int, resource: ResourceBody) -> NoReturn:
    for name in ("configured", "applied", "used"):
        unknown = unknown_component(tuple(getattr(resource, name) or ()))
        if unknown is not None:
            _refuse(f"/resources/{position}/{name}", f"{unknown[:64]!r}: {UNKNOWN}")
    raise AssertionError("called for a resource with an unknown component")


def _renamed(resource: ResourceBody, names: Names) -> ResourceBody:
    return msgspec.structs.replace(
        resource,
        resource_id=names.resource_id,
        offering_id=names.offering_id,
        provider_project_ref=names.provider_project_ref,
    )


def _refuse_twice(allocation_ids: Sequence[str]) -> NoReturn:
    seen: set[str] = set()
    for position, allocation in enumerate(allocation_ids):
        if allocation in seen:
            _refuse(f"/resources/{position}/resourceId", "the resource is named twice; name each once")
        seen.add(allocation)
    raise AssertionError("called for a report that names no resource twice")


def _refuse(pointer: str, reason: str) -> NoReturn:
    raise Problem(BODY_INVALID, f"{pointer}: {reason}", errors=[FieldError(pointer, reason)])


def _amounts(amounts: AmountsBody | None) -> Amounts | None:
    return Amounts.of(amounts) if amounts is not None else None

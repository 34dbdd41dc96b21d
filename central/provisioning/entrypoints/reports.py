"""A report's body as a `Report`: checked whole, so that a malformed one is refused whole (P12).

What a resource says is named by its content: 128 bits of SHA-256 (X14) over `CANONICALISATION` and the
resource's canonical encoding (docs/wire.md, rule 7: UUIDs in lower case, keys of amounts sorted). Another way
to encode needs another `CANONICALISATION`, so that no content of one is ever taken for the other's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NoReturn
from uuid import UUID

import msgspec

from central.kernel.problems import BODY_INVALID, BODY_TOO_LARGE, FieldError, Problem
from central.kernel.site_names import Site
from central.kernel.times import parse_observed
from central.provisioning.domain.amounts import UNKNOWN, Amounts, amounts_of, unknown_component
from central.provisioning.domain.ids import (
    REMEMBERED,
    WaldurInstance,
    allocation_text,
    canonical_uuid,
    content_digest,
    uuid_of,
)
from central.provisioning.domain.observation import Content, Observation, ProviderProjectRef
from central.provisioning.entrypoints.wire import RESOURCES_MAX, AmountsBody, ReportBody, ResourceBody

CANONICALISATION: Final = b"pharos allocation content 1\n"
NAME_MAX: Final = 128
REPORTS_REMEMBERED: Final = 128
"""Whole reports a process knows again: about 100 kB each."""


class _Known(msgspec.Struct, frozen=True, gc=False):
    """What follows from a resource that keeps the rules. `canonical` is None if it was sent so."""

    allocation_id: str
    content: Content
    canonical: ResourceBody | None


@dataclass(frozen=True, slots=True)
class _KnownSet:
    """What follows from all resources of a report. `canonical` is None if all were sent so."""

    allocation_ids: Sequence[str]
    contents: Sequence[Content]
    order: Sequence[int]
    ordered_ids: Sequence[str]
    ordered_contents: Sequence[Content]
    canonical: Sequence[ResourceBody] | None


@dataclass(frozen=True, slots=True)
class WireReport:
    """See `Report`. `resources` are in their canonical form."""

    report_id: UUID
    site: Site
    observed_at: datetime
    allocation_ids: Sequence[str]
    contents: Sequence[Content]
    order: Sequence[int]
    ordered_ids: Sequence[str]
    ordered_contents: Sequence[Content]
    resources: Sequence[ResourceBody]

    def observation(self, position: int) -> Observation:
        """See `Report`."""
        body = self.resources[position]
        return Observation(
            site=self.site,
            resource_id=uuid_of(body.resource_id),
            offering_id=uuid_of(body.offering_id),
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


class ReportReader:
    """Reads the bodies of one process. What it checked once, a resource or all of a report, it knows again
    by its encoding, for an agent sends the same every minute; it forgets everything when it knows
    `remembered` resources or `REPORTS_REMEMBERED` reports. Safe to share between
    threads: what two of them learn at once is the same.
    """

    def __init__(self, instance: WaldurInstance, *, remembered: int = REMEMBERED) -> None:
        self._instance = instance
        self._remembered = remembered
        self._known: dict[bytes, _Known] = {}
        self._known_sets: dict[str, _KnownSet] = {}
        self._encoder = msgspec.json.Encoder(order="deterministic")

    def read(self, body: ReportBody, site: Site) -> WireReport:
        """The report in a body. Raises the `Problem` of the first rule broken."""
        if len(body.resources) > RESOURCES_MAX:
            raise Problem(
                BODY_TOO_LARGE,
                f"the report holds {len(body.resources)} resources, at most {RESOURCES_MAX} are taken; "
                "split it",
            )
        report_id = canonical_uuid(body.report_id)
        if report_id is None:
            _refuse("/reportId", "wanted a UUID in its dashed form")
        observed_at = parse_observed(body.observed_at, field="/observedAt")
        found = self._read_all(body.resources)
        return WireReport(
            report_id=UUID(report_id),
            site=site,
            observed_at=observed_at,
            allocation_ids=found.allocation_ids,
            contents=found.contents,
            order=found.order,
            ordered_ids=found.ordered_ids,
            ordered_contents=found.ordered_contents,
            resources=body.resources if found.canonical is None else found.canonical,
        )

    def _read_all(self, resources: Sequence[ResourceBody]) -> _KnownSet:
        encoded = self._encoder.encode_lines(resources)
        digest = content_digest(CANONICALISATION + encoded)
        return self._known_sets.get(digest) or self._learn_all(digest, encoded.splitlines(), resources)

    def _learn_all(
        self, digest: str, encoded: Sequence[bytes], resources: Sequence[ResourceBody]
    ) -> _KnownSet:
        """Reads resources that were never met together in this encoding."""
        known = self._read_each(encoded, resources)
        ids = [one.allocation_id for one in known]
        if len(set(ids)) != len(ids):
            _refuse_twice(ids)
        sent_so = all(one.canonical is None for one in known)
        order = sorted(range(len(ids)), key=ids.__getitem__)
        found = _KnownSet(
            allocation_ids=ids,
            contents=[one.content for one in known],
            order=order,
            ordered_ids=[ids[position] for position in order],
            ordered_contents=[known[position].content for position in order],
            canonical=None
            if sent_so
            else [one.canonical or resource for one, resource in zip(known, resources, strict=True)],
        )
        if len(self._known_sets) >= REPORTS_REMEMBERED:
            self._known_sets = {}
        self._known_sets[digest] = found
        return found

    def _read_each(self, encoded: Sequence[bytes], resources: Sequence[ResourceBody]) -> list[_Known]:
        if len(self._known) > self._remembered:
            self._known = {}
        known = self._known
        return [
            known.get(line) or self._learn(line, position, resources[position])
            for position, line in enumerate(encoded)
        ]

    def _learn(self, encoded: bytes, position: int, resource: ResourceBody) -> _Known:
        """Checks a resource that was never met in this encoding."""
        canonical = canonical_resource(position, resource)
        sent_so = canonical is resource
        content = content_digest(CANONICALISATION + (encoded if sent_so else self._encoder.encode(canonical)))
        allocation = allocation_text(self._instance, canonical.resource_id)
        known = self._known[encoded] = _Known(allocation, Content(content), None if sent_so else canonical)
        return known


def canonical_resource(position: int, resource: ResourceBody) -> ResourceBody:
    """A resource with its UUIDs in their one form (itself if sent so). Raises the `Problem` it deserves."""
    at = f"/resources/{position}"
    resource_id, offering_id = canonical_uuid(resource.resource_id), canonical_uuid(resource.offering_id)
    if resource_id is None:
        _refuse(f"{at}/resourceId", "wanted a UUID in its dashed form")
    if offering_id is None:
        _refuse(f"{at}/offeringId", "wanted a UUID in its dashed form")
    ref = resource.provider_project_ref
    for name, text in (("providerProjectRef", ref), ("nativeName", resource.native_name)):
        if text is not None and not (0 < len(text) <= NAME_MAX and text.isprintable()):
            _refuse(f"{at}/{name}", f"wanted 1 to {NAME_MAX} printable characters")
    for name in ("configured", "applied", "used"):
        unknown = unknown_component(tuple(getattr(resource, name) or ()))
        if unknown is not None:
            _refuse(f"{at}/{name}", f"{unknown[:64]!r}: {UNKNOWN}")
    names = (resource_id, offering_id, canonical_uuid(ref) or ref)
    if names == (resource.resource_id, resource.offering_id, ref):
        return resource
    return msgspec.structs.replace(
        resource, resource_id=names[0], offering_id=names[1], provider_project_ref=names[2]
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
    return amounts_of(tuple(amounts.items())) if amounts is not None else None

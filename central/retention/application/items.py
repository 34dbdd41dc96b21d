"""Items of accepted work as docs/wire.md writes them, schema 1, and their canonical encoding (P27, X4).

Events carry one, inventory pages many; the fingerprint is over these bytes.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from central.kernel.errors import InvalidTime
from central.kernel.questions import Count, ItemMalformed, Positive, UuidText, uuid_or_none
from central.kernel.site_names import SITE_NAME, Site
from central.kernel.times import format_rfc3339, parse_rfc3339
from central.retention.domain.accepted_work import AcceptedWork, Evidence, Kind, WorkState
from central.retention.domain.ids import BindingId, ItemId, Owner, PartyId, ProjectId

SiteText = Annotated[str, Meta(pattern=rf"\A{SITE_NAME}\Z")]
OwnerText = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_-]{0,31}\Z")]


class ItemBody(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`item`."""

    item_id: UuidText
    kind: Literal["launch", "run", "pipeline"]
    revision: Positive
    state: Literal["required", "released"]
    project_id: UuidText
    party_id: UuidText
    site: SiteText
    binding_id: UuidText | None
    generation: Count
    management_generation: Count
    deadline: str

    def value(self, owner: Owner) -> AcceptedWork:
        """The item of `owner`. Raises `ItemMalformed`."""
        return AcceptedWork(
            owner,
            ItemId(UUID(self.item_id)),
            Kind(self.kind),
            self.revision,
            WorkState(self.state),
            ProjectId(UUID(self.project_id)),
            PartyId(UUID(self.party_id)),
            Site(self.site),
            self._evidence(),
            self._deadline(),
        )

    def _evidence(self) -> Evidence | None:
        binding = uuid_or_none(self.binding_id)
        if binding is None:
            if self.generation or self.management_generation:
                raise ItemMalformed("generations without a binding are nobody's")
            return None
        if self.generation < 1:
            raise ItemMalformed("a binding has a generation of at least 1")
        return Evidence(BindingId(binding), self.generation, self.management_generation)

    def _deadline(self) -> datetime:
        try:
            return parse_rfc3339(self.deadline, field="deadline")
        except InvalidTime as error:
            raise ItemMalformed(str(error)) from None


def encode_item(value: AcceptedWork) -> bytes:
    """The canonical encoding of an item."""
    evidence = value.evidence
    return msgspec.json.encode(
        ItemBody(
            str(value.item_id),
            value.kind.value,
            value.revision,
            value.state.value,
            str(value.project_id),
            str(value.party_id),
            value.site,
            str(evidence.binding_id) if evidence else None,
            evidence.generation if evidence else 0,
            evidence.management_generation if evidence else 0,
            format_rfc3339(value.deadline),
        )
    )

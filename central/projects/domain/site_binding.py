"""Who is behind a username at a Site, and which username a Party has there (P16).

1. An established binding holds a username over every retired one.
2. Two established ones, two retired ones where none is established, or one id at two Parties are a
   conflict: no answer, and never "nobody".
3. A retired Party's bindings are retired.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from central.kernel.site_names import Site
from central.projects.domain.ids import BindingId, PartyId


class Standing(StrEnum):
    """Whether the binding, or the membership behind an answer, is in force."""

    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class SiteBinding:
    """A Party's account name at a Site."""

    party_id: PartyId
    binding_id: BindingId
    revision: int
    site: Site
    username: str
    standing: Standing


class NoBinding(StrEnum):
    """Proven: nobody holds it."""

    ABSENT = "absent"


class Conflict(StrEnum):
    """Several hold it: not an answer."""

    CONFLICT = "conflict"


SiteBindingAnswer = SiteBinding | NoBinding | Conflict


def choose(found: Collection[SiteBinding]) -> SiteBindingAnswer:
    """The one binding of those that name the same username, or the same Party, at one Site."""
    by_id: dict[BindingId, PartyId] = {}
    for binding in found:
        if by_id.setdefault(binding.binding_id, binding.party_id) != binding.party_id:
            return Conflict.CONFLICT
    established = [binding for binding in found if binding.standing is Standing.ACTIVE]
    leading = established or list(found)
    if not leading:
        return NoBinding.ABSENT
    return leading[0] if len(leading) == 1 else Conflict.CONFLICT

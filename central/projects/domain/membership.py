"""Generations: how often a Party became a member of a Project (P17).

1. A Party listed for the first time has generation 1.
2. A Party that left is kept as an inactive tombstone with the generation it had.
3. The generation advances when the Party is listed again, or when its verified binding is another one.
4. A generation never goes back and a tombstone is never dropped, so a later account of the same name
   cannot revive an earlier grant.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from central.projects.domain.ids import BindingId, PartyId
from central.projects.domain.project import BindingRef


@dataclass(frozen=True, slots=True)
class Membership:
    """A Party's present or past membership of one Project, with the Project's own provider's binding."""

    party_id: PartyId
    generation: int
    binding_id: BindingId
    binding_revision: int
    present: bool


def advance(before: Mapping[PartyId, Membership], verified: Mapping[PartyId, BindingRef]) -> list[Membership]:
    """The memberships that change when the Project's verified members become `verified`, by Party."""
    changed = []
    for party_id in sorted(before.keys() | verified.keys()):
        was, listed = before.get(party_id), verified.get(party_id)
        now = _next(party_id, was, listed)
        if now is not None and now != was:
            changed.append(now)
    return changed


def _next(party_id: PartyId, was: Membership | None, listed: BindingRef | None) -> Membership | None:
    if listed is None:
        return replace(was, present=False) if was else None
    if was is None:
        return Membership(party_id, 1, listed.binding_id, listed.revision, present=True)
    again = not was.present or was.binding_id != listed.binding_id
    return Membership(party_id, was.generation + again, listed.binding_id, listed.revision, present=True)

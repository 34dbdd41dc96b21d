"""Which accounts accepted work keeps at a Site (P28).

1. An account is kept while work is required with it and nothing fences it.
2. Fences: the Project is not active; its management generation is a later one; the site binding is not
   established; the member was added again, so the current generation is a later one. A member who only left
   is not fenced: that is what accounts are kept for.
3. What the view does not hold, or holds at an earlier generation than the work was accepted under, cannot
   be judged. Then there is no list at all: a short one would take accounts away.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from central.kernel.site_names import Site
from central.retention.domain.ids import BindingId, PartyId, ProjectId


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose account it is: what fences are asked about."""

    project_id: ProjectId
    party_id: PartyId
    site: Site
    binding_id: BindingId


@dataclass(frozen=True, slots=True)
class Required:
    """An account that some required work names, under the generations of its acceptance."""

    holder: Holder
    generation: int
    management_generation: int


@dataclass(frozen=True, slots=True)
class Fences:
    """What the view says of a holder now. `username` is None if the site binding is not established."""

    project_active: bool
    management_generation: int
    generation: int
    username: str | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why the view cannot say it."""

    reason: str


class Fence(StrEnum):
    """Why accepted work keeps an account no longer (rule 2)."""

    PROJECT_NOT_ACTIVE = "project_not_active"
    MANAGEMENT_GENERATION_OVER = "management_generation_over"
    MEMBER_ADDED_AGAIN = "member_added_again"
    BINDING_NOT_ESTABLISHED = "binding_not_established"


@dataclass(frozen=True, slots=True, order=True)
class RetainedAccount:
    """An account to keep, in the order lists have."""

    project_id: ProjectId
    party_id: PartyId
    binding_id: BindingId
    generation: int
    username: str


def retained(
    required: Collection[Required], known: Mapping[Holder, Fences | Unknown]
) -> list[RetainedAccount] | Unknown:
    """The complete list, distinct and in order, or why there is none (rule 3)."""
    kept = set()
    for one in required:
        judged = judge_account(one, known.get(one.holder, Unknown("the view was not asked")))
        if isinstance(judged, Unknown):
            return judged
        if isinstance(judged, RetainedAccount):
            kept.add(judged)
    return sorted(kept)


def judge_account(one: Required, fences: Fences | Unknown) -> RetainedAccount | Fence | Unknown:
    """Whether one account is kept, what fences it, or why that cannot be said."""
    if isinstance(fences, Unknown):
        return fences
    if fences.management_generation < one.management_generation:
        return Unknown("the view's management generation is earlier than the accepted one")
    if fences.generation < one.generation:
        return Unknown("the view's generation of the member is earlier than the accepted one")
    if not fences.project_active:
        return Fence.PROJECT_NOT_ACTIVE
    if fences.management_generation != one.management_generation:
        return Fence.MANAGEMENT_GENERATION_OVER
    if fences.generation != one.generation:
        return Fence.MEMBER_ADDED_AGAIN
    if fences.username is None:
        return Fence.BINDING_NOT_ESTABLISHED
    holder = one.holder
    return RetainedAccount(
        holder.project_id, holder.party_id, holder.binding_id, one.generation, fences.username
    )

"""What Waldur says of the token, the offering and the id pools, judged (I15, W23, W47).

Shapes as waldur.md §3 and §8 give them; a field that is not there is None, never a default (X1). UUIDs are
compared as UUIDs: Waldur writes 32 hex digits, others dashes.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from installer.domain.profile import UidRange
from installer.domain.profile_reporter import GidRange
from installer.domain.refusal import Refusal
from installer.domain.times import parse_time

VERSION = "8.1.3"
OWNER, MANAGER, OFFERING_MANAGER = "CUSTOMER.OWNER", "CUSTOMER.MANAGER", "OFFERING.MANAGER"
NODE = "node"
NOT_SOLD = "Archived"
"""An archived offering takes no orders; every other state is sold or can be at any moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """``GET version/``."""

    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """One role of the token's user; 8.1.x trims these rows, so any field may be missing (W47)."""

    role_name: str | None = None
    scope_type: str | None = None
    scope_uuid: str | None = None
    customer_uuid: str | None = None
    expiration_time: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """``GET users/me/``."""

    username: str | None = None
    is_staff: bool | None = None
    is_support: bool | None = None
    is_active: bool | None = None
    permissions: tuple[Permission, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component of an offering; ``unit_factor`` is metadata Waldur never applies, and not read (I15)."""

    type: str
    billing_type: str | None = None
    limit_period: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """``GET marketplace-provider-offerings/``."""

    uuid: str
    name: str | None = None
    state: str | None = None
    customer_uuid: str | None = None
    components: tuple[Component, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """``GET …offerings/<uuid>/effective_posix_id_pool/``: the offering's own, else its provider's."""

    min_uid: int | None = None
    max_uid: int | None = None
    min_gid: int | None = None
    max_gid: int | None = None
    min_group_gid: int | None = None
    max_group_gid: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found, and whether it is what was wanted."""

    status: Literal["pass", "fail", "unknown"]
    found: str


def same_uuid(one: str | None, other: str | None) -> bool:
    """Whether both are there and the same UUID."""
    return one is not None and other is not None and _bare(one) == _bare(other)


def judge_role(me: Me, customer: str, now: datetime) -> Judgement:
    """Whether the token's user owns ``customer`` or manages its service provider, and no more (I15)."""
    if me.is_active is False:
        return Judgement("fail", "its user is not active")
    if me.is_staff or me.is_support:
        return Judgement("fail", "its user is staff or support: it sees and may change other providers")
    if me.permissions is None:
        return Judgement("unknown", "users/me/ says nothing of permissions")
    ended: list[str] = []
    unproven: list[str] = []
    for row in me.permissions:
        held = _held(row, customer)
        if held is None:
            unproven.append(f"{row.role_name} without the organisation it is for")
        elif held:
            judged = _running(row, now)
            if judged.status == "pass":
                return judged
            (ended if judged.status == "fail" else unproven).append(judged.found)
    if unproven:
        return Judgement("unknown", "; ".join(unproven))
    if ended:
        return Judgement("fail", "; ".join(ended))
    names = sorted({row.role_name or "a role without a name" for row in me.permissions})
    if OFFERING_MANAGER in names:
        return Judgement(
            "fail",
            f"{OFFERING_MANAGER} alone: Waldur answers the dated usage reports of such a token with 400",
        )
    return Judgement("fail", f"{', '.join(names) or 'no role'}, none of them on the offering's provider")


def judge_sole(offering: str, sold: tuple[Offering, ...]) -> Judgement:
    """Whether the provider sells ``offering`` and nothing else: the token reaches all of it."""
    others = [o for o in sold if not same_uuid(o.uuid, offering) and o.state != NOT_SOLD]
    if not any(same_uuid(o.uuid, offering) for o in sold):
        return Judgement("fail", f"{len(sold)} offerings of the provider, this one not among them")
    if others:
        names = ", ".join(f"{o.name or o.uuid} ({o.state or 'state unknown'})" for o in others[:5])
        return Judgement("fail", f"it also sells {names}{' …' if len(others) > 5 else ''}")
    return Judgement("pass", "it sells this offering alone")


def judge_component(offering: Offering) -> Judgement:
    """Whether node-hours are limit-billed over the whole lifetime."""
    if offering.components is None:
        return Judgement("unknown", "the offering says nothing of its components")
    nodes = [component for component in offering.components if component.type == NODE]
    if len(nodes) != 1:
        names = ", ".join(component.type for component in offering.components) or "none"
        return Judgement("fail", f"components {names}")
    (node,) = nodes
    found = f"billing {node.billing_type or 'unknown'}, period {node.limit_period or 'none'}"
    wanted = node.billing_type == "limit" and node.limit_period == "total"
    return Judgement("pass" if wanted else "fail", found)


def judge_pool(pool: Pool, uids: UidRange, gids: GidRange) -> Judgement:
    """Whether the pool the offering draws from stays in the Site's ranges (I9)."""
    groups = (pool.min_group_gid, pool.max_group_gid)
    if groups == (None, None):  # without a range of their own, project groups draw from the GIDs
        groups = (pool.min_gid, pool.max_gid)
    found = f"uid {_range((pool.min_uid, pool.max_uid))}, group gid {_range(groups)}"
    inside = _inside((pool.min_uid, pool.max_uid), uids.min, uids.max) and _inside(groups, gids.min, gids.max)
    return Judgement("pass" if inside else "fail", found)


def _held(row: Permission, customer: str) -> bool | None:
    """Whether ``row`` is one of the two roles on ``customer``; None when it does not say for whom."""
    scope = (row.scope_type or "").replace("_", "").casefold()
    if row.role_name == OWNER and scope == "customer":
        return same_uuid(row.scope_uuid, customer) if row.scope_uuid else None
    if row.role_name == MANAGER and scope == "serviceprovider":
        return same_uuid(row.customer_uuid, customer) if row.customer_uuid else None
    return False


def _running(row: Permission, now: datetime) -> Judgement:
    if row.expiration_time is None:
        return Judgement("pass", f"{row.role_name}, without an end")
    try:
        end = parse_time(row.expiration_time, what="expiration_time")
    except Refusal:
        return Judgement("unknown", f"{row.role_name} until a time that cannot be read")
    if end <= now:
        return Judgement("fail", f"{row.role_name} ended at {row.expiration_time}")
    return Judgement("pass", f"{row.role_name} until {row.expiration_time}")


def _inside(found: tuple[int | None, int | None], low: int, high: int) -> bool:
    first, last = found
    return first is not None and last is not None and low <= first <= last <= high


def _range(found: tuple[int | None, int | None]) -> str:
    first, last = found
    return "none" if first is None or last is None else f"{first} to {last}"


def _bare(text: str) -> str:
    return text.replace("-", "").casefold()

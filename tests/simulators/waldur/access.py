"""Who calls and what they may: tokens, visibility, the table of permissions.

Where 8.1.3's table is silent and the seed speaks (a provider's manager reports usage, an offering's manager
names its users), the seed's word stands in the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.simulators.waldur.answers import forbidden, unauthenticated
from tests.simulators.waldur.model import Offering, Role, Token, User, World

SLIDES_AFTER = timedelta(minutes=1)
_PAT = re.compile(r"w_([0-9]{1,12})_[A-Za-z0-9_-]+")
_RESOURCE = ("SET_USAGE", "SET_BACKEND_ID", "SET_BACKEND_METADATA", "SET_STATE", "SET_LIMITS")
_OF_ANY_PROVIDER = frozenset({f"RESOURCE.{name}" for name in _RESOURCE} | {"OFFERING.UPDATE_USER"})
_OF_A_COMPANY = _OF_ANY_PROVIDER | {
    "RESOURCE.SUBMIT_REPORT",
    "OFFERING.CREATE",
    "OFFERING.DELETE",
    "OFFERING.UPDATE",
}
PERMISSIONS: dict[tuple[str, str], frozenset[str]] = {
    ("CUSTOMER.OWNER", "customer"): _OF_A_COMPANY
    | {"ORDER.LIST", "ORDER.APPROVE", "ORDER.REJECT", "RESOURCE.CONSUMPTION_LIMITATION"},
    ("CUSTOMER.MANAGER", "serviceprovider"): _OF_A_COMPANY,
    ("OFFERING.MANAGER", "offering"): _OF_ANY_PROVIDER,
}


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated user at one moment. `scopes` are a personal token's, which staff does not pass by."""

    user: User
    roles: tuple[Role, ...]
    scopes: frozenset[str] | None

    @property
    def sees_all(self) -> bool:
        return self.user.is_staff or self.user.is_support


def authenticate(world: World, header: str | None, now: datetime) -> Caller:
    """The caller of an `Authorization` header. Raises a 401."""
    scheme, _, rest = (header or "").strip().partition(" ")
    if scheme.lower() not in ("token", "bearer"):
        raise unauthenticated("Authentication credentials were not provided.")
    credential = rest.strip()
    if not credential:
        raise unauthenticated("Invalid token. No credentials provided.")
    if " " in credential:
        raise unauthenticated("Invalid token. Token string should not contain spaces.")
    token = world.tokens.get(credential)
    if token is None or (scheme.lower() == "token") != (token.kind == "token"):
        raise unauthenticated("Invalid token.")
    user = world.users[token.user]
    if not user.is_active:
        raise unauthenticated("User inactive or deleted.")
    _not_expired(credential, token, user, now)
    roles = tuple(
        role
        for role in world.roles.values()
        if role.user == user.uuid and (role.expiration_time is None or role.expiration_time > now)
    )
    return Caller(user, roles, None if token.permissions is None else frozenset(token.permissions))


def _not_expired(credential: str, token: Token, user: User, now: datetime) -> None:
    """Raises a 401 for a token of the past; a used one slides, once a minute."""
    if token.expires is not None and token.expires <= now:
        raise unauthenticated("Token has expired.")
    named = _PAT.fullmatch(credential)
    if token.kind == "pat" and (named is None or int(named[1]) <= now.timestamp()):
        raise unauthenticated("Token has expired.")
    if token.kind == "token" and user.token_lifetime is not None:
        if token.created + timedelta(seconds=user.token_lifetime) <= now:
            raise unauthenticated("Token has expired.")
        if now - token.created >= SLIDES_AFTER:
            token.created = now


def works_for(world: World, caller: Caller, customer: str) -> bool:
    """Has the caller a role on the customer or on its service provider?"""
    scopes = {("customer", customer), ("serviceprovider", world.customers[customer].provider)}
    return any((role.scope_type, role.scope) in scopes for role in caller.roles)


def sees_offering(world: World, caller: Caller, offering: Offering) -> bool:
    """Is the offering, and all that hangs on it, visible to the caller as a provider?"""
    if caller.sees_all or works_for(world, caller, offering.customer):
        return True
    return any((role.scope_type, role.scope) == ("offering", offering.uuid) for role in caller.roles)


def may(world: World, caller: Caller, permission: str, offering: Offering) -> bool:
    """Has the caller a permission on an offering? A personal token's scopes come before staff's bypass."""
    if caller.scopes is not None and permission not in caller.scopes:
        return False
    if caller.user.is_staff:
        return True
    held = {
        ("customer", offering.customer),
        ("serviceprovider", world.provider_of(offering)),
        ("offering", offering.uuid),
    }
    return any(
        (role.scope_type, role.scope) in held
        and permission in PERMISSIONS.get((role.name, role.scope_type), frozenset())
        for role in caller.roles
    )


def require(world: World, caller: Caller, permission: str, offering: Offering) -> None:
    """Raises a 403 without the permission."""
    if not may(world, caller, permission, offering):
        raise forbidden()

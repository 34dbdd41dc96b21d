"""What is read only: the caller, offerings, providers, pools, usage rows, people
of a project."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.simulators.waldur import fields, render
from tests.simulators.waldur.answers import Answer, not_found
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.lists import (
    Filter,
    Listing,
    bound,
    choices,
    contains,
    exact,
    paged,
    trimmed,
    uuids,
)
from tests.simulators.waldur.model import (
    OFFERING_STATES,
    POLICIES,
    Customer,
    Offering,
    Pool,
    Role,
    Usage,
    UserUsage,
    UserUsageLimit,
)
from tests.simulators.waldur.offering_users import pool_of


def me(call: Call) -> Answer:
    """Staff have an empty list of roles as a rule; `is_staff` decides."""
    user = call.caller.user
    issued = [each for each in call.world.tokens.values() if each.user == user.uuid and each.kind == "token"]
    ends = None
    if user.token_lifetime is not None and issued:
        ends = datetime.fromtimestamp(issued[0].created.timestamp() + user.token_lifetime, UTC)
    shown = {
        "url": call.url("users", user.uuid),
        "uuid": user.uuid,
        "username": user.username,
        "full_name": user.full_name,
        "email": user.email,
        "is_staff": user.is_staff,
        "is_support": user.is_support,
        "is_active": user.is_active,
        "token_lifetime": user.token_lifetime,
        "token_expires_at": render.iso(ends),
        "identity_source": "",
        "is_identity_manager": False,
        "date_joined": render.iso(user.created),
        "permissions": [render.role_of_me(call, role) for role in call.caller.roles],
    }
    return Answer(200, trimmed(call, shown))


def list_offerings(call: Call) -> Answer:
    listing: Listing[Offering] = Listing(
        filters={
            "name": contains(lambda row: row.name),
            "name_exact": exact(lambda row: row.name),
            "slug": exact(lambda row: row.slug),
            "state": choices(OFFERING_STATES, lambda row: row.state),
            "customer_uuid": uuids(lambda row: row.customer),
            "type": exact(lambda row: row.type),
            "query": contains(lambda row: row.name, lambda row: row.slug),
        },
        orders={"name": lambda row: row.name, "created": lambda row: row.created},
    )
    seen = [row for row in call.world.offerings.values() if call.sees(row)]
    return listing.answer(call, seen, lambda row: render.offering(call, row))


def show_offering(call: Call, uuid: str) -> Answer:
    return Answer(200, trimmed(call, render.offering(call, call.offering(uuid))))


def user_attribute_config(call: Call, uuid: str) -> Answer:
    row = call.offering(uuid)
    return Answer(
        200,
        {
            "uuid": row.uuid,
            "created": render.iso(row.created),
            "modified": render.iso(row.modified),
            "exposed_fields": row.exposed,
            "is_default": True,
            "offering_uuid": row.uuid,
            "offering_name": row.name,
        },
    )


def effective_pool(call: Call, uuid: str) -> Answer:
    found = pool_of(call.world, call.offering(uuid))
    if found is None:
        raise not_found()
    return Answer(200, render.pool(call, found))


def accounts_of_others(call: Call, uuid: str) -> Answer:
    """Service and course accounts of an offering: the simulator has none."""
    call.offering(uuid)
    rows, headers = paged(call, list[Offering]())
    return Answer(200, rows, headers=headers)


def list_providers(call: Call) -> Answer:
    listing: Listing[Customer] = Listing(
        filters={"customer_uuid": uuids(lambda row: row.uuid)}, orders={"customer_name": lambda row: row.name}
    )
    rows = [row for row in call.world.customers.values() if row.provider is not None]
    return listing.answer(
        call,
        rows,
        lambda row: {
            "url": call.url("marketplace-service-providers", row.provider or ""),
            "uuid": row.provider,
            "created": render.iso(row.created),
            "description": "",
            "customer": call.url("customers", row.uuid),
            "customer_uuid": row.uuid,
            "customer_name": row.name,
            "customer_slug": row.slug,
        },
    )


def list_pools(call: Call) -> Answer:
    world = call.world
    owners = {each.provider: each.uuid for each in world.customers.values() if each.provider}
    listing: Listing[Pool] = Listing(
        filters={
            "offering_uuid": uuids(lambda row: row.offering),
            "service_provider_uuid": uuids(lambda row: row.provider),
            "customer_uuid": uuids(lambda row: owners.get(row.provider or "")),
        },
        orders={},
    )
    sold = [row for row in world.offerings.values() if call.sees(row)]
    providers = {world.provider_of(row) for row in sold}
    offerings = {row.uuid for row in sold}
    seen = [
        row
        for row in world.pools.values()
        if (row.offering in offerings if row.offering else row.provider in providers)
    ]
    return listing.answer(call, seen, lambda row: render.pool(call, row))


def list_usages(call: Call) -> Answer:
    world = call.world
    seen = {row.uuid: row for row in call.resources()}
    listing: Listing[Usage] = Listing(
        filters={
            "resource_uuid": uuids(lambda row: row.resource),
            "offering_uuid": uuids(lambda row: seen[row.resource].offering),
            "project_uuid": uuids(lambda row: seen[row.resource].project),
            "customer_uuid": uuids(lambda row: world.projects[seen[row.resource].project].customer),
            "type": exact(lambda row: row.type),
            "billing_period": bound(fields.day, lambda row: row.month, holds=lambda a, b: a == b),
            "date_after": bound(fields.day, lambda row: row.date.date(), holds=lambda a, b: a >= b),
            "date_before": bound(fields.day, lambda row: row.date.date(), holds=lambda a, b: a <= b),
            "missing_usage_policy": choices(POLICIES, lambda row: row.missing_usage_policy),
        },
        orders={"billing_period": lambda row: row.month, "usage": lambda row: row.amount},
    )
    rows = [row for row in world.usages.values() if row.resource in seen]
    return listing.answer(call, rows, lambda row: render.usage(call, row))


def list_user_usages(call: Call) -> Answer:
    world = call.world
    seen = {row.uuid: row for row in call.resources()}
    parents = {row.uuid: row for row in world.usages.values() if row.resource in seen}
    period: Filter[UserUsage] = bound(
        fields.day, lambda row: parents[row.usage].month, holds=lambda a, b: a == b
    )
    listing: Listing[UserUsage] = Listing(
        filters={
            "resource_uuid": uuids(lambda row: parents[row.usage].resource),
            "offering_uuid": uuids(lambda row: seen[parents[row.usage].resource].offering),
            "type": exact(lambda row: parents[row.usage].type),
            "username": exact(lambda row: row.username),
            "component_usage__billing_period": period,
            "component_usage_billing_period": period,
        },
        orders={"username": lambda row: row.username, "usage": lambda row: row.amount},
    )
    rows = [row for row in world.user_usages.values() if row.usage in parents]
    return listing.answer(call, rows, lambda row: render.user_usage(call, row))


def list_user_usage_limits(call: Call) -> Answer:
    seen = {row.uuid for row in call.resources()}
    listing: Listing[UserUsageLimit] = Listing(
        filters={"resource_uuid": uuids(lambda row: row.resource)}, orders={}
    )
    rows = [row for row in call.world.user_usage_limits.values() if row.resource in seen]
    return listing.answer(call, rows, lambda row: render.user_usage_limit(call, row))


def list_people(call: Call, uuid: str) -> Answer:
    """`projects/{uuid}/list_users/`: one row a role."""
    project = call.world.projects.get(uuid)
    sold = {row.project for row in call.resources()}
    insider = project is not None and any(
        (role.scope_type, role.scope) in (("project", project.uuid), ("customer", project.customer))
        for role in call.caller.roles
    )
    if project is None or not (call.caller.sees_all or insider or project.uuid in sold):
        raise not_found()
    listing: Listing[Role] = Listing(filters={}, orders={"created": lambda row: row.created})
    rows = [
        role
        for role in call.world.roles.values()
        if (role.scope_type, role.scope) == ("project", project.uuid)
        and (role.expiration_time is None or role.expiration_time > call.now)
    ]
    return listing.answer(call, rows, lambda row: _person(call, row))


def _person(call: Call, role: Role) -> dict[str, object]:
    user = call.world.users[role.user]
    return {
        "uuid": role.uuid,
        "created": render.iso(role.created),
        "expiration_time": render.iso(role.expiration_time),
        "role_name": role.name,
        "role_uuid": role.uuid,
        "user_email": user.email,
        "user_full_name": user.full_name,
        "user_username": user.username,
        "user_uuid": user.uuid,
    }

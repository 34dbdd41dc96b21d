"""Offering users (waldur.md §5): the list, a row, its site login, its states, its POSIX identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulators.waldur import fields, render
from tests.simulators.waldur.answers import Answer, invalid, invalid_whole, wrong_state
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.lists import (
    Listing,
    boolean,
    bound,
    choices,
    contains,
    exact,
    paged,
    same_letters,
    trimmed,
    uuids,
)
from tests.simulators.waldur.model import (
    OFFERING_USER_STATES,
    RUNTIME_STATES,
    Offering,
    OfferingUser,
    Pool,
    World,
    heap,
)

UNNAMED = frozenset(
    {"Requested", "Creating", "Pending account linking", "Pending additional validation", "Error creating"}
)
PENDING = ("Pending account linking", "Pending additional validation")
CREATING = ("Creating", "Error creating")
TRANSITIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "begin_creating": (("Requested", "Error creating"), "Creating"),
    "set_ok": (("Requested", *CREATING, *PENDING), "OK"),
    "set_pending_account_linking": ((*CREATING, PENDING[1]), PENDING[0]),
    "set_pending_additional_validation": ((*CREATING, PENDING[0]), PENDING[1]),
    "set_validation_complete": (PENDING, "OK"),
    "set_error_creating": (("Requested", "Creating", *PENDING), "Error creating"),
    "request_deletion": (("OK",), "Requested deletion"),
    "set_deleting": (("Requested deletion", "Error deleting"), "Deleting"),
    "set_deleted": (("Deleting",), "Deleted"),
    "set_error_deleting": (("Requested deletion", "Deleting"), "Error deleting"),
}


def listing(call: Call) -> Listing[OfferingUser]:
    users = call.world.users
    return Listing(
        filters={
            "offering_uuid": uuids(lambda row: row.offering),
            "user_uuid": uuids(lambda row: row.user),
            "provider_uuid": uuids(lambda row: call.world.offerings[row.offering].customer),
            "user_username": same_letters(lambda row: users[row.user].username),
            "username": exact(lambda row: row.username),
            "state": choices(OFFERING_USER_STATES, lambda row: row.state),
            "runtime_state": choices(RUNTIME_STATES, lambda row: row.runtime_state),
            "is_restricted": boolean(lambda row: row.is_restricted),
            "has_consent": boolean(lambda row: row.has_consent),
            "query": contains(
                lambda row: row.username or "",
                lambda row: users[row.user].full_name,
                lambda row: users[row.user].username,
            ),
            "created": bound(fields.moment, lambda row: row.created, holds=lambda a, b: a >= b),
            "modified": bound(fields.moment, lambda row: row.modified, holds=lambda a, b: a >= b),
        },
        orders={
            "created": lambda row: row.created,
            "modified": lambda row: row.modified,
            "username": lambda row: row.username or "",
            "user_first_name": lambda row: users[row.user].full_name,
            "user_last_name": lambda row: users[row.user].full_name.partition(" ")[2],
        },
    )


def list_users(call: Call) -> Answer:
    seen = [row for row in call.world.offering_users.values() if call.sees(call.offering_of(row))]
    return listing(call).answer(call, seen, lambda row: render.offering_user(call, row))


def show(call: Call, uuid: str) -> Answer:
    return Answer(200, trimmed(call, render.offering_user(call, call.offering_user(uuid))))


def _updatable(call: Call, uuid: str) -> OfferingUser:
    row = call.offering_user(uuid)
    call.require("OFFERING.UPDATE_USER", call.offering_of(row))
    return row


def patch(call: Call, uuid: str) -> Answer:
    """A new username moves a creating or pending state to OK; the same one changes nothing."""
    row = _updatable(call, uuid)
    body = fields.an_object(call.body)
    if "username" in body:
        offering = call.offering_of(row)
        if offering.plugin_options.get("account_scope") == "provider":
            raise invalid("username", "The username is managed on the service provider account.")
        name = body["username"] and fields.a_string(body, "username", longest=100)
        if name != row.username:
            put_username(row, offering, name)
            call.world.touch(row, call.now)
    return Answer(200, render.offering_user(call, row))


def put_username(row: OfferingUser, offering: Offering, name: str | None) -> None:
    """Names the account; the home directory follows unless somebody set it by hand."""
    row.username = name
    if name and row.state in UNNAMED:
        row.state = "OK"
    if offering.plugin_options.get("enable_posix_account") and not row.home_by_hand:
        prefix = str(offering.plugin_options.get("homedir_prefix", "/home/"))
        row.home_directory = f"{prefix}{name}" if name else None


def create(call: Call) -> Answer:
    """By URLs or by UUIDs, never both; a plugin option opens it."""
    body = fields.an_object(call.body)
    by_url, by_uuid = "offering" in body or "user" in body, "offering_uuid" in body or "user_uuid" in body
    if by_url == by_uuid:
        raise invalid_whole("Either offering and user or offering_uuid and user_uuid are required, not both.")
    read = fields.last_segment if by_url else fields.wanted_uuid
    suffix = "" if by_url else "_uuid"
    offering_id = read(f"offering{suffix}", body.get(f"offering{suffix}"))
    user_id = read(f"user{suffix}", body.get(f"user{suffix}"))
    offering = call.world.offerings.get(offering_id)
    if offering is None or not call.sees(offering):
        raise invalid(f"offering{suffix}", "Object does not exist.")
    if user_id not in call.world.users:
        raise invalid(f"user{suffix}", "Object does not exist.")
    call.require("OFFERING.UPDATE_USER", offering)
    if not offering.plugin_options.get("service_provider_can_create_offering_user"):
        raise invalid_whole("It is not allowed to create users for current offering.")
    rows = call.world.offering_users
    if any((row.offering, row.user) == (offering_id, user_id) for row in rows.values()):
        raise invalid_whole("The fields offering, user must make a unique set.")
    row = add(call.world, offering, user_id, now=call.now)
    if body.get("username"):
        put_username(row, offering, fields.a_string(body, "username", longest=100))
    return Answer(201, render.offering_user(call, row))


def add(world: World, offering: Offering, user: str, *, now: Any) -> OfferingUser:
    """A new offering user, with ids of the pool where the offering makes POSIX accounts."""
    row = OfferingUser(
        uuid=world.fresh_id("offering-user"), created=now, modified=now, offering=offering.uuid, user=user
    )
    pool = pool_of(world, offering)
    if pool is not None and offering.plugin_options.get("enable_posix_account"):
        row.uidnumber, row.primarygroup = pool.min_uid + pool.given_uids, pool.min_gid + pool.given_gids
        row.login_shell = str(offering.plugin_options.get("login_shell", "/bin/bash"))
        pool.given_uids += 1
        pool.given_gids += 1
    world.offering_users[row.uuid] = row
    world.touch(row, now)
    return row


def pool_of(world: World, offering: Offering) -> Pool | None:
    """The pool an offering draws from: its own, or its provider's."""
    pools = heap(world.pools.values())
    own = [pool for pool in pools if pool.offering == offering.uuid]
    shared = [pool for pool in pools if not pool.offering and pool.provider == world.provider_of(offering)]
    return next(iter(own + shared), None)


def delete(call: Call, uuid: str) -> Answer:
    row = _updatable(call, uuid)
    del call.world.offering_users[row.uuid]
    return Answer(204, empty=True)


def move(call: Call, uuid: str, action: str) -> Answer:
    """A state action; from a wrong state 409."""
    row = _updatable(call, uuid)
    sources, target = TRANSITIONS[action]
    if row.state not in sources:
        raise wrong_state(*sources)
    body = {} if call.body is None else fields.an_object(call.body)
    if action.startswith("set_pending"):
        row.comment = str(body.get("comment", "")).replace("<", "&lt;").replace(">", "&gt;")
        row.comment_url = str(body.get("comment_url", ""))
    row.state = target
    call.world.touch(row, call.now)
    return Answer(200, empty=True)


def update_restricted(call: Call, uuid: str) -> Answer:
    row = _updatable(call, uuid)
    row.is_restricted = fields.a_boolean(fields.an_object(call.body), "is_restricted")
    call.world.touch(row, call.now)
    return Answer(200, empty=True)


def set_posix_attributes(call: Call, uuid: str) -> Answer:
    """Some of shell, home, uid and group; ids inside the pool and nobody else's."""
    row = _updatable(call, uuid)
    body = fields.an_object(call.body)
    known = {"login_shell", "home_directory", "uidnumber", "primarygroup"} & set(body)
    if not known:
        raise invalid_whole("At least one POSIX attribute is required.")
    _allowed_id(call, row, body, "uidnumber", ("min_uid", "max_uid"))
    _allowed_id(call, row, body, "primarygroup", ("min_gid", "max_gid"))
    for name in sorted(known):
        setattr(row, name, body[name])
    row.home_by_hand = row.home_by_hand or "home_directory" in body
    call.world.touch(row, call.now)
    ids = {"uidnumber": row.uidnumber, "primarygroup": row.primarygroup}
    return Answer(200, {**ids, "warnings": []})


def _allowed_id(
    call: Call, row: OfferingUser, body: dict[str, Any], name: str, bounds: tuple[str, str]
) -> None:
    if name not in body:
        return
    value, pool = body[name], pool_of(call.world, call.offering_of(row))
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid(name, "A valid integer is required.")
    if pool is None or not getattr(pool, bounds[0]) <= value <= getattr(pool, bounds[1]):
        raise invalid(name, f"{value} is outside the pool.")
    if any(each is not row and getattr(each, name) == value for each in call.world.offering_users.values()):
        raise invalid(name, f"{value} is already taken.")


def posix_groups(call: Call, uuid: str) -> Answer:
    """One group a project of the offering that the user is in."""
    row = call.offering_user(uuid)
    offering, pool = call.offering_of(row), pool_of(call.world, call.offering_of(row))
    projects = sorted(
        {each.project for each in call.world.resources.values() if each.offering == offering.uuid}
    )
    inside = {
        role.scope
        for role in call.world.roles.values()
        if (role.user, role.scope_type) == (row.user, "project")
    }
    shown = []
    for number, uid in enumerate(projects):
        project = call.world.projects[uid]
        if pool is None or uid not in inside:
            continue
        shown.append(
            {
                "kind": "project_group",
                "group_name": project.slug,
                "service_provider_name": call.world.customers[offering.customer].name,
                "gid": pool.min_group_gid + number,
                "offering_name": offering.name,
                "project_name": project.name,
                "project_uuid": project.uuid,
                "customer_name": call.world.customers[project.customer].name,
                "customer_uuid": project.customer,
                "project_accessible": True,
                "pool_uuid": pool.uuid,
                "pool_scope": "offering" if pool.offering else "service_provider",
            }
        )
    return Answer(200, shown)


def posix_identities(call: Call) -> Answer:
    """`posix_identities/?user_uuid=`: what the visible offerings gave one user."""
    user = fields.wanted_uuid("user_uuid", (call.values("user_uuid") or [""])[-1])
    rows = [
        row for row in call.world.offering_users.values() if row.user == user and row.uidnumber is not None
    ]
    seen, headers = paged(call, [row for row in rows if call.sees(call.offering_of(row))])
    return Answer(200, [_identity(call, row) for row in seen], headers=headers)


def posix_allocations(call: Call, uuid: str) -> Answer:
    """The ids the row holds, and which offerings draw from the same pool."""
    row = call.offering_user(uuid)
    pool = pool_of(call.world, call.offering_of(row))
    shown = []
    for namespace, value in (("uid", row.uidnumber), ("gid", row.primarygroup)):
        if pool is not None and value is not None:
            sharing = [each for each in call.world.offerings.values() if pool_of(call.world, each) is pool]
            shown.append(
                {
                    "namespace": namespace,
                    "value": value,
                    "pool_uuid": pool.uuid,
                    "scope": "offering" if pool.offering else "service_provider",
                    "scope_name": pool.description,
                    "shared_with_offerings": [
                        {"uuid": each.uuid, "name": each.name}
                        for each in sharing
                        if each.uuid != row.offering
                    ],
                }
            )
    return Answer(200, shown)


def _identity(call: Call, row: OfferingUser) -> dict[str, Any]:
    offering = call.offering_of(row)
    pool = pool_of(call.world, offering)
    return {
        "url": call.url("marketplace-posix-identities", row.uuid),
        "uuid": row.uuid,
        "created": render.iso(row.created),
        "pool_uuid": pool.uuid if pool else None,
        "offering_uuid": offering.uuid,
        "offering_name": offering.name,
        "user_uuid": row.user,
        "user_username": call.world.users[row.user].username,
        "consumer_type": "offering_user",
        "consumer_name": row.username,
        "uid": row.uidnumber,
        "gid": row.primarygroup,
        "released_at": None,
        "recyclable": True,
    }


ACTIONS: dict[str, Callable[[Call, str], Answer]] = {
    "update_restricted": update_restricted,
    "set_posix_attributes": set_posix_attributes,
}

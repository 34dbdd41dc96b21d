"""Offering users: the list, a row, its site login, its states, its POSIX identity."""

from __future__ import annotations

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


def updatable(call: Call, uuid: str) -> OfferingUser:
    row = call.offering_user(uuid)
    call.require("OFFERING.UPDATE_USER", call.offering_of(row))
    return row


def patch(call: Call, uuid: str) -> Answer:
    """A new username moves a creating or pending state to OK; the same one changes nothing."""
    row = updatable(call, uuid)
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
    row = updatable(call, uuid)
    del call.world.offering_users[row.uuid]
    return Answer(204, empty=True)


def move(call: Call, uuid: str, action: str) -> Answer:
    """A state action; from a wrong state 409."""
    row = updatable(call, uuid)
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
    row = updatable(call, uuid)
    row.is_restricted = fields.a_boolean(fields.an_object(call.body), "is_restricted")
    call.world.touch(row, call.now)
    return Answer(200, empty=True)

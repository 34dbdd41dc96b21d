"""POSIX identities of offering users: shells, homes, ids and groups out of a pool."""

from __future__ import annotations

from typing import Any

from tests.simulators.waldur import fields
from tests.simulators.waldur.answers import Answer, invalid, invalid_whole
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.lists import paged
from tests.simulators.waldur.model import OfferingUser, Pool
from tests.simulators.waldur.offering_users import pool_of, updatable


def set_posix_attributes(call: Call, uuid: str) -> Answer:
    """Some of shell, home, uid and group; ids inside the pool and nobody else's."""
    row = updatable(call, uuid)
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
                "pool_scope": _scope(pool),
            }
        )
    return Answer(200, shown)


def _held(call: Call, row: OfferingUser) -> list[tuple[str, int, Pool, list[dict[str, str]]]]:
    """The ids of an account: namespace, value, pool, and which offerings draw from that pool."""
    pool = pool_of(call.world, call.offering_of(row))
    if pool is None:
        return []
    sharing = [
        {"uuid": each.uuid, "name": each.name}
        for each in call.world.offerings.values()
        if pool_of(call.world, each) is pool
    ]
    ids = (("uid", row.uidnumber), ("gid", row.primarygroup))
    return [(namespace, value, pool, sharing) for namespace, value in ids if value is not None]


def posix_identities(call: Call) -> Answer:
    """`posix_identities/?user_uuid=`: what the visible offerings gave one user, one row a value."""
    user = fields.wanted_uuid("user_uuid", (call.values("user_uuid") or [""])[-1])
    accounts = [row for row in call.world.offering_users.values() if row.user == user]
    shown = [
        {
            "namespace": namespace,
            "value": value,
            "context": None,
            "pool_uuid": pool.uuid,
            "pool_scope": _scope(pool),
            "offerings": sharing,
            "offering_name": sharing[0]["name"],
            "offering_uuid": sharing[0]["uuid"],
        }
        for row in accounts
        if call.sees(call.offering_of(row))
        for namespace, value, pool, sharing in _held(call, row)
    ]
    page, headers = paged(call, shown)
    return Answer(200, page, headers=headers)


def posix_allocations(call: Call, uuid: str) -> Answer:
    """The ids one account holds."""
    row = call.offering_user(uuid)
    shown = [
        {
            "namespace": namespace,
            "value": value,
            "pool_uuid": pool.uuid,
            "scope": _scope(pool),
            "scope_name": pool.description,
            "shared_with_offerings": [each for each in sharing if each["uuid"] != row.offering],
        }
        for namespace, value, pool, sharing in _held(call, row)
    ]
    return Answer(200, shown)


def _scope(pool: Pool) -> str:
    return "offering" if pool.offering else "service_provider"

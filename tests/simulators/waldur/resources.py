"""Provider resources: the list, a row, its team, and what a provider may do to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.simulators.waldur import fields, render
from tests.simulators.waldur.answers import Answer, conflict, invalid, throttled
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.lists import (
    Listing,
    boolean,
    bound,
    choices,
    contains,
    exact,
    trimmed,
    uuids,
)
from tests.simulators.waldur.model import RESOURCE_STATES, Resource

BETWEEN_ROLE_SYNCS = timedelta(seconds=30)
SYNC_STATES = ("synced", "pending", "missing_in_idp", "error")
SCOPES = ("resource", "resource_project")


def listing(call: Call) -> Listing[Resource]:
    """Filters of the provider's list; some look through the row at its offering or project."""
    world = call.world
    return Listing(
        filters={
            "offering_uuid": uuids(lambda row: row.offering),
            "project_uuid": uuids(lambda row: row.project),
            "customer_uuid": uuids(lambda row: world.projects[row.project].customer),
            "provider_uuid": uuids(lambda row: world.offerings[row.offering].customer),
            "state": choices(RESOURCE_STATES, lambda row: row.state),
            "backend_id": exact(lambda row: row.backend_id),
            "name": contains(lambda row: row.name),
            "name_exact": exact(lambda row: row.name),
            "slug": exact(lambda row: row.slug),
            "query": contains(lambda row: row.name, lambda row: row.slug, lambda row: row.backend_id),
            "paused": boolean(lambda row: row.paused),
            "downscaled": boolean(lambda row: row.downscaled),
            "restrict_member_access": boolean(lambda row: row.restrict_member_access),
            "created": bound(fields.moment, lambda row: row.created, holds=lambda a, b: a >= b),
            "created_before": bound(fields.moment, lambda row: row.created, holds=lambda a, b: a <= b),
            "modified": bound(fields.moment, lambda row: row.modified, holds=lambda a, b: a >= b),
            "modified_before": bound(fields.moment, lambda row: row.modified, holds=lambda a, b: a <= b),
        },
        orders={
            "name": lambda row: row.name,
            "created": lambda row: row.created,
            "state": lambda row: RESOURCE_STATES.index(row.state),
            "backend_id": lambda row: row.backend_id,
            "end_date": lambda row: (row.end_date is None, str(row.end_date)),
            "project_name": lambda row: world.projects[row.project].name,
            "offering_name": lambda row: world.offerings[row.offering].name,
        },
    )


def list_resources(call: Call) -> Answer:
    return listing(call).answer(call, call.resources(), lambda row: render.resource(call, row))


def show(call: Call, uuid: str) -> Answer:
    return Answer(200, trimmed(call, render.resource(call, call.resource(uuid))))


def team(call: Call, uuid: str) -> Answer:
    """Every active member of the project, one row a user with the first role; not paginated."""
    resource = call.resource(uuid)
    world, rows, seen = call.world, [], set()
    accounts = {
        each.user: each for each in world.offering_users.values() if each.offering == resource.offering
    }
    consent = [fields.truth("has_consent", value) for value in call.values("has_consent")]
    for role in sorted(world.roles.values(), key=lambda row: row.created):
        ended = role.expiration_time is not None and role.expiration_time <= call.now
        if (role.scope_type, role.scope) != ("project", resource.project) or ended or role.user in seen:
            continue
        seen.add(role.user)
        user, account = world.users[role.user], accounts.get(role.user)
        agreed = account is not None and account.has_consent
        if not user.is_active or (consent and consent[-1] is not agreed):
            continue
        rows.append(
            {
                "url": call.url("users", user.uuid),
                "uuid": user.uuid,
                "username": user.username,
                "full_name": user.full_name,
                "email": user.email,
                "role": role.name,
                "expiration_time": render.iso(role.expiration_time),
                "offering_user_username": account.username if account else None,
                "offering_user_state": account.state if account else None,
            }
        )
    return Answer(200, [trimmed(call, row) for row in rows])


def _said(what: str) -> Answer:
    return Answer(200, {"status": what})


def _limits(body: dict[str, Any]) -> dict[str, float]:
    given = fields.a_dictionary(body, "limits")
    wrong = [
        kind
        for kind, value in given.items()
        if isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or value < 0
    ]
    if wrong:
        raise invalid("limits", f"A valid number is required: {', '.join(sorted(wrong))}.")
    return given


def _set_backend_id(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    row.backend_id = fields.a_string(body, "backend_id")
    return _said("Resource backend_id has been changed.")


def _set_backend_metadata(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    """The whole object is replaced: nothing is merged, nothing is compared."""
    row.backend_metadata = fields.a_dictionary(body, "backend_metadata")
    return _said("Resource backend metadata has been set.")


def _set_limits(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    given = _limits(body)
    unknown = sorted(set(given) - set(call.world.components(row)))
    if unknown:
        raise invalid("limits", f"Components {', '.join(unknown)} are not defined on the offering.")
    row.limits = given
    return _said("Resource limits have been set.")


def _set_effective_id(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    row.effective_id = fields.a_string(body, "effective_id")
    return _said("Resource effective_id has been changed.")


def _set_endpoints(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    for each in fields.a_list(body, "endpoints"):
        fields.a_string(fields.an_object(each), "name")
        fields.a_string(each, "url")
    row.endpoints = body["endpoints"]
    return _said("Endpoints have been set.")


def _set_end_date(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    given = body.get("end_date")
    row.end_date = None if given is None else fields.day("end_date", given)
    return _said("End date has been updated.")


def _submit_report(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    sections = fields.a_list(body, "report")
    if not sections:
        raise invalid("report", "Report object should contain at least one section.")
    for each in sections:
        fields.a_string(fields.an_object(each), "header")
        fields.a_string(each, "body", longest=1 << 20)
    row.report = sections
    return _said("Report is submitted")


def _set_state_ok(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    row.state = "OK"
    return _said("Resource state has been set to OK.")


def _set_as_ok(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    row.state, row.error_message, row.error_traceback = "OK", "", ""
    return Answer(200, empty=True)


def _set_as_erred(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    row.state = "Erred"
    row.error_message = str(body.get("error_message", ""))
    row.error_traceback = str(body.get("error_traceback", ""))
    return Answer(200, empty=True)


def _refresh_last_sync(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    row.last_sync = call.now
    return Answer(200, empty=True)


def _set_membership_sync_statuses(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    """The complete set replaces the last one; who is unknown is skipped and named."""
    if not call.offering_of(row).plugin_options.get("enable_membership_sync_status"):
        raise conflict("Membership sync status is not enabled for this offering.")
    names = {user.username for user in call.world.users.values()}
    stored: list[Any] = []
    skipped: list[Any] = []
    for given in fields.a_list(body, "statuses"):
        status = fields.an_object(given)
        fields.choice("state", str(status.get("state")), SYNC_STATES)
        fields.choice("scope_type", str(status.get("scope_type")), SCOPES)
        who = status.get("username") or fields.hex_of(str(status.get("user_uuid")))
        known = who in names or who in call.world.users
        (stored if known else skipped).append(status if known else who)
    row.statuses = stored
    return Answer(200, {"stored": len(stored), "skipped": skipped})


def _sync_user_roles(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
    if row.roles_synced is not None and call.now - row.roles_synced < BETWEEN_ROLE_SYNCS:
        left = row.roles_synced + BETWEEN_ROLE_SYNCS - call.now
        raise throttled(max(1, math.ceil(left.total_seconds())))
    row.roles_synced = call.now
    return Answer(200, empty=True)


def _flag(name: str) -> Callable[[Call, Resource, dict[str, Any]], Answer]:
    def act(call: Call, row: Resource, body: dict[str, Any]) -> Answer:
        setattr(row, name, fields.a_boolean(body, name))
        return _said(f"Resource {name} has been changed.")

    return act


Act = Callable[[Call, Resource, dict[str, Any]], Answer]
ACTIONS: dict[str, tuple[str | None, Act]] = {
    "set_backend_id": ("RESOURCE.SET_BACKEND_ID", _set_backend_id),
    "set_backend_metadata": ("RESOURCE.SET_BACKEND_METADATA", _set_backend_metadata),
    "set_limits": ("RESOURCE.SET_LIMITS", _set_limits),
    "set_state_ok": ("RESOURCE.SET_STATE", _set_state_ok),
    "set_as_ok": ("RESOURCE.SET_STATE", _set_as_ok),
    "set_as_erred": ("RESOURCE.SET_STATE", _set_as_erred),
    "set_paused": ("RESOURCE.CONSUMPTION_LIMITATION", _flag("paused")),
    "set_downscaled": ("RESOURCE.CONSUMPTION_LIMITATION", _flag("downscaled")),
    "set_restrict_member_access": ("RESOURCE.CONSUMPTION_LIMITATION", _flag("restrict_member_access")),
    "refresh_last_sync": (None, _refresh_last_sync),
    "submit_report": ("RESOURCE.SUBMIT_REPORT", _submit_report),
    "set_membership_sync_statuses": ("OFFERING.UPDATE_USER", _set_membership_sync_statuses),
    "sync_user_roles": ("OFFERING.UPDATE", _sync_user_roles),
    "set_endpoints": ("RESOURCE.SET_STATE", _set_endpoints),
    "set_effective_id": ("RESOURCE.SET_BACKEND_ID", _set_effective_id),
    "set_end_date_by_provider": ("RESOURCE.SET_STATE", _set_end_date),
}


def act(call: Call, uuid: str, action: str) -> Answer:
    """One action: visible (404), allowed (403), well formed (400), and then it is done."""
    row = call.resource(uuid)
    permission, do = ACTIONS[action]
    if permission is not None:
        call.require(permission, call.offering_of(row))
    done = do(call, row, {} if call.body is None else fields.an_object(call.body))
    call.world.touch(row, call.now)
    return done

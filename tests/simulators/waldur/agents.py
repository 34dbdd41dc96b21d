"""What a site agent registers of itself on start: identities, services, processors. Upserts by name."""

from __future__ import annotations

from typing import Any

from tests.simulators.waldur import fields, render
from tests.simulators.waldur.answers import Answer, not_found
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.lists import Listing, exact, uuids
from tests.simulators.waldur.model import Agent

IDENTITIES, SERVICES = "marketplace-site-agent-identities", "marketplace-site-agent-services"


def list_identities(call: Call) -> Answer:
    listing: Listing[Agent] = Listing(
        filters={"name": exact(lambda row: row.name), "offering_uuid": uuids(lambda row: row.parent)},
        orders={},
    )
    rows = [row for row in call.world.agents.values() if row.kind == "identity" and _seen(call, row)]
    return listing.answer(call, rows, lambda row: identity(call, row))


def _seen(call: Call, row: Agent) -> bool:
    return call.sees(call.world.offerings[row.parent])


def create_identity(call: Call) -> Answer:
    body = fields.an_object(call.body)
    offering = call.offering(fields.wanted_uuid("offering", body.get("offering")))
    row, _ = _put(call, "identity", offering.uuid, fields.a_string(body, "name", blank=False), body)
    return Answer(201, identity(call, row))


def update_identity(call: Call, uuid: str) -> Answer:
    row = _found(call, uuid, "identity")
    if not _seen(call, row):
        raise not_found()
    body = fields.an_object(call.body)
    row.name, row.details = fields.a_string(body, "name", blank=False), body
    call.world.touch(row, call.now)
    return Answer(200, identity(call, row))


def register_service(call: Call, uuid: str) -> Answer:
    parent = _found(call, uuid, "identity")
    body = fields.an_object(call.body)
    row, made = _put(call, "service", parent.uuid, fields.a_string(body, "name", blank=False), body)
    shown = service(call, row) | {
        "identity": parent.uuid,
        "identity_name": parent.name,
        "processors": [processor(call, each) for each in _children(call, row)],
    }
    return Answer(201 if made else 200, shown)


def register_processor(call: Call, uuid: str) -> Answer:
    parent = _found(call, uuid, "service")
    body = fields.an_object(call.body)
    fields.a_string(body, "backend_type")
    row, made = _put(call, "processor", parent.uuid, fields.a_string(body, "name", blank=False), body)
    shown = processor(call, row) | {"service": parent.uuid, "service_name": parent.name}
    return Answer(201 if made else 200, shown)


def _found(call: Call, uuid: str, kind: str) -> Agent:
    found = call.world.agents.get(uuid)
    if found is None or found.kind != kind:
        raise not_found()
    return found


def _put(call: Call, kind: str, parent: str, name: str, details: dict[str, Any]) -> tuple[Agent, bool]:
    world = call.world
    for row in world.agents.values():
        if (row.kind, row.parent, row.name) == (kind, parent, name):
            row.details = details
            world.touch(row, call.now)
            return row, False
    made = Agent(
        uuid=world.fresh_id(kind), created=call.now, modified=call.now, kind=kind, name=name, parent=parent,
        details=details,
    )  # fmt: skip
    world.agents[made.uuid] = made
    world.touch(made, call.now)
    return made, True


def _children(call: Call, row: Agent) -> list[Agent]:
    return [each for each in call.world.agents.values() if each.parent == row.uuid]


def _common(call: Call, row: Agent, collection: str) -> dict[str, Any]:
    return {
        "uuid": row.uuid,
        "url": call.url(collection, row.uuid),
        "name": row.name,
        "created": render.iso(row.created),
        "modified": render.iso(row.modified),
    }


def identity(call: Call, row: Agent) -> dict[str, Any]:
    kept = ("version", "dependencies", "config_file_path", "config_file_content", "last_restarted")
    return _common(call, row, IDENTITIES) | {
        "offering": row.parent,
        "created_by": call.caller.user.uuid,
        "services": [service(call, each) for each in _children(call, row)],
        "compatibility": {"status": "compatible", "message": ""},
        **{name: row.details[name] for name in kept if name in row.details},
    }


def service(call: Call, row: Agent) -> dict[str, Any]:
    return _common(call, row, SERVICES) | {
        "state": "Active",
        "mode": row.details.get("mode"),
    }


def processor(call: Call, row: Agent) -> dict[str, Any]:
    return _common(call, row, "marketplace-site-agent-processors") | {
        "backend_type": row.details.get("backend_type", ""),
        "backend_version": row.details.get("backend_version"),
        "last_run": render.iso(row.modified),
    }

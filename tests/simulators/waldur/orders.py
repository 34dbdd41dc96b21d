"""Orders: reading, and the provider's moves with what they do to the resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulators.waldur import fields, render
from tests.simulators.waldur.access import may
from tests.simulators.waldur.answers import Answer, Refusal, forbidden, wrong_state
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.lists import Listing, bound, choices, contains, trimmed, uuids
from tests.simulators.waldur.model import ORDER_STATES, ORDER_TYPES, Order, Resource

SITE_AGENT_TYPES = ("Marketplace.Slurm", "Marketplace.Basic")
PENDING = ("pending-consumer", "pending-provider", "pending-project", "pending-start-date")
TERMINAL = ("done", "erred", "canceled", "rejected")
WORKING = {"Create": "Creating", "Update": "Updating", "Terminate": "Terminating", "Restore": "Creating"}


def listing(call: Call) -> Listing[Order]:
    resources = call.world.resources
    return Listing(
        filters={
            "offering_uuid": uuids(lambda row: resources[row.resource].offering),
            "project_uuid": uuids(lambda row: resources[row.resource].project),
            "resource_uuid": uuids(lambda row: row.resource),
            "state": choices(ORDER_STATES, lambda row: row.state),
            "type": choices(ORDER_TYPES, lambda row: row.type),
            "query": contains(lambda row: resources[row.resource].name),
            "created": bound(fields.moment, lambda row: row.created, holds=lambda a, b: a >= b),
            "modified": bound(fields.moment, lambda row: row.modified, holds=lambda a, b: a >= b),
        },
        orders={
            "created": lambda row: row.created,
            "state": lambda row: ORDER_STATES.index(row.state),
            "type": lambda row: row.type,
        },
    )


def list_orders(call: Call) -> Answer:
    """Orders of resources one is the consumer of, and of offerings one may list orders of."""
    seen = [row for row in call.world.orders.values() if _listed(call, row)]
    return listing(call).answer(call, seen, lambda row: render.order(call, row))


def _listed(call: Call, row: Order) -> bool:
    resource = call.world.resources[row.resource]
    listed = may(call.world, call.caller, "ORDER.LIST", call.offering_of(resource))
    return call.caller.sees_all or listed or call.consumes(resource)


def show(call: Call, uuid: str) -> Answer:
    return Answer(200, trimmed(call, render.order(call, call.order(uuid))))


Act = Callable[[Call, Order, Resource, dict[str, Any]], Answer]


def _approve(call: Call, row: Order, resource: Resource, body: dict[str, Any]) -> Answer:
    row.state, resource.state = "executing", WORKING[row.type]
    return Answer(200, {"detail": "Order has been approved."})


def _reject(call: Call, row: Order, resource: Resource, body: dict[str, Any]) -> Answer:
    row.state = "rejected"
    row.provider_rejection_comment = str(body.get("provider_rejection_comment", ""))
    return Answer(200, empty=True)


def _executing(call: Call, row: Order, resource: Resource, body: dict[str, Any]) -> Answer:
    row.state, resource.state = "executing", WORKING[row.type]
    return Answer(200, empty=True)


def _done(call: Call, row: Order, resource: Resource, body: dict[str, Any]) -> Answer:
    """Create and Restore end in OK, Update applies its limits and options, Terminate ends the resource."""
    row.state, row.completed_at = "done", call.now
    resource.state = "Terminated" if row.type == "Terminate" else "OK"
    if row.type == "Update":
        if "old_limits" in row.attributes:
            resource.limits = dict(row.limits)
        resource.options = resource.options | dict(row.attributes.get("new_options", {}))
    return Answer(200, empty=True)


def _erred(call: Call, row: Order, resource: Resource, body: dict[str, Any]) -> Answer:
    """From any state, a done one too: the server has no guard."""
    row.state = "erred"
    row.error_message = str(body.get("error_message", ""))
    row.error_traceback = str(body.get("error_traceback", ""))
    resource.state = "OK" if row.type == "Terminate" else "Erred"
    return Answer(200, empty=True)


def _backend_id(call: Call, row: Order, resource: Resource, body: dict[str, Any]) -> Answer:
    row.backend_id = fields.a_string(body, "backend_id")
    return Answer(200, {"status": "Order backend_id has been changed."})


def _cancel(call: Call, row: Order, resource: Resource, body: dict[str, Any]) -> Answer:
    row.state = "canceled"
    return Answer(202, empty=True)


ACTIONS: dict[str, tuple[str, tuple[str, ...], Act]] = {
    "approve_by_provider": ("ORDER.APPROVE", ("pending-provider",), _approve),
    "reject_by_provider": ("ORDER.REJECT", ("pending-provider",), _reject),
    "set_state_executing": ("ORDER.APPROVE", (*PENDING, "erred"), _executing),
    "set_state_done": ("ORDER.APPROVE", ("executing",), _done),
    "set_state_erred": ("ORDER.APPROVE", ORDER_STATES, _erred),
    "set_backend_id": ("ORDER.APPROVE", ORDER_STATES, _backend_id),
    "cancel": ("ORDER.APPROVE", tuple(each for each in ORDER_STATES if each not in TERMINAL), _cancel),
}


def act(call: Call, uuid: str, action: str) -> Answer:
    """One move: visible (404), of a kind that has it (405), the provider's (403), in its state (409)."""
    row = call.order(uuid)
    resource = call.world.resources[row.resource]
    offering = call.offering_of(resource)
    if offering.type not in SITE_AGENT_TYPES:
        raise Refusal(405, {"detail": f'Method "{call.method}" not allowed.'})
    if not call.sees(offering):
        raise forbidden()
    permission, states, do = ACTIONS[action]
    call.require(permission, offering)
    if row.state not in states:
        raise wrong_state(*states)
    done = do(call, row, resource, {} if call.body is None else fields.an_object(call.body))
    call.world.touch(row, call.now)
    call.world.touch(resource, call.now)
    return done

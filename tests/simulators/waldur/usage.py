"""Reported usage: its ten rules in order, upserts by month, what resources show of it.

1. A resource or a plan period is named. 2. The resource lives: OK, Updating or Terminating. 3. Components are
of the offering and usage, limit or one-time billed. 4. No date in the future, whoever asks. 5. A date needs
staff or a role on the provider (an offering's manager gets 400). 6. A past month takes limit-billed and
prepaid components alone, but for staff. 7. RESOURCE.SET_USAGE. 8. The month's amount is replaced; only listed
types change; duplicates become one row. 9. A limit is no barrier. 10. Nor is a month already invoiced.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tests.simulators.waldur import fields
from tests.simulators.waldur.access import works_for
from tests.simulators.waldur.answers import Answer, Refusal, invalid, invalid_whole
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.model import POLICIES, Component, Offering, Resource, Usage, UserUsage, World

REPORTED = ("usage", "limit", "one")
LIVE = ("OK", "Updating", "Terminating")


def month_of(moment: datetime) -> date:
    """The UTC month of a time, as its first day."""
    return moment.astimezone(UTC).date().replace(day=1)


def set_usage(call: Call) -> Answer:
    """`POST marketplace-component-usages/set_usage/`: 201 without a body."""
    body = fields.an_object(call.body)
    items = _items(body)
    resource = _reported_resource(call, body)
    offering = call.offering_of(resource)
    _in_live_state(resource)
    components = _named_components(call.world, resource, [item["type"] for item in items])
    moment = _dated(call, body.get("date"), offering, components)
    call.require("RESOURCE.SET_USAGE", offering)  # rule 7
    for item in items:
        amount = fields.amount(item["amount"])
        row = put_usage(call.world, resource, item["type"], moment=moment, amount=amount, now=call.now)
        row.description = item.get("description", row.description)
        row.missing_usage_policy = item.get("missing_usage_policy", "none")
    return Answer(201, empty=True)


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The listed usages. Raises a 400 nested as the list is."""
    items = fields.a_list(body, "usages")
    errors: list[dict[str, list[str]]] = []
    for item in items:
        if not isinstance(item, dict):
            errors.append({"non_field_errors": ["Invalid data. Expected a dictionary."]})
            continue
        wrong = {name: [fields.REQUIRED] for name in ("type", "amount") if name not in item}
        if "amount" in item and (found := fields.amount_errors(item["amount"])):
            wrong["amount"] = found
        if item.get("missing_usage_policy", "none") not in POLICIES:
            wrong["missing_usage_policy"] = [f'"{item["missing_usage_policy"]}" is not a valid choice.']
        errors.append(wrong)
    if any(errors):
        raise Refusal(400, {"usages": errors})
    return items


def _reported_resource(call: Call, body: dict[str, Any]) -> Resource:
    """Rule 1, and the resource named by itself or by its plan period."""
    if body.get("resource") is not None:
        found = call.world.resources.get(fields.hex_of(str(body["resource"])) or "")
        name = "resource"
    elif body.get("plan_period") is not None:
        period = fields.hex_of(str(body["plan_period"]))
        found = next((row for row in call.world.resources.values() if row.plan_period == period), None)
        name = "plan_period"
    else:
        raise invalid_whole("Either resource or plan_period is required.")
    if found is None:
        raise invalid(name, f"Object with uuid={body[name]} does not exist.")
    return found


def _in_live_state(resource: Resource) -> None:
    """Rule 2."""
    if resource.state not in LIVE:
        raise invalid("resource", "Resource is not in valid state.")


def _named_components(world: World, resource: Resource, types: Iterable[str]) -> list[Component]:
    """Rule 3."""
    known = world.components(resource)
    unknown = sorted({kind for kind in types if kind not in known})
    if unknown:
        raise invalid_whole(f"Components {', '.join(unknown)} are not defined on the offering.")
    fixed = sorted({kind for kind in types if known[kind].billing_type not in REPORTED})
    if fixed:
        raise invalid_whole(f"Components {', '.join(fixed)} are not usage, limit or one-time billed.")
    return [known[kind] for kind in types]


def _dated(call: Call, given: object, offering: Offering, components: list[Component]) -> datetime:
    """Rules 4 to 6; the time the usage counts for."""
    if given is None:
        return call.now
    moment = fields.moment("date", given)
    if moment > call.now:
        raise invalid("date", "Cannot submit usage for future dates.")
    if call.caller.user.is_staff:
        return moment
    if not works_for(call.world, call.caller, offering.customer):
        raise invalid("date", "Only staff users and service providers can specify date for backfilling.")
    past = month_of(moment) < month_of(call.now)
    if past and any(each.billing_type == "usage" and not each.is_prepaid for each in components):
        raise invalid_whole(
            "Service providers can only specify date for limit-based or prepaid billing components when "
            "backfilling past billing periods."
        )
    return moment


def put_usage(
    world: World, resource: Resource, kind: str, *, moment: datetime, amount: Decimal, now: datetime
) -> Usage:
    """Rules 8 and 9: the month's value is replaced, duplicates become one row, a limit is no barrier."""
    month = month_of(moment)
    rows = [row for row in usages_of(world, resource) if (row.type, row.month) == (kind, month)]
    for surplus in rows[1:]:
        for share in [each for each in world.user_usages.values() if each.usage == surplus.uuid]:
            share.usage = rows[0].uuid
        del world.usages[surplus.uuid]
    planned = month >= month_of(resource.created)
    row = rows[0] if rows else Usage(
        uuid=world.fresh_id("usage"), created=now, modified=now, resource=resource.uuid, type=kind,
        month=month, date=moment, amount=amount, plan_period=resource.plan_period if planned else None,
    )  # fmt: skip
    row.amount, row.date = amount, moment
    world.usages[row.uuid] = row
    world.touch(row, now)
    latest = max((each for each in usages_of(world, resource) if each.type == kind), key=lambda u: u.month)
    resource.current_usages[kind] = float(latest.amount)
    _act_on_limit(world, resource, now)
    return row


def _act_on_limit(world: World, resource: Resource, now: datetime) -> None:
    """Rule 9: usage over a limit is taken; `action_on_usage_limit` may pause or downscale, and lift that."""
    action = world.offerings[resource.offering].plugin_options.get("action_on_usage_limit")
    flags = {"pause": "paused", "downscale": "downscaled"}
    if action not in flags:
        return
    used = limit_usage(world, resource, now)
    reached = any(amount >= resource.limits.get(kind, float("inf")) for kind, amount in used.items())
    flag = flags[action]
    if reached and not getattr(resource, flag):
        setattr(resource, flag, True)
        resource.usage_limit_restriction = flag
    elif not reached and resource.usage_limit_restriction == flag:
        setattr(resource, flag, False)
        resource.usage_limit_restriction = ""


def usages_of(world: World, resource: Resource) -> list[Usage]:
    return [row for row in world.usages.values() if row.resource == resource.uuid]


def limit_usage(world: World, resource: Resource, now: datetime) -> dict[str, float]:
    """Per limit-billed component, the sum of the rows of its current period."""
    known = world.components(resource)
    sums: dict[str, float] = {}
    for row in usages_of(world, resource):
        component = known.get(row.type)
        if component is None or component.billing_type != "limit":
            continue
        if _period(component, row.month) == _period(component, month_of(now)):
            sums[row.type] = float(Decimal(str(sums.get(row.type, 0))) + row.amount)
    return sums


def _period(component: Component, month: date) -> tuple[int, int]:
    """Which period of a component's limit a month lies in; all months lie in one total."""
    if component.limit_period == "total":
        return (0, 0)
    if component.limit_period == "annual":
        return (month.year, 0)
    if component.limit_period == "quarterly":
        return (month.year, (month.month - 1) // 3)
    return (month.year, month.month)


def set_user_usage(call: Call, uuid: str) -> Answer:
    """`POST {usage}/set_user_usage/`."""
    parent = _writable(call, uuid)
    item = fields.an_object(call.body)
    wrong = _item_errors(item)
    if wrong:
        raise Refusal(400, wrong)
    _put_user_usages(call, parent, [item])
    return Answer(201, empty=True)


def set_user_usages(call: Call, uuid: str) -> Answer:
    """`POST {usage}/set_user_usages/`: all or none."""
    parent = _writable(call, uuid)
    items = fields.a_list(fields.an_object(call.body), "usages")
    if not items:
        raise invalid("usages", "This list may not be empty.")
    errors = [_item_errors(fields.an_object(item)) for item in items]
    if any(errors):
        raise Refusal(400, {"usages": errors})
    _put_user_usages(call, parent, items)
    return Answer(201, empty=True)


def _writable(call: Call, uuid: str) -> Usage:
    parent = call.usage(uuid)
    call.require("RESOURCE.SET_USAGE", call.offering_of(call.world.resources[parent.resource]))
    return parent


def _item_errors(item: dict[str, Any]) -> dict[str, list[str]]:
    wrong: dict[str, list[str]] = {}
    if not isinstance(item.get("username"), str):
        wrong["username"] = [fields.REQUIRED]
    if found := fields.amount_errors(item.get("usage", 0)):
        wrong["usage"] = found
    return wrong


def _put_user_usages(call: Call, parent: Usage, items: list[dict[str, Any]]) -> None:
    """Everything is checked before the first row is written."""
    resource = call.world.resources[parent.resource]
    component = call.world.components(resource)[parent.type]
    planned = []
    for item in items:
        moment = _dated(call, item.get("date"), call.offering_of(resource), [component])
        amount = fields.amount(item.get("usage", 0))
        _within_limit(call.world, parent, item["username"], amount)
        holder = fields.last_segment("user", item["user"]) if item.get("user") else None
        if holder is not None and holder not in call.world.offering_users:
            raise invalid("user", "Invalid hyperlink - Object does not exist.")
        planned.append((item["username"], amount, moment, holder))
    for username, amount, moment, holder in planned:
        home = parent if month_of(moment) == parent.month else _month_row(call, resource, parent, moment)
        _put_share(call, home, username, amount=amount, moment=moment, holder=holder)


def _within_limit(world: World, parent: Usage, username: str, amount: Decimal) -> None:
    for limit in world.user_usage_limits.values():
        same = (limit.resource, limit.type, limit.username) == (parent.resource, parent.type, username)
        if same and amount > limit.limit:
            raise invalid_whole("Usage limit exceeded")


def _month_row(call: Call, resource: Resource, parent: Usage, moment: datetime) -> Usage:
    """The row of another month, created if absent."""
    for row in usages_of(call.world, resource):
        if (row.type, row.month) == (parent.type, month_of(moment)):
            return row
    return put_usage(call.world, resource, parent.type, moment=moment, amount=Decimal(0), now=call.now)


def _put_share(
    call: Call, home: Usage, username: str, *, amount: Decimal, moment: datetime, holder: str | None
) -> None:
    rows = call.world.user_usages
    row = next((each for each in rows.values() if (each.usage, each.username) == (home.uuid, username)), None)
    if row is None:
        row = UserUsage(
            uuid=call.world.fresh_id("user-usage"), created=call.now, modified=call.now, usage=home.uuid,
            username=username, amount=amount, date=moment,
        )  # fmt: skip
        rows[row.uuid] = row
    row.amount, row.date = amount, moment
    row.offering_user = holder or row.offering_user
    call.world.touch(row, call.now)

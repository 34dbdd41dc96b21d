"""From a request to an answer: addresses, methods, authentication, then the rules. No I/O.

The order is Django REST framework's: an unknown address (404, HTML), the credential (401), the method (405),
the media type (415) and JSON (400) of a body, and then the rules of the resource.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.simulators.waldur import agents, catalogue, offering_users, orders, posix, resources, usage
from tests.simulators.waldur.access import authenticate
from tests.simulators.waldur.answers import Answer, Refusal
from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.fields import hex_of
from tests.simulators.waldur.model import World

Handler = Callable[..., Answer]
PREFIX = "/api/"
MISSING = Answer(404, "<!doctype html><title>Not Found</title><h1>Not Found</h1>", html=True)
_R, _U = "marketplace-provider-resources", "marketplace-offering-users"
_C, _O = "marketplace-component-usages", "marketplace-orders"
_F, _I = "marketplace-provider-offerings", agents.IDENTITIES


def _listed(handler: Handler) -> dict[str, Handler]:
    return {"GET": handler, "HEAD": handler}


ROUTES: dict[str, dict[str, Handler]] = {
    "users/me/": _listed(catalogue.me),
    f"{_R}/": _listed(resources.list_resources),
    f"{_R}/<uuid>/": {"GET": resources.show},
    f"{_R}/<uuid>/team/": {"GET": resources.team},
    f"{_U}/": _listed(offering_users.list_users) | {"POST": offering_users.create},
    f"{_U}/posix_identities/": _listed(posix.posix_identities),
    f"{_U}/<uuid>/": {
        "GET": offering_users.show,
        "PATCH": offering_users.patch,
        "DELETE": offering_users.delete,
    },
    f"{_U}/<uuid>/posix_groups/": {"GET": posix.posix_groups},
    f"{_U}/<uuid>/posix_allocations/": {"GET": posix.posix_allocations},
    f"{_F}/": _listed(catalogue.list_offerings),
    f"{_F}/<uuid>/": {"GET": catalogue.show_offering},
    f"{_F}/<uuid>/user-attribute-config/": {"GET": catalogue.user_attribute_config},
    f"{_F}/<uuid>/effective_posix_id_pool/": {"GET": catalogue.effective_pool},
    f"{_F}/<uuid>/list_project_service_accounts/": _listed(catalogue.accounts_of_others),
    f"{_F}/<uuid>/list_course_accounts/": _listed(catalogue.accounts_of_others),
    "marketplace-service-providers/": _listed(catalogue.list_providers),
    "marketplace-posix-id-pools/": _listed(catalogue.list_pools),
    f"{_C}/": _listed(catalogue.list_usages),
    f"{_C}/set_usage/": {"POST": usage.set_usage},
    f"{_C}/<uuid>/set_user_usage/": {"POST": usage.set_user_usage},
    f"{_C}/<uuid>/set_user_usages/": {"POST": usage.set_user_usages},
    "marketplace-component-user-usages/": _listed(catalogue.list_user_usages),
    "component-user-usage-limits/": _listed(catalogue.list_user_usage_limits),
    f"{_O}/": _listed(orders.list_orders),
    f"{_O}/<uuid>/": {"GET": orders.show},
    "projects/<uuid>/list_users/": _listed(catalogue.list_people),
    f"{_I}/": _listed(agents.list_identities) | {"POST": agents.create_identity},
    f"{_I}/<uuid>/": {"PUT": agents.update_identity},
    f"{_I}/<uuid>/register_service/": {"POST": agents.register_service},
    f"{agents.SERVICES}/<uuid>/register_processor/": {"POST": agents.register_processor},
}


def _acting(do: Callable[[Call, str, str], Answer], action: str) -> dict[str, Handler]:
    return {"POST": lambda call, uuid: do(call, uuid, action)}


ROUTES |= {f"{_R}/<uuid>/{name}/": _acting(resources.act, name) for name in resources.ACTIONS}
ROUTES |= {f"{_U}/<uuid>/{name}/": _acting(offering_users.move, name) for name in offering_users.TRANSITIONS}
ROUTES |= {
    f"{_U}/<uuid>/update_restricted/": {"POST": offering_users.update_restricted},
    f"{_U}/<uuid>/set_posix_attributes/": {"POST": posix.set_posix_attributes},
}
ROUTES |= {f"{_O}/<uuid>/{name}/": _acting(orders.act, name) for name in orders.ACTIONS}
_UUID = r"([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
_PATTERNS = {
    route: re.compile("".join(_UUID if part == "<uuid>" else re.escape(part) for part in parts))
    for route in ROUTES
    if len(parts := re.split("(<uuid>)", route)) > 1
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came: `target` is path and query, `base` the origin absolute URLs carry."""

    method: str
    target: str
    authorization: str | None
    media_type: str
    raw: bytes
    base: str


def answer(world: World, request: Request, now: datetime) -> Answer:
    """The answer of the rules. A refusal changed nothing."""
    try:
        return _answer(world, request, now)
    except Refusal as refusal:
        return refusal.answer


def _answer(world: World, request: Request, now: datetime) -> Answer:
    path, _, text = request.target.partition("?")
    path = unquote(path)
    if path == f"{PREFIX}version/" and not world.version_restricted:
        return _version(world) if request.method == "GET" else _no_method(request.method)
    if not path.startswith(PREFIX) or (found := _route(path)) is None:
        return _astray(path, text)
    handlers, arguments = found
    caller = authenticate(world, request.authorization, now)
    if path == f"{PREFIX}version/":
        return _version(world) if caller.sees_all else Answer(403, {"detail": "Forbidden."})
    if request.method not in handlers:
        return _no_method(request.method)
    query = tuple(parse_qsl(text, keep_blank_values=True))
    call = Call(world, caller, now, request.method, path, query, _body(request), request.base)
    return handlers[request.method](call, *arguments)


def _route(path: str) -> tuple[dict[str, Handler], list[str]] | None:
    rest = path.removeprefix(PREFIX)
    if rest == "version/":
        return {}, []
    if rest in ROUTES:
        return ROUTES[rest], []
    for route, pattern in _PATTERNS.items():
        matched = pattern.fullmatch(rest)
        if matched is not None:
            return ROUTES[route], [hex_of(group) or "" for group in matched.groups()]
    return None


def _astray(path: str, query: str) -> Answer:
    """An address without its last slash is sent on, for a POST without its body; others are a page."""
    if path.startswith(PREFIX) and not path.endswith("/") and _route(f"{path}/") is not None:
        return Answer(301, empty=True, headers={"Location": f"{path}/" + (f"?{query}" if query else "")})
    return MISSING


def _version(world: World) -> Answer:
    return Answer(200, {"version": world.version})


def _no_method(method: str) -> Answer:
    return Answer(405, {"detail": f'Method "{method}" not allowed.'})


def _body(request: Request) -> Any:
    if not request.raw:
        return None
    kind = request.media_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, {"detail": f'Unsupported media type "{request.media_type}" in request.'})
    try:
        return json.loads(request.raw.decode("utf-8"))
    except ValueError as error:
        raise Refusal(400, {"detail": f"JSON parse error - {error}"}) from error

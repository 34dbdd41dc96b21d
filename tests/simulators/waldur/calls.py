"""One authenticated call as the rules see it, and the rows it may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.simulators.waldur.access import Caller, require, sees_offering
from tests.simulators.waldur.answers import not_found
from tests.simulators.waldur.model import Offering, OfferingUser, Order, Resource, Usage, World

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """`base` is the origin that absolute URLs carry; `body` is parsed JSON, None where none was sent."""

    world: World
    caller: Caller
    now: datetime
    method: str
    path: str
    query: Query
    body: Any
    base: str

    def values(self, name: str) -> list[str]:
        """Every value a query name came with; filters repeat their key."""
        return [value for key, value in self.query if key == name]

    def url(self, collection: str, uuid: str) -> str:
        return f"{self.base}/api/{collection}/{uuid}/"

    def offering_of(self, row: Resource | OfferingUser) -> Offering:
        return self.world.offerings[row.offering]

    def sees(self, offering: Offering) -> bool:
        return sees_offering(self.world, self.caller, offering)

    def require(self, permission: str, offering: Offering) -> None:
        require(self.world, self.caller, permission, offering)

    def offering(self, uuid: str) -> Offering:
        """A visible offering. Raises a 404."""
        found = self.world.offerings.get(uuid)
        if found is None or not self.sees(found):
            raise not_found()
        return found

    def resource(self, uuid: str) -> Resource:
        """A visible resource; a consumer's own is not one of the provider's."""
        found = self.world.resources.get(uuid)
        if found is None or not self.sees(self.offering_of(found)):
            raise not_found()
        return found

    def offering_user(self, uuid: str) -> OfferingUser:
        found = self.world.offering_users.get(uuid)
        if found is None or not self.sees(self.offering_of(found)):
            raise not_found()
        return found

    def usage(self, uuid: str) -> Usage:
        found = self.world.usages.get(uuid)
        if found is None or not self.sees(self.offering_of(self.world.resources[found.resource])):
            raise not_found()
        return found

    def order(self, uuid: str) -> Order:
        """A visible order: of a visible resource, or of a project the caller is in."""
        found = self.world.orders.get(uuid)
        if found is None or not self.sees_order(found):
            raise not_found()
        return found

    def sees_order(self, order: Order) -> bool:
        resource = self.world.resources[order.resource]
        return self.sees(self.offering_of(resource)) or self.consumes(resource)

    def consumes(self, resource: Resource) -> bool:
        """Is the caller on the consumer's side of a resource?"""
        project = self.world.projects[resource.project]
        scopes = {("project", project.uuid), ("customer", project.customer)}
        return any((role.scope_type, role.scope) in scopes for role in self.caller.roles)

    def resources(self) -> Iterable[Resource]:
        seen = {row.uuid for row in self.world.offerings.values() if self.sees(row)}
        return (row for row in self.world.resources.values() if row.offering in seen)

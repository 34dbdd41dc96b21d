"""What a test does to the world behind the API's back: organisations, people, resources, changes.

Each public method of `Stage` is an act of the control channel; arguments and results are JSON. A wrong
argument is a `ValueError` that says what was wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import msgspec

from tests.simulators.waldur import offering_users, usage
from tests.simulators.waldur.model import (
    Component,
    Customer,
    Offering,
    Order,
    Pool,
    Project,
    Resource,
    Role,
    Row,
    Token,
    User,
    UserUsageLimit,
    World,
)

NODE = {
    "type": "node", "name": "Node-hours", "measured_unit": "node-hours", "billing_type": "limit",
    "limit_period": "total",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stage:
    """Acts on one world at one moment. Every method returns the UUID of what it made, unless it says more."""

    world: World
    now: datetime

    def _keep(self, table: str, row: Row) -> str:
        getattr(self.world, table)[row.uuid] = row
        self.world.touch(row, self.now)
        return row.uuid

    def _base(self, kind: str) -> dict[str, Any]:
        return {"uuid": self.world.fresh_id(kind), "created": self.now, "modified": self.now}

    def _row(self, table: str, uuid: str) -> Any:
        rows = getattr(self.world, table, None) if table in World.TABLES else None
        if rows is None:
            raise ValueError(f"no table {table!r}; there are {', '.join(World.TABLES)}")
        if uuid not in rows:
            raise ValueError(f"no row {uuid} in {table}")
        return rows[uuid]

    def stand(self, **plugin_options: Any) -> dict[str, str]:
        """A node-hour offering with its provider, pool, customer and one token a role.

        The UUIDs and tokens by name: `owner`, `manager`, `offering_manager`, `staff`, `consumer`.
        """
        provider = self.add_customer("Icarus Computing", provider=True)
        customer = self.add_customer("University")
        offering = self.add_offering(provider, "Icarus HPC", components=[NODE], plugin_options=plugin_options)
        self.add_pool(offering=offering, uid=(5_000_000, 5_499_999), gid=(5_500_000, 5_599_999))
        scopes = {
            "owner": ("CUSTOMER.OWNER", "customer", provider),
            "manager": ("CUSTOMER.MANAGER", "serviceprovider", self.world.customers[provider].provider),
            "offering_manager": ("OFFERING.MANAGER", "offering", offering),
            "consumer": ("CUSTOMER.OWNER", "customer", customer),
        }
        made = {"provider": provider, "customer": customer, "offering": offering}
        for name, (role, scope_type, scope) in scopes.items():
            user = self.add_user(f"{name.replace('_', '-')}@example.org")
            self.add_role(user, role, scope_type, scope or "")
            made[name] = self.issue_token(user)
        made["staff"] = self.issue_token(self.add_user("staff@example.org", is_staff=True))
        return made

    def add_customer(self, name: str, provider: bool = False) -> str:
        given = self.world.fresh_id("provider") if provider else None
        slug = name.lower().replace(" ", "-")
        return self._keep(
            "customers", Customer(**self._base("customer"), name=name, slug=slug, provider=given)
        )

    def add_user(self, username: str, **given: Any) -> str:
        """`given`: full_name, email, is_staff, is_support, is_active, token_lifetime."""
        first = username.partition("@")[0]
        known = {"full_name": f"{first.title()} Example", "email": f"{first}@example.org"} | given
        return self._keep("users", User(**self._base("user"), username=username, **known))

    def issue_token(
        self, user: str, kind: str = "token", permissions: list[str] | None = None, lasts: int | None = None
    ) -> str:
        """A token of 40 hex digits; `pat` is `w_<expiry>_<random>`; `jwt` opaque. `lasts` in seconds."""
        self._row("users", user)
        secret = sha256(self.world.fresh_id("token").encode()).hexdigest()[:40]
        expires = None if lasts is None else self.now + timedelta(seconds=lasts)
        if kind == "pat":
            end = int((expires or self.now + timedelta(days=30)).timestamp())
            secret = f"w_{end}_{secret}"
        self.world.tokens[secret] = Token(
            user=user, kind=kind, created=self.now, expires=expires, permissions=permissions
        )
        return secret

    def expire_token(self, token: str) -> None:
        """It has expired from now on."""
        if token not in self.world.tokens:
            raise ValueError("no such token")
        self.world.tokens[token].expires = self.now

    def add_role(
        self, user: str, name: str, scope_type: str, scope: str, lasts: int | None = None
    ) -> str:  # fmt: skip
        """A role on a scope; `lasts` in seconds, None for ever."""
        self._row("users", user)
        end = None if lasts is None else self.now + timedelta(seconds=lasts)
        row = Role(
            **self._base("role"),
            user=user,
            name=name,
            scope_type=scope_type,
            scope=scope,
            expiration_time=end,
        )
        return self._keep("roles", row)

    def add_offering(
        self,
        customer: str,
        name: str,
        components: list[dict[str, Any]] | None = None,
        plugin_options: dict[str, Any] | None = None,
        type: str = "Marketplace.Slurm",
    ) -> str:
        self._row("customers", customer)
        made = [
            msgspec.convert({"uuid": self.world.fresh_id("component")} | each, Component)
            for each in components or []
        ]
        row = Offering(
            **self._base("offering"), name=name, slug=name.lower().replace(" ", "-"), customer=customer,
            components=made, plugin_options=plugin_options or {}, type=type, plan=self.world.fresh_id("plan"),
        )  # fmt: skip
        return self._keep("offerings", row)

    def add_pool(self, offering: str, uid: tuple[int, int], gid: tuple[int, int]) -> str:
        """A pool of an offering; group gids come from the upper half of `gid`."""
        middle = (gid[0] + gid[1]) // 2
        row = Pool(
            **self._base("pool"), description="accounts", offering=offering,
            provider=self.world.provider_of(self._row("offerings", offering)),
            min_uid=uid[0], max_uid=uid[1], min_gid=gid[0], max_gid=middle,
            min_group_gid=middle + 1, max_group_gid=gid[1],
        )  # fmt: skip
        return self._keep("pools", row)

    def add_project(self, name: str, customer: str, end_date: str | None = None) -> str:
        self._row("customers", customer)
        row = Project(
            **self._base("project"), name=name, slug=name.lower().replace(" ", "-"), customer=customer,
            end_date=None if end_date is None else date.fromisoformat(end_date),
        )  # fmt: skip
        return self._keep("projects", row)

    def add_resource(self, offering: str, project: str, name: str, **given: Any) -> str:
        """A resource in state OK; `given`: any of its fields."""
        self._row("offerings", offering)
        self._row("projects", project)
        fields = self._base("resource") | {
            "offering": offering, "project": project, "name": name, "state": "OK",
            "slug": name.lower().replace(" ", "-"), "plan_period": self.world.fresh_id("plan-period"),
        }  # fmt: skip
        return self._keep("resources", msgspec.convert(_plain(fields | given), Resource))

    def add_member(self, project: str, user: str, role: str = "PROJECT.MEMBER") -> list[str]:
        """A role in the project, and an offering user at each offering it has a live resource of."""
        self._row("projects", project)
        self.add_role(user, role, "project", project)
        live = [row for row in self.world.resources.values() if row.project == project]
        sold = sorted({row.offering for row in live if row.state not in ("Terminated", "Creating")})
        return [self.add_offering_user(offering, user) for offering in sold]

    def remove_member(self, project: str, user: str) -> None:
        """The role ends now; the offering user stays."""
        for role in self.world.roles.values():
            if (role.scope_type, role.scope, role.user) == ("project", project, user):
                role.expiration_time = self.now
                self.world.touch(role, self.now)

    def add_offering_user(self, offering: str, user: str, **given: Any) -> str:
        """The user's account there, which there is one of; `given`: any of its fields."""
        sold: Offering = self._row("offerings", offering)
        self._row("users", user)
        rows = self.world.offering_users.values()
        found = next((row for row in rows if (row.offering, row.user) == (offering, user)), None)
        row = found or offering_users.add(self.world, sold, user, now=self.now)
        if given.get("username"):
            offering_users.put_username(row, sold, given["username"])
        return self.change("offering_users", row.uuid, given)

    def add_usage(self, resource: str, type: str, amount: str, month: str) -> str:
        """What was reported of a month (`YYYY-MM-01`)."""
        moment = datetime.fromisoformat(f"{month}T00:00:00+00:00")
        row: Resource = self._row("resources", resource)
        made = usage.put_usage(
            self.world, row, type, moment=moment, amount=Decimal(amount), now=self.now
        )  # fmt: skip
        return made.uuid

    def add_user_usage_limit(self, resource: str, type: str, username: str, limit: str) -> str:
        self._row("resources", resource)
        row = UserUsageLimit(
            **self._base("limit"), resource=resource, type=type, username=username, limit=Decimal(limit)
        )
        return self._keep("user_usage_limits", row)

    def add_order(
        self, resource: str, type: str = "Create", state: str = "pending-provider", **given: Any
    ) -> str:
        self._row("resources", resource)
        fields = self._base("order") | {"resource": resource, "type": type, "state": state} | given
        return self._keep("orders", msgspec.convert(_plain(fields), Order))

    def change(self, table: str, uuid: str, set: dict[str, Any]) -> str:
        """Sets fields of a row and moves it to the end of the heap, as an UPDATE does; `{}` only moves it."""
        row = self._row(table, uuid)
        whole = msgspec.to_builtins(row) | set
        getattr(self.world, table)[uuid] = changed = msgspec.convert(whole, type(row))
        self.world.touch(changed, self.now)
        return uuid

    def keep_only(self, offering: str, count: int) -> int:
        """All but the first `count` resources of an offering are gone; returns how many."""
        mine = [row.uuid for row in self.world.resources.values() if row.offering == offering]
        for uuid in mine[count:]:
            del self.world.resources[uuid]
        return len(mine[count:])

    def remove(self, table: str, uuid: str) -> None:
        """The row is gone."""
        self._row(table, uuid)
        del getattr(self.world, table)[uuid]


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(fields)
    return plain


ACTS = frozenset(name for name in vars(Stage) if not name.startswith("_") and name not in ("world", "now"))

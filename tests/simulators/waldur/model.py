"""The rows of the simulated Waldur and the table that holds them; no I/O, no clock.

A UUID is 32 lower-case hex digits throughout, as on the wire. Rows without an asked order come in the order
of their last change, as PostgreSQL's heap gives them: a changed row moves to the end (`World.touch`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar, TypeVar
from uuid import UUID, uuid5

from msgspec import Struct, field

NAMESPACE = UUID("6f0a2c1e-9f6b-5d0a-8f4e-0a4d7f3f8130")
RESOURCE_STATES = ("Creating", "OK", "Updating", "Terminating", "Terminated", "Erred")
OFFERING_USER_STATES = (
    "Requested",
    "Creating",
    "Pending account linking",
    "Pending additional validation",
    "OK",
    "Requested deletion",
    "Deleting",
    "Deleted",
    "Error creating",
    "Error deleting",
)
RUNTIME_STATES = ("Active", "Pending account linking", "Pending additional validation")
ORDER_STATES = (
    "pending-consumer",
    "pending-provider",
    "pending-project",
    "pending-start-date",
    "executing",
    "done",
    "erred",
    "canceled",
    "rejected",
)
ORDER_TYPES = ("Create", "Update", "Terminate", "Restore")
OFFERING_STATES = ("Draft", "Active", "Paused", "Archived", "Unavailable")
POLICIES = ("none", "reuse", "zero")


class Row(Struct, kw_only=True):
    """What every row has; `place` is where it lies in the heap."""

    uuid: str
    created: datetime
    modified: datetime
    place: int = 0


class Customer(Row):
    """An organisation; `provider` is the UUID of its service provider, if it is one."""

    name: str
    slug: str
    provider: str | None = None


class User(Row):
    """A person. `token_lifetime` in seconds, None for ever; it slides with use."""

    username: str
    full_name: str
    email: str
    is_staff: bool = False
    is_support: bool = False
    is_active: bool = True
    token_lifetime: int | None = None


class Token(Struct, kw_only=True):
    """A credential. `kind`: `token` (sliding), `pat` (own expiry, own scopes) or `jwt` (own expiry)."""

    user: str
    kind: str
    created: datetime
    expires: datetime | None = None
    permissions: list[str] | None = None


class Role(Row):
    """A role of a user on a scope: `customer`, `serviceprovider`, `offering` or `project`."""

    user: str
    name: str
    scope_type: str
    scope: str
    expiration_time: datetime | None = None


class Component(Struct, kw_only=True):
    """One billed component of an offering; `type` is its internal name."""

    uuid: str
    type: str
    name: str
    measured_unit: str
    billing_type: str
    limit_period: str | None = None
    limit_amount: float | None = None
    limit_decimal_places: int = 0
    unit_factor: int = 1
    is_prepaid: bool = False


class Offering(Row):
    """What a provider sells."""

    name: str
    slug: str
    customer: str
    type: str = "Marketplace.Slurm"
    state: str = "Active"
    backend_id: str = ""
    plan: str = ""
    plugin_options: dict[str, Any] = field(default_factory=dict)
    components: list[Component] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    exposed: list[str] = field(default_factory=lambda: ["username", "full_name", "email"])


class Pool(Row):
    """A range of POSIX ids of a service provider or of one offering."""

    description: str
    provider: str | None
    offering: str | None
    min_uid: int
    max_uid: int
    min_gid: int
    max_gid: int
    min_group_gid: int
    max_group_gid: int
    given_uids: int = 0
    given_gids: int = 0
    given_group_gids: int = 0


class Project(Row):
    """A consumer's project."""

    name: str
    slug: str
    customer: str
    end_date: date | None = None


class Resource(Row):
    """What a project bought of an offering; an allocation."""

    name: str
    slug: str
    offering: str
    project: str
    plan_period: str
    state: str = "Creating"
    backend_id: str = ""
    effective_id: str = ""
    backend_metadata: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    current_usages: dict[str, float] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    endpoints: list[dict[str, Any]] = field(default_factory=list)
    report: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    paused: bool = False
    downscaled: bool = False
    restrict_member_access: bool = False
    usage_limit_restriction: str = ""
    error_message: str = ""
    error_traceback: str = ""
    end_date: date | None = None
    last_sync: datetime | None = None
    roles_synced: datetime | None = None


class OfferingUser(Row):
    """A user's account at an offering; `username` is the name at the site."""

    offering: str
    user: str
    username: str | None = None
    state: str = "Requested"
    runtime_state: str = "Active"
    is_restricted: bool = False
    has_consent: bool = False
    comment: str = ""
    comment_url: str = ""
    uidnumber: int | None = None
    primarygroup: int | None = None
    login_shell: str | None = None
    home_directory: str | None = None
    home_by_hand: bool = False


class Usage(Row):
    """A component's usage in one UTC month; `plan_period` is None for months before the plan."""

    resource: str
    type: str
    month: date
    date: datetime
    amount: Decimal
    description: str = ""
    missing_usage_policy: str = "none"
    plan_period: str | None = None


class UserUsage(Row):
    """A user's share in a `Usage`."""

    usage: str
    username: str
    amount: Decimal
    date: datetime
    offering_user: str | None = None
    description: str = ""


class UserUsageLimit(Row):
    """How much of a component a user may use of a resource."""

    resource: str
    type: str
    username: str
    limit: Decimal


class Order(Row):
    """What a consumer asked for."""

    resource: str
    type: str
    state: str
    limits: dict[str, float] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    backend_id: str = ""
    error_message: str = ""
    error_traceback: str = ""
    provider_rejection_comment: str = ""
    start_date: date | None = None
    completed_at: datetime | None = None


class Agent(Row):
    """What a site agent registered of itself: an identity, a service of it, or a processor of a service."""

    kind: str
    name: str
    parent: str
    details: dict[str, Any] = field(default_factory=dict)


R = TypeVar("R", bound=Row)


class World(Struct, kw_only=True):
    """Everything. `sequence` numbers ids and places, so that the same acts give the same world."""

    sequence: int = 0
    version: str = "8.1.3"
    version_restricted: bool = False
    tokens: dict[str, Token] = field(default_factory=dict)
    customers: dict[str, Customer] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    offerings: dict[str, Offering] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    resources: dict[str, Resource] = field(default_factory=dict)
    offering_users: dict[str, OfferingUser] = field(default_factory=dict)
    usages: dict[str, Usage] = field(default_factory=dict)
    user_usages: dict[str, UserUsage] = field(default_factory=dict)
    user_usage_limits: dict[str, UserUsageLimit] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)

    TABLES: ClassVar[tuple[str, ...]] = (
        "customers",
        "users",
        "roles",
        "offerings",
        "pools",
        "projects",
        "resources",
        "offering_users",
        "usages",
        "user_usages",
        "user_usage_limits",
        "orders",
        "agents",
    )

    def fresh_id(self, kind: str) -> str:
        """The next UUID of a kind."""
        self.sequence += 1
        return uuid5(NAMESPACE, f"{kind}/{self.sequence}").hex

    def touch(self, row: Row, now: datetime) -> None:
        """`row` was changed: a new time, and the end of the heap."""
        self.sequence += 1
        row.modified, row.place = now, self.sequence

    def provider_of(self, offering: Offering) -> str | None:
        """The service provider that sells an offering."""
        return self.customers[offering.customer].provider

    def components(self, resource: Resource) -> dict[str, Component]:
        """Components of a resource's offering by type."""
        return {component.type: component for component in self.offerings[resource.offering].components}


def heap(rows: Iterable[R]) -> list[R]:
    """Rows as a list without an order gives them."""
    return sorted(rows, key=lambda row: row.place)

"""Rows as they go over the wire: times with an offset, amounts as strings, metadata as it came in."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from tests.simulators.waldur.calls import Call
from tests.simulators.waldur.model import (
    Component,
    Offering,
    OfferingUser,
    Order,
    Pool,
    Resource,
    Role,
    Usage,
    UserUsage,
    UserUsageLimit,
)
from tests.simulators.waldur.usage import limit_usage


def iso(moment: datetime | date | None) -> str | None:
    return None if moment is None else moment.isoformat()


def component(offering: Offering, row: Component) -> dict[str, Any]:
    return {
        "uuid": row.uuid,
        "offering_uuid": offering.uuid,
        "type": row.type,
        "name": row.name,
        "description": "",
        "measured_unit": row.measured_unit,
        "billing_type": row.billing_type,
        "limit_period": row.limit_period,
        "limit_amount": row.limit_amount,
        "limit_decimal_places": row.limit_decimal_places,
        "unit_factor": row.unit_factor,
        "factor": None,
        "min_value": None,
        "max_value": None,
        "max_available_limit": None,
        "default_limit": None,
        "is_prepaid": row.is_prepaid,
        "is_boolean": False,
        "is_builtin": False,
        "article_code": "",
    }


def account_settings(row: Offering) -> dict[str, Any]:
    """Each setting with its value and where it comes from."""
    names = ("account_scope", "username_generation_policy", "homedir_prefix", "login_shell")
    defaults = {
        "account_scope": "offering", "username_generation_policy": "waldur_username",
        "homedir_prefix": "/home/", "login_shell": "/bin/bash",
    }  # fmt: skip
    return {
        name: {
            "value": row.plugin_options.get(name, defaults[name]),
            "source": "offering" if name in row.plugin_options else "default",
        }
        for name in names
    }


def offering(call: Call, row: Offering) -> dict[str, Any]:
    customer = call.world.customers[row.customer]
    shown: dict[str, Any] = {
        "url": call.url("marketplace-provider-offerings", row.uuid),
        "uuid": row.uuid,
        "created": iso(row.created),
        "name": row.name,
        "slug": row.slug,
        "customer": call.url("customers", customer.uuid),
        "customer_uuid": customer.uuid,
        "customer_name": customer.name,
        "type": row.type,
        "state": row.state,
        "backend_id": row.backend_id,
        "shared": True,
        "billable": True,
        "plugin_options": {"account_scope": "offering", **row.plugin_options},
        "account_settings": account_settings(row),
        "partitions": [{"partition_name": name, "qos_options": []} for name in row.partitions],
        "qos_profiles": [],
        "plans": [{"uuid": row.plan, "name": "default", "unit": "month"}],
        "components": [component(row, each) for each in row.components],
    }
    if call.caller.user.is_staff or call.sees(row):
        shown["secret_options"] = {}
    return shown


def resource(call: Call, row: Resource) -> dict[str, Any]:
    world = call.world
    sold, project = world.offerings[row.offering], world.projects[row.project]
    provider, customer = world.customers[sold.customer], world.customers[project.customer]
    open_orders = [each for each in world.orders.values() if each.resource == row.uuid]
    active = [each for each in open_orders if each.state in ("pending-provider", "executing")]
    creation = [each for each in open_orders if each.type == "Create"]
    return {
        "url": call.url("marketplace-provider-resources", row.uuid),
        "uuid": row.uuid,
        "name": row.name,
        "slug": row.slug,
        "state": row.state,
        "backend_id": row.backend_id,
        "effective_id": row.effective_id,
        "backend_metadata": row.backend_metadata,
        "limits": row.limits,
        "limit_usage": limit_usage(world, row, call.now),
        "current_usages": row.current_usages,
        "paused": row.paused,
        "downscaled": row.downscaled,
        "restrict_member_access": row.restrict_member_access,
        "usage_limit_restriction": row.usage_limit_restriction,
        "error_message": row.error_message,
        "error_traceback": row.error_traceback,
        "end_date": iso(row.end_date),
        "project": call.url("projects", project.uuid),
        "project_uuid": project.uuid,
        "project_name": project.name,
        "project_slug": project.slug,
        "project_description": "",
        "project_end_date": iso(project.end_date),
        "customer_uuid": customer.uuid,
        "customer_name": customer.name,
        "customer_slug": customer.slug,
        "offering": call.url("marketplace-public-offerings", sold.uuid),
        "offering_uuid": sold.uuid,
        "offering_name": sold.name,
        "offering_slug": sold.slug,
        "offering_type": sold.type,
        "offering_state": sold.state,
        "offering_backend_id": sold.backend_id,
        "offering_plugin_options": sold.plugin_options,
        "offering_components": [component(sold, each) for each in sold.components],
        "plan_uuid": sold.plan,
        "plan_unit": "month",
        "plan_name": "default",
        "provider_uuid": provider.uuid,
        "provider_name": provider.name,
        "attributes": row.attributes,
        "options": row.options,
        "endpoints": row.endpoints,
        "report": row.report,
        "created": iso(row.created),
        "modified": iso(row.modified),
        "last_sync": iso(row.last_sync or row.created),
        "order_in_progress": order(call, active[0]) if active else None,
        "creation_order": order(call, creation[0]) if creation else None,
        "is_usage_based": any(each.billing_type == "usage" for each in sold.components),
        "is_limit_based": any(each.billing_type == "limit" for each in sold.components),
    }


def offering_user(call: Call, row: OfferingUser) -> dict[str, Any]:
    sold, user = call.world.offerings[row.offering], call.world.users[row.user]
    shown: dict[str, Any] = {
        "url": call.url("marketplace-offering-users", row.uuid),
        "uuid": row.uuid,
        "user": call.url("users", user.uuid),
        "user_uuid": user.uuid,
        "offering": call.url("marketplace-provider-offerings", sold.uuid),
        "offering_uuid": sold.uuid,
        "offering_name": sold.name,
        "username": row.username,
        "state": row.state,
        "runtime_state": row.runtime_state,
        "is_restricted": row.is_restricted,
        "service_provider_comment": row.comment,
        "service_provider_comment_url": row.comment_url,
        "service_provider_account_uuid": None,
        "service_provider_account_username": None,
        "uidnumber": row.uidnumber,
        "primarygroup": row.primarygroup,
        "login_shell": row.login_shell,
        "home_directory": row.home_directory,
        "has_consent": row.has_consent,
        "customer_uuid": sold.customer,
        "customer_name": call.world.customers[sold.customer].name,
        "created": iso(row.created),
        "modified": iso(row.modified),
    }
    attributes = {
        "username": {"user_username": user.username},
        "full_name": {
            "user_full_name": user.full_name,
            "user_first_name": user.full_name.partition(" ")[0],
            "user_last_name": user.full_name.partition(" ")[2],
        },
        "email": {"user_email": user.email},
    }
    for name in sold.exposed:
        shown.update(attributes[name])
    return shown


def usage(call: Call, row: Usage) -> dict[str, Any]:
    of = call.world.resources[row.resource]
    sold, project = call.world.offerings[of.offering], call.world.projects[of.project]
    kind = call.world.components(of)[row.type]
    return {
        "uuid": row.uuid,
        "created": iso(row.created),
        "description": row.description,
        "type": row.type,
        "name": kind.name,
        "measured_unit": kind.measured_unit,
        "usage": f"{row.amount:.2f}",
        "date": iso(row.date),
        "missing_usage_policy": row.missing_usage_policy,
        "recurring": row.missing_usage_policy == "reuse",
        "resource_name": of.name,
        "resource_uuid": of.uuid,
        "offering_name": sold.name,
        "offering_uuid": sold.uuid,
        "project_name": project.name,
        "project_uuid": project.uuid,
        "customer_name": call.world.customers[project.customer].name,
        "customer_uuid": project.customer,
        "billing_period": iso(row.month),
        "modified_by": None,
    }


def user_usage(call: Call, row: UserUsage) -> dict[str, Any]:
    parent = call.world.usages[row.usage]
    of = usage(call, parent)
    shared = ("measured_unit", "resource_name", "resource_uuid", "offering_name", "offering_uuid",
              "project_name", "project_uuid", "customer_name", "customer_uuid", "billing_period")  # fmt: skip
    holder = row.offering_user
    return {
        "uuid": row.uuid,
        **({"user": call.url("marketplace-offering-users", holder)} if holder else {}),
        "username": row.username,
        "component_usage": call.url("marketplace-component-usages", parent.uuid),
        "usage": f"{row.amount:.2f}",
        "description": row.description,
        "created": iso(row.created),
        "modified": iso(row.modified),
        "backend_id": "",
        "component_type": parent.type,
        "date": iso(row.date),
        **{name: of[name] for name in shared},
    }


def user_usage_limit(call: Call, row: UserUsageLimit) -> dict[str, Any]:
    kind = call.world.components(call.world.resources[row.resource])[row.type]
    return {
        "url": call.url("component-user-usage-limits", row.uuid),
        "uuid": row.uuid,
        "resource": call.url("marketplace-resources", row.resource),
        "component": kind.uuid,
        "component_type": row.type,
        "user": row.username,
        "limit": f"{row.limit:.2f}",
    }


def order(call: Call, row: Order) -> dict[str, Any]:
    of = call.world.resources[row.resource]
    sold, project = call.world.offerings[of.offering], call.world.projects[of.project]
    return {
        "url": call.url("marketplace-orders", row.uuid),
        "uuid": row.uuid,
        "created": iso(row.created),
        "modified": iso(row.modified),
        "type": row.type,
        "state": row.state,
        "marketplace_resource_uuid": of.uuid,
        "resource_uuid": None,
        "resource_name": of.name,
        "offering": call.url("marketplace-public-offerings", sold.uuid),
        "offering_uuid": sold.uuid,
        "offering_name": sold.name,
        "offering_type": sold.type,
        "limits": row.limits,
        "attributes": row.attributes,
        "plan_uuid": sold.plan,
        "project_uuid": project.uuid,
        "project_name": project.name,
        "project_slug": project.slug,
        "customer_uuid": project.customer,
        "customer_slug": call.world.customers[project.customer].slug,
        "provider_uuid": sold.customer,
        "backend_id": row.backend_id,
        "error_message": row.error_message,
        "error_traceback": row.error_traceback,
        "provider_rejection_comment": row.provider_rejection_comment,
        "start_date": iso(row.start_date),
        "completed_at": iso(row.completed_at),
    }


def pool(call: Call, row: Pool) -> dict[str, Any]:
    provider = next((each for each in call.world.customers.values() if each.provider == row.provider), None)
    ranges = {
        "uid": (row.min_uid, row.max_uid, row.given_uids),
        "gid": (row.min_gid, row.max_gid, row.given_gids),
        "group_gid": (row.min_group_gid, row.max_group_gid, row.given_group_gids),
    }
    shown: dict[str, Any] = {
        "url": call.url("marketplace-posix-id-pools", row.uuid),
        "uuid": row.uuid,
        "created": iso(row.created),
        "description": row.description,
        "service_provider": None if row.offering else row.provider,
        "offering": row.offering,
        "scope": "offering" if row.offering else "service_provider",
    }
    if provider is not None:
        shown |= {"customer_uuid": provider.uuid, "customer_name": provider.name}
    for name, (first, last, given) in ranges.items():
        shown |= {f"min_{name}": first, f"max_{name}": last, f"next_{name}": first + given}
        shown |= {f"{name}_used": given, f"{name}_utilization": round(given / (last - first + 1), 4)}
    return shown


def role_of_me(call: Call, row: Role) -> dict[str, Any]:
    """MePermission, which is smaller than the general Permission."""
    world = call.world
    scopes: dict[str, tuple[str, str | None, str | None]] = {}
    for each in world.customers.values():
        scopes[f"customer/{each.uuid}"] = (each.name, each.uuid, None)
        scopes[f"serviceprovider/{each.provider}"] = (each.name, each.uuid, None)
    for sold in world.offerings.values():
        scopes[f"offering/{sold.uuid}"] = (sold.name, sold.customer, None)
    for project in world.projects.values():
        scopes[f"project/{project.uuid}"] = (project.name, project.customer, project.uuid)
    name, customer, project_uuid = scopes[f"{row.scope_type}/{row.scope}"]
    return {
        "role_name": row.name,
        "role_uuid": row.uuid,
        "scope_type": row.scope_type,
        "scope_uuid": row.scope,
        "scope_name": name,
        "customer_uuid": customer,
        "customer_name": None if customer is None else world.customers[customer].name,
        "project_uuid": project_uuid,
        "resource_uuid": None,
        "expiration_time": iso(row.expiration_time),
    }

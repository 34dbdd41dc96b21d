"""Waldur's generated client reads the simulator, in an environment of its own; one JSON line of findings.

`oracle.py API CA_FILE` with the facts on standard input (`{"token": …, "uuids": …}`, see the test). Each
check calls one endpoint as the client does it and parses the answer with its models; what a model does not
declare is told under `undeclared`, so that the simulator can invent no field.
"""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any
from uuid import UUID

from waldur_api_client import AuthenticatedClient, models
from waldur_api_client.types import UNSET

UNDECLARED: dict[str, list[str]] = {}
OPEN = (
    "BackendMetadata", "ResourceLimits", "ResourceLimitUsage", "ResourceCurrentUsages",
    "ResourceOfferingPluginOptions",
)  # fmt: skip


def endpoint(group: str, name: str) -> Any:
    return import_module(f"waldur_api_client.api.{group}.{name}")


class Oracle:
    """One caller."""

    def __init__(self, api: str, ca_file: str, token: str) -> None:
        trust = ssl.create_default_context(cafile=ca_file)
        base = api.removesuffix("/api/")
        self.client = AuthenticatedClient(
            base_url=base, token=token, prefix="Token", timeout=30, verify_ssl=trust
        )

    def every(self, group: str, name: str, *arguments: Any, **filters: Any) -> list[Any]:
        """All pages of a list, as the client walks them."""
        rows = endpoint(group, name).sync_all(*arguments, client=self.client, **filters)
        for row in rows:
            declared(row)
        return list(rows)

    def call(self, group: str, name: str, *arguments: Any, **filters: Any) -> Any:
        """One call; the parsed answer, or None where the model has none."""
        answer = endpoint(group, name).sync_detailed(*arguments, client=self.client, **filters)
        declared(answer.parsed)
        return answer.parsed

    def status(self, group: str, name: str, *arguments: Any, **filters: Any) -> int:
        """The status of a call that the client does not know how to read."""
        try:
            return int(
                endpoint(group, name).sync_detailed(*arguments, client=self.client, **filters).status_code
            )
        except Exception as error:
            return int(getattr(error, "status_code", 0))


def declared(value: Any) -> None:
    """Notes the fields of an answer that its model does not know."""
    for each in value if isinstance(value, list) else [value]:
        kind = type(each).__name__
        for name, inner in getattr(each, "__dict__", {}).items() or slots(each):
            if name == "additional_properties":
                if inner and kind not in OPEN:
                    UNDECLARED.setdefault(kind, []).extend(sorted(inner))
            elif isinstance(inner, list) or hasattr(inner, "additional_properties"):
                declared(inner)


def slots(value: Any) -> list[tuple[str, Any]]:
    names = getattr(type(value), "__slots__", ())
    return [(name, getattr(value, name)) for name in names if name != "__weakref__" and hasattr(value, name)]


def resources(who: Oracle, uuids: dict[str, str]) -> dict[str, Any]:
    """Provider resources: the walk, a row, every action."""
    group, prefix = "marketplace_provider_resources", "marketplace_provider_resources_"
    one = UUID(uuids["resource"])
    rows = who.every(group, f"{prefix}list", offering_uuid=[UUID(uuids["offering"])],
                     state=[models.ResourceState.OK, models.ResourceState.ERRED],
                     o=[models.ResourceOEnum.CREATED])  # fmt: skip
    trimmed = who.every(group, f"{prefix}list", field=[models.ResourceFieldEnum.UUID])
    metadata = {"qos": "normal", "accounts": {"alice": str(one)}}
    body = models.ResourceBackendMetadataRequest.from_dict({"backend_metadata": metadata})
    who.call(group, f"{prefix}set_backend_metadata", one, body=body)
    who.call(group, f"{prefix}set_backend_id", one, body=models.ResourceBackendIDRequest("proj_a"))
    limits = models.ResourceSetLimitsRequest.from_dict({"limits": {"node": 1.5}})
    who.call(group, f"{prefix}set_limits", one, body=limits)
    erred = models.ResourceSetStateErredRequest(error_message="no such account", error_traceback="")
    who.call(group, f"{prefix}set_as_erred", one, body=erred)
    after_erred = who.call(group, f"{prefix}retrieve", one)
    for name in ("set_as_ok", "set_state_ok", "refresh_last_sync"):
        who.call(group, f"{prefix}{name}", one)
    who.call(group, f"{prefix}set_paused", one, body=models.ResourcePausedRequest(paused=True))
    report = models.ResourceReportRequest.from_dict({"report": [{"header": "h", "body": "b"}]})
    who.call(group, f"{prefix}submit_report", one, body=report)
    statuses = {"statuses": [
        {"username": uuids["username"], "scope_type": "resource", "role_name": "m", "state": "synced"},
        {"username": "nobody", "scope_type": "resource", "role_name": "m", "state": "error"},
    ]}  # fmt: skip
    synced = who.call(group, f"{prefix}set_membership_sync_statuses", one,
                      body=models.MemberSyncStatusReportRequest.from_dict(statuses))  # fmt: skip
    codes = [who.status(group, f"{prefix}sync_user_roles", one) for _ in range(2)]
    row = who.call(group, f"{prefix}retrieve", one)
    team = who.call(group, f"{prefix}team_list", one)
    return {
        "uuids": [each.uuid.hex for each in rows],
        "trimmed": len(trimmed),
        "trimmed_name": trimmed[0].name is UNSET,
        "metadata": row.backend_metadata.to_dict(),
        "backend_id": row.backend_id,
        "limits": row.limits.to_dict(),
        "erred": [after_erred.state.value, after_erred.error_message],
        "state": row.state.value,
        "paused": row.paused,
        "report": len(row.report),
        "synced": synced.to_dict(),
        "role_syncs": codes,
        "limit_usage": row.limit_usage.to_dict(),
        "team": [[each.username, each.role, each.offering_user_username] for each in team],
        "count": who.status(group, f"{prefix}count"),
    }


def offering_users(who: Oracle, uuids: dict[str, str]) -> dict[str, Any]:
    """Offering users: naming, each state action, POSIX."""
    group, prefix = "marketplace_offering_users", "marketplace_offering_users_"
    one = UUID(uuids["offering_user"])
    states = [who.call(group, f"{prefix}retrieve", one).state.value]
    pending = models.OfferingUserStateTransitionRequest(
        comment="<b>link</b>", comment_url="https://x.example/"
    )
    for name, body in (
        ("begin_creating", None), ("set_pending_account_linking", pending),
        ("set_pending_additional_validation", pending), ("set_validation_complete", None),
        ("request_deletion", None), ("set_error_deleting", None), ("set_deleting", None),
        ("set_deleted", None),
    ):  # fmt: skip
        who.call(group, f"{prefix}{name}", one, **({"body": body} if body else {}))
        states.append(who.call(group, f"{prefix}retrieve", one).state.value)
    other = UUID(uuids["other_offering_user"])
    named = who.call(group, f"{prefix}partial_update", other,
                     body=models.PatchedOfferingUserRequest(username="bob"))  # fmt: skip
    who.call(group, f"{prefix}update_restricted", other,
             body=models.OfferingUserUpdateRestrictionRequest(is_restricted=True))  # fmt: skip
    shell = models.OfferingUserPosixAttributesRequest.from_dict({"login_shell": "/bin/zsh"})
    who.call(group, f"{prefix}set_posix_attributes", other, body=shell)
    stranger = models.OfferingUserRequest(
        offering_uuid=UUID(uuids["offering"]), user_uuid=UUID(uuids["stranger"]), username="carol"
    )
    made = who.call(group, f"{prefix}create", body=stranger)
    who.call(group, f"{prefix}destroy", made.uuid)
    return {
        "states": states,
        "illegal": who.status(group, f"{prefix}set_ok", one),
        "named": [named.username, named.state.value, named.home_directory],
        "made": [made.username, made.state.value],
        "rows": len(who.every(group, f"{prefix}list", username="bob", state=[models.OfferingUserState.OK])),
        "groups": [each.kind.value for each in who.call(group, f"{prefix}posix_groups_list", other)],
        "ids": [[each.namespace, each.value] for each in who.every(group, f"{prefix}posix_identities_list",
                                               user_uuid=UUID(uuids["user"]))],
        "held": [each.namespace for each in who.call(group, f"{prefix}posix_allocations_list", other)],
    }  # fmt: skip


def usage(who: Oracle, uuids: dict[str, str]) -> dict[str, Any]:
    """Reporting and reading back."""
    group, prefix = "marketplace_component_usages", "marketplace_component_usages_"
    resource = UUID(uuids["resource"])
    body = models.ComponentUsageCreateRequest.from_dict(
        {"resource": str(resource), "usages": [{"type": "node", "amount": "25.50"}]}
    )
    who.call(group, f"{prefix}set_usage", body=body)
    rows = who.every(group, f"{prefix}list", resource_uuid=resource)
    shares = {"usages": [{"username": "bob", "usage": "20.50"}, {"username": "alice", "usage": "5.00"}]}
    who.call(group, f"{prefix}set_user_usages", rows[0].uuid,
             body=models.ComponentUserUsageBulkCreateRequest.from_dict(shares))  # fmt: skip
    who.call(group, f"{prefix}set_user_usage", rows[0].uuid,
             body=models.ComponentUserUsageCreateRequest(username="bob", usage="21.00"))  # fmt: skip
    group = "marketplace_component_user_usages"
    month = {"component_usage_billing_period": rows[0].billing_period}
    per_user = who.every(group, f"{group}_list", resource_uuid=resource, **month)
    limits = who.every(
        "component_user_usage_limits", "component_user_usage_limits_list", resource_uuid=resource
    )
    return {
        "rows": [[each.type_, each.usage, each.billing_period.day] for each in rows],
        "per_user": sorted([each.username, each.usage] for each in per_user),
        "limits": [[each.user, each.limit] for each in limits],
    }


def orders(who: Oracle, uuids: dict[str, str]) -> dict[str, Any]:
    """Orders: reading, and a provider's moves."""
    group, prefix = "marketplace_orders", "marketplace_orders_"
    one = UUID(uuids["order"])
    offering = UUID(uuids["offering"])
    pending = who.every(
        group, f"{prefix}list", offering_uuid=offering, state=[models.OrderState.PENDING_PROVIDER]
    )
    who.call(group, f"{prefix}approve_by_provider", one, body=models.OrderApproveByProviderRequest())
    who.call(group, f"{prefix}set_backend_id", one, body=models.OrderBackendIDRequest(backend_id="o-1"))
    who.call(group, f"{prefix}set_state_done", one)
    again = who.status(group, f"{prefix}set_state_done", one)
    row = who.call(group, f"{prefix}retrieve", one)
    return {"pending": len(pending), "state": row.state.value, "again": again, "backend_id": row.backend_id}


def catalogue(who: Oracle, uuids: dict[str, str]) -> dict[str, Any]:
    """What is only read."""
    offering = UUID(uuids["offering"])
    me = who.call("users", "users_me_retrieve")
    group, prefix = "marketplace_provider_offerings", "marketplace_provider_offerings_"
    sold = who.call(group, f"{prefix}retrieve", offering)
    config = who.call(group, f"{prefix}user_attribute_config_retrieve", offering)
    pool = who.call(group, f"{prefix}effective_posix_id_pool_retrieve", offering)
    pools = who.every("marketplace_posix_id_pools", "marketplace_posix_id_pools_list", offering_uuid=offering)
    providers = who.every("marketplace_service_providers", "marketplace_service_providers_list",
                          customer_uuid=sold.customer_uuid)  # fmt: skip
    people = who.every("projects", "projects_list_users_list", UUID(uuids["project"]))
    accounts = [who.every(group, f"{prefix}{name}", offering) for name in
                ("list_project_service_accounts_list", "list_course_accounts_list")]  # fmt: skip
    return {
        "version": who.call("version", "version_retrieve").version,
        "roles": [[each.role_name, each.scope_type, each.scope_uuid.hex] for each in me.permissions],
        "offerings": len(who.every(group, f"{prefix}list", name_exact=sold.name)),
        "components": [
            [each.type_, each.billing_type.value, each.limit_period.value] for each in sold.components
        ],
        "account_scope": sold.plugin_options.account_scope.value,
        "exposed": config.exposed_fields,
        "pools": [pool.min_uid, len(pools)],
        "providers": len(providers),
        "people": [each.role_name for each in people],
        "accounts": accounts,
    }


def agents(who: Oracle, uuids: dict[str, str]) -> dict[str, Any]:
    """What a site agent registers."""
    group, prefix = "marketplace_site_agent_identities", "marketplace_site_agent_identities_"
    wanted = {
        "offering": uuids["offering"],
        "name": "agent",
        "dependencies": [{"package": "p", "version": "1"}],
    }
    body = models.AgentIdentityRequest.from_dict(wanted)
    made = who.call(group, f"{prefix}create", body=body)
    service = who.call(group, f"{prefix}register_service", made.uuid,
                       body=models.AgentServiceCreateRequest(name="report", mode="report"))  # fmt: skip
    services = "marketplace_site_agent_services"
    who.call(services, f"{services}_register_processor", service.uuid,
             body=models.AgentProcessorCreateRequest(name="p", backend_type="slurm"))  # fmt: skip
    updated = who.call(group, f"{prefix}update", made.uuid, body=body)
    return {"same": updated.uuid == made.uuid, "services": [each.name for each in updated.services],
            "known": len(endpoint(group, f"{prefix}list").sync(client=who.client, name="agent"))}  # fmt: skip


PARTS: dict[str, Callable[[Oracle, dict[str, str]], dict[str, Any]]] = {
    "resources": resources,
    "offering_users": offering_users,
    "usage": usage,
    "orders": orders,
    "catalogue": catalogue,
    "agents": agents,
}


def main(api: str, ca_file: str) -> None:
    facts = json.load(sys.stdin)
    owner = Oracle(api, ca_file, facts["token"])
    found: dict[str, Any] = {name: part(owner, facts["uuids"]) for name, part in PARTS.items()}
    found["undeclared"] = UNDECLARED
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The HTTP calls of docs/wire.md as one table, and the OpenAPI 3.1 document made of it (X10)."""

from __future__ import annotations

from typing import Any, NamedTuple

from contract import REFERENCE, SITE, UUID, Schema, text, whole
from http_bodies import HTTP

Parameter = dict[str, Any]


class Call(NamedTuple):
    """One call: where, who may, what goes in, what comes out (`status → schema, description`)."""

    id: str
    method: str
    path: str
    security: str
    parameters: tuple[str, ...]
    takes: str | None
    gives: tuple[tuple[str, str | None, str], ...]


RECORDED = (("200", "CommandReceipt", "recorded"),)
RANGE = ("Pharos-Schema",)
IDEMPOTENT = ("Idempotency-Key",)
ACCESS, COMMANDS = "/v1/site/ssh-access", "/v1/site/commands"
INTAKE, KEYS = "/resource-provisioning/{site}", "/api/v1/me/ssh-keys"
CONSENT = "/api/v1/me/execution-consent"
RUNS = "/api/v1/projects/{projectId}/runs"
PAGING = ("after", "limit_commands")
ONE = COMMANDS + "/{commandId}"

CALLS = (
    Call("siteGrant", "get", f"{ACCESS}/grant", "grant", RANGE, None, (("200", "SiteGrant", "the grant"),)),
    Call(
        "sshAccessChanges",
        "get",
        f"{ACCESS}/changes",
        "grant",
        (*RANGE, "after", "wait", "limit_changes"),
        None,
        (("200", "SshAccessChanges", "desired states above `after`"),),
    ),
    Call(
        "sshAccessResults",
        "post",
        f"{ACCESS}/results",
        "grant",
        RANGE,
        "SshAccessResults",
        (("200", "SshAccessReceipts", "one receipt a result"),),
    ),
    Call(
        "siteCommandsGrant",
        "get",
        f"{COMMANDS}/grant",
        "grant",
        RANGE,
        None,
        (("200", "SiteGrant", "the grant"),),
    ),
    Call(
        "siteCommands",
        "get",
        COMMANDS,
        "grant",
        (*RANGE, "wait", *PAGING),
        None,
        (("200", "SiteCommands", "commands above `after`"),),
    ),
    Call(
        "unacknowledgedCommands",
        "get",
        f"{COMMANDS}/unacknowledged",
        "grant",
        (*RANGE, *PAGING),
        None,
        (("200", "SiteCommands", "those not acknowledged, once at start"),),
    ),
    Call(
        "siteMaintenance",
        "put",
        f"{COMMANDS}/maintenance",
        "grant",
        RANGE,
        "SiteMaintenance",
        (("204", None, "recorded"),),
    ),
    Call("commandAck", "post", f"{ONE}/ack", "grant", RANGE, "CommandAck", RECORDED),
    Call("commandResult", "post", f"{ONE}/result", "grant", RANGE, "CommandResult", RECORDED),
    Call(
        "memberToken",
        "post",
        f"{ONE}/member-token",
        "grant",
        RANGE,
        "MemberTokenRequest",
        (("200", "MemberToken", "for one native action; never kept"),),
    ),
    Call(
        "allocationReport",
        "post",
        f"{INTAKE}/reports",
        "intake",
        RANGE,
        "AllocationReport",
        (("200", "AllocationReportOutcomes", "one outcome a resource"),),
    ),
    Call(
        "siteAllocation",
        "get",
        INTAKE + "/allocations/{allocationId}",
        "intake",
        RANGE,
        None,
        (("200", "SiteAllocation", "the saved allocation"),),
    ),
    Call(
        "accountReport",
        "post",
        f"{INTAKE}/accounts",
        "intake",
        RANGE,
        "AccountReport",
        (("200", "AccountReportReceipt", "recorded whole"),),
    ),
    Call(
        "accountSets",
        "post",
        f"{INTAKE}/account-sets",
        "intake",
        RANGE,
        "AccountSets",
        (("200", "AccountSetsOutcomes", "one outcome a set"),),
    ),
    Call(
        "siteMember",
        "get",
        INTAKE + "/members/{username}",
        "intake",
        (*RANGE, "providerProjectRef"),
        None,
        (("200", "SiteMember", "the verified member behind a username"),),
    ),
    Call(
        "siteMembers",
        "get",
        f"{INTAKE}/members",
        "intake",
        (*RANGE, "providerProjectRef"),
        None,
        (("200", "SiteMembers", "every member of the Project that the Site may know, complete"),),
    ),
    Call(
        "projectMembers",
        "post",
        f"{INTAKE}/project-members",
        "intake",
        RANGE,
        "ProjectMembersRequest",
        (("200", "ProjectMembers", "the first Projects asked for, each whole"),),
    ),
    Call(
        "retainedAccounts",
        "get",
        f"{INTAKE}/retained-accounts",
        "intake",
        RANGE,
        None,
        (("200", "RetainedAccounts", "the complete list"),),
    ),
    Call("listKeys", "get", KEYS, "member", (), None, (("200", "MemberKeys", "the member's keys"),)),
    Call(
        "addKey",
        "post",
        KEYS,
        "member",
        IDEMPOTENT,
        "MemberKeyAdd",
        (("200", "MemberKey", "the same command again"), ("201", "MemberKey", "asked for")),
    ),
    Call(
        "removeKey",
        "delete",
        KEYS + "/{keyId}",
        "member",
        IDEMPOTENT,
        None,
        (("202", "MemberKey", "being removed"),),
    ),
    Call(
        "readConsent",
        "get",
        CONSENT,
        "member",
        (),
        None,
        (("200", "ExecutionConsent", "what stands"),),
    ),
    Call(
        "giveConsent",
        "put",
        CONSENT,
        "member",
        (),
        "ExecutionConsentGive",
        (("200", "ExecutionConsent", "standing"),),
    ),
    Call(
        "withdrawConsent",
        "delete",
        CONSENT,
        "member",
        (),
        None,
        (("200", "ExecutionConsent", "ended, or none"),),
    ),
    Call(
        "projectAllocations",
        "get",
        "/api/v1/projects/{projectId}/allocations",
        "member",
        (),
        None,
        (("200", "ProjectAllocations", "complete"),),
    ),
    Call(
        "listRuns",
        "get",
        RUNS,
        "member",
        ("page_size", "page_token"),
        None,
        (("200", "RunList", "newest first"),),
    ),
    Call(
        "createRun",
        "post",
        RUNS,
        "member",
        IDEMPOTENT,
        "RunCreate",
        (("200", "Run", "the same command again"), ("201", "Run", "accepted")),
    ),
    Call("getRun", "get", RUNS + "/{runId}", "member", (), None, (("200", "Run", "the Run"),)),
    Call(
        "cancelRun",
        "post",
        RUNS + "/{runId}/cancel",
        "member",
        IDEMPOTENT,
        "RunCancel",
        (("202", "Run", "being cancelled"),),
    ),
    Call(
        "getRunResults",
        "get",
        RUNS + "/{runId}/results",
        "member",
        (),
        None,
        (("200", "RunResults", "what came of its stages"),),
    ),
    Call(
        "retryRun",
        "post",
        RUNS + "/{runId}/retry",
        "member",
        IDEMPOTENT,
        "RunRetry",
        (("202", "Run", "with its next attempt"),),
    ),
    Call(
        "cleanUpRun",
        "post",
        RUNS + "/{runId}/cleanup",
        "member",
        IDEMPOTENT,
        "RunCleanup",
        (("202", "Run", "its cleanup is asked for again"),),
    ),
)


def _parameter(name: str, where: str, schema: Schema, *, required: bool) -> Parameter:
    return {"name": name, "in": where, "required": required, "schema": schema}


PARAMETERS = {
    "Pharos-Schema": _parameter(
        "Pharos-Schema", "header", text("[1-9][0-9]{0,3}-[1-9][0-9]{0,3}"), required=True
    ),
    "Idempotency-Key": _parameter("Idempotency-Key", "header", UUID, required=True),
    "after": _parameter("after", "query", whole(0), required=True),
    "wait": _parameter("wait", "query", whole(0, 55), required=False),
    "limit_changes": _parameter("limit", "query", whole(1, 500), required=False),
    "limit_commands": _parameter("limit", "query", whole(1, 100), required=False),
    "providerProjectRef": _parameter("providerProjectRef", "query", REFERENCE, required=True),
    "page_size": _parameter("page_size", "query", whole(1, 500), required=False),
    "page_token": _parameter("page_token", "query", text("[A-Za-z0-9_-]{1,256}"), required=False),
}
PATH_PARAMETERS = {
    "site": SITE,
    "username": {"type": "string", "minLength": 1, "maxLength": 128},
} | dict.fromkeys(("commandId", "allocationId", "keyId", "projectId", "runId"), UUID)
BEARERS = {
    "grant": "a Site grant: phs1_<id>_<secret>",
    "intake": "the Site's intake key (P11)",
    "member": "an access token of the platform's OIDC issuer",
}


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, Any] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method] = _operation(call)
    problem = {"application/problem+json": {"schema": _reference("Problem")}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pharos HPC",
            "version": "1",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                name: {"type": "http", "scheme": "bearer", "description": words}
                for name, words in BEARERS.items()
            },
            "responses": {
                "Problem": {"description": "a refusal (RFC 9457), by its stable `code`", "content": problem}
            },
            "schemas": HTTP,
        },
    }


def _operation(call: Call) -> dict[str, Any]:
    names = [part.strip("{}") for part in call.path.split("/") if part.startswith("{")]
    parameters = [_parameter(name, "path", PATH_PARAMETERS[name], required=True) for name in names]
    made: dict[str, Any] = {
        "operationId": call.id,
        "security": [{call.security: []}],
        "parameters": parameters + [PARAMETERS[name] for name in call.parameters],
    }
    if call.takes is not None:
        made["requestBody"] = {"required": True, "content": _json(call.takes)}
    answers = {
        status: {"description": words} | ({"content": _json(schema)} if schema else {})
        for status, schema, words in call.gives
    }
    made["responses"] = answers | {"default": {"$ref": "#/components/responses/Problem"}}
    return made


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _reference(name)}}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}

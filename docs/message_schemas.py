"""The messages of docs/wire.md as JSON Schema; `make docs` writes docs/messages.schema.json from this."""

from __future__ import annotations

from typing import Any

from contract import (
    AMOUNTS,
    COUNT,
    LIFECYCLE,
    POSITIVE,
    REASONS,
    SITE,
    TIME,
    UUID,
    Schema,
    body,
    many,
    maybe,
    obj,
    one_of,
    text,
)

REVISION = POSITIVE
OWNER = text("[a-z][a-z0-9_-]{0,31}")
SUBJECT = text(r"[^\x00-\x1f\x7f]{1,255}")
DIGEST = text("[0-9a-f]{64}")
SCOPE = one_of("projects", "parties", "authorities")

PROJECT = obj(
    projectId=UUID,
    revision=REVISION,
    lifecycle=one_of("active", "closed"),
    providerBindings=many(
        obj(provider={"const": "waldur"}, instance=SUBJECT, projectRef=SUBJECT), uniqueItems=True
    ),
    members=many(obj(partyId=UUID, binding=maybe(obj(bindingId=UUID, revision=REVISION))), uniqueItems=True),
)
PARTY = obj(
    partyId=UUID,
    revision=REVISION,
    state=one_of("active", "retired"),
    providerBindings=many(
        obj(
            bindingId=UUID,
            revision=REVISION,
            provider=one_of("site", "waldur"),
            instance=SUBJECT,
            subject=SUBJECT,
            state=one_of("established", "retired"),
        )
    ),
)
READY = {"properties": {"state": {"const": "ready"}}, "required": ["state"]}
AUTHORITY: Schema = {
    **obj(
        projectId=UUID,
        revision=REVISION,
        state=one_of("ready", "pending", "closed"),
        expiresAt=maybe(TIME),
        managementGeneration=COUNT,
    ),
    "if": READY,
    "then": {"properties": {"expiresAt": TIME}},
    "else": {"properties": {"expiresAt": {"type": "null"}}},
}
UNBOUND = {"properties": {"bindingId": {"type": "null"}}, "required": ["bindingId"]}
ITEM: Schema = {
    **obj(
        itemId=UUID,
        kind=one_of("launch", "run", "pipeline"),
        revision=REVISION,
        state=one_of("required", "released"),
        projectId=UUID,
        partyId=UUID,
        site=SITE,
        bindingId=maybe(UUID),
        generation=COUNT,
        managementGeneration=COUNT,
        deadline=TIME,
    ),
    "if": UNBOUND,
    "then": {"properties": {"generation": {"const": 0}, "managementGeneration": {"const": 0}}},
    "else": {"properties": {"generation": POSITIVE}},
}
ALLOCATION = obj(
    allocationId=UUID,
    revision=REVISION,
    site=SITE,
    projectId=maybe(UUID),
    lifecycle=LIFECYCLE,
    reasons=REASONS,
    configured=maybe(AMOUNTS),
    applied=maybe(AMOUNTS),
    observedAt=TIME,
)


def event(data: Schema, *types: str) -> Schema:
    """An event of one of these types."""
    return body(messageId=UUID, type=one_of(*types), occurredAt=TIME, data=data)


def query(kind: str, **members: Schema) -> Schema:
    """A question."""
    return body(queryId=UUID, query={"const": kind}, **members)


def page(scope: str, item: Schema) -> Schema:
    """A page of one scope's items."""
    return body(
        queryId=UUID,
        scope={"const": scope},
        snapshotId=UUID,
        after=maybe(UUID),
        items=many(item, 0, 500, uniqueItems=True),
        next=maybe(UUID),
    )


PAGE = {
    "scope": one_of("projects", "parties", "authorities", "accepted_work"),
    "snapshotId": UUID,
    "after": maybe(UUID),
    "limit": {"type": "integer", "minimum": 1, "maximum": 500},
}
FOUND: dict[str, Any] = {"snapshotId": UUID, "count": COUNT, "fingerprint": DIGEST}
MESSAGES: dict[str, Schema] = {
    "ProjectChanged": event(PROJECT, "project.ProjectChanged"),
    "PartyChanged": event(PARTY, "party.PartyChanged"),
    "ProjectAuthorityChanged": event(AUTHORITY, "project.ProjectAuthorityChanged"),
    "AcceptedWorkChanged": event(
        obj(owner=OWNER, item=ITEM), "execution.AcceptedWorkChanged", "pipeline.AcceptedWorkChanged"
    ),
    "AllocationChanged": event(ALLOCATION, "resource_provisioning.allocation.changed.v1"),
    "SnapshotRequests": {
        "oneOf": [
            query("checkpoint", scope=SCOPE),
            query("page", **PAGE),
            query("inventory", scope={"const": "accepted_work"}),
        ]
    },
    "Checkpoint": body(
        queryId=UUID, scope=SCOPE, snapshotId=UUID, position=COUNT, count=COUNT, fingerprint=DIGEST
    ),
    "SnapshotPage": {
        "oneOf": [page("projects", PROJECT), page("parties", PARTY), page("authorities", AUTHORITY)]
    },
    "AcceptedWorkInventory": body(queryId=UUID, owner=OWNER, **FOUND),
    "AcceptedWorkPage": body(
        queryId=UUID,
        owner=OWNER,
        snapshotId=UUID,
        after=maybe(UUID),
        items=many(ITEM, 0, 500, uniqueItems=True),
        next=maybe(UUID),
    ),
    "QueryError": body(
        queryId=UUID, error=one_of("snapshot_gone", "not_allowed", "unavailable"), detail=text()
    ),
    "AuthorityRequest": query(
        "project_allowed",
        projectId=UUID,
        partyId=UUID,
        permission=one_of(
            "project.view",
            "project.member",
            "run.view",
            "run.create",
            "run.cancel",
            "run.stage_out",
            "run.continue",
            "run.retry",
            "run.cleanup",
            "run.results",
            "repository.credential",
        ),
    ),
    "AuthorityAnswer": body(
        queryId=UUID,
        decision=one_of("allowed", "denied"),
        projectRevision=REVISION,
        managementGeneration=COUNT,
        validUntil=TIME,
    ),
}
"""Messages by the name of their schema."""

"""The bodies of docs/wire.md as JSON Schema (2020-12), and the HTTP calls as OpenAPI 3.1 (X10).

`make docs` writes docs/openapi.json and docs/messages.schema.json from this; `tests/contract/test_schemas.py`
runs every golden against it. What a schema cannot say (orders, sums, one field against another) is said in
docs/wire.md and listed in that test. Every object is closed and every member required: a schema number's form is
exact.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
MAX = 2**63 - 1
# JSON Schema patterns are searched, and in some engines `$` also matches before a final newline (E21).
END = r"$(?!\n)"


def text(pattern: str = "", **more: Any) -> Schema:
    """A text that matches `pattern` whole."""
    return {"type": "string", **({"pattern": f"^(?:{pattern}){END}"} if pattern else {}), **more}


def whole(low: int, high: int = MAX) -> Schema:
    """A JSON integer."""
    return {"type": "integer", "minimum": low, "maximum": high}


def obj(**members: Schema) -> Schema:
    """A closed object; a final underscore keeps a name that Python reserves."""
    named = {name.rstrip("_"): schema for name, schema in members.items()}
    return {"type": "object", "additionalProperties": False, "required": list(named), "properties": named}


def body(**members: Schema) -> Schema:
    """A body of schema 1."""
    return obj(schema={"const": 1}, **members)


def many(items: Schema, low: int = 0, high: int | None = None, **more: Any) -> Schema:
    """A list."""
    bounds = {"minItems": low} | ({"maxItems": high} if high is not None else {})
    return {"type": "array", "items": items, **bounds, **more}


def one_of(*words: str) -> Schema:
    """A closed set of words."""
    return {"enum": list(words)}


def maybe(schema: Schema) -> Schema:
    """The schema or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def mapping(keys: str, values: Schema, **more: Any) -> Schema:
    """An object whose member names match `keys`."""
    return {
        "type": "object",
        "additionalProperties": values,
        "propertyNames": {"pattern": f"^(?:{keys}){END}"},
        **more,
    }


UUID = text("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
TIME = text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)", format="date-time")
SITE = text("[a-z][a-z0-9-]{0,31}")
NAME = text("[a-z][a-z0-9_]{0,63}")
USERNAME = text("[a-z_][a-z0-9._-]{0,31}")
REFERENCE = text(r"[^\x00-\x20\x7f](?:[^\x00-\x1f\x7f]{0,126}[^\x00-\x20\x7f])?")
NOTE = maybe(text(minLength=1, maxLength=200))
FINGERPRINT = text("SHA256:[A-Za-z0-9+/]{43}")
KEY_TYPE = (
    r"(?:sk-)?ssh-ed25519(?:@openssh\.com)?|(?:sk-)?ecdsa-sha2-nistp(?:256|384|521)(?:@openssh\.com)?|ssh-rsa"
)
KEY = text(f"(?:{KEY_TYPE}) [A-Za-z0-9+/]+={{0,2}}", maxLength=8192)
UID = whole(1, 2**31 - 1)
COUNT, POSITIVE = whole(0), whole(1)
COMPONENT = r"cpu|memory|storage|ephemeral_storage|gpu\.[a-z0-9][a-z0-9._-]{0,62}"
AMOUNTS = mapping(COMPONENT, whole(0))
GRANTED = mapping(r"cpu|memory|gpu\.[a-z0-9][a-z0-9._-]{0,62}", POSITIVE, required=["cpu", "memory"])
ASKED = mapping(COMPONENT, POSITIVE, required=["cpu", "memory"])
COMMIT = text("[0-9a-f]{40}|[0-9a-f]{64}")
RUN_REF = text("refs/heads/pharos/runs/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
REPOSITORY = obj(url=text(r"https://[^\s/@?#]+/[^\s@?#]+"), commit=COMMIT)
ARGV = many(text(r"[^\x00-\x08\x0b-\x1f\x7f]*"), 1, 256)
VARIABLE = r"(?!SLURM_|SBATCH_|SRUN_|LD_|GIT_|PHAROS_)[A-Za-z_][A-Za-z0-9_]{0,127}"
ENVIRONMENT = mapping(VARIABLE, text())
PART = r"(?!\.{1,2}(?:/|$)|\.git(?:/|$))[^/\x00-\x1f\x7f]+"
PATHS = many(text(f"{PART}(?:/{PART})*/?"), 0, 256)
SECRET = text(r"[\x21-\x7e]{1,16384}")

PROBLEM: Schema = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": text("urn:pharos:problem:[a-z][a-z0-9_]{0,63}"),
        "title": text(),
        "status": whole(400, 599),
        "code": NAME,
        "detail": text(),
        "errors": many(obj(pointer=text(), detail=text())),
        "requestId": text(),
    },
}

RECEIPT = one_of("recorded", "unchanged")
LIFECYCLE = one_of("pending", "ready", "changing", "suspended", "retired")
REASONS = many(
    one_of("project_unbound", "provisioning", "provider_erred", "limits_not_applied"), uniqueItems=True
)
PROVIDER_STATE = one_of("creating", "ok", "updating", "terminating", "terminated", "erred")
LIMITS = {"configured": maybe(AMOUNTS), "applied": maybe(AMOUNTS), "used": maybe(AMOUNTS)}
OUTPUT = maybe(obj(ref=RUN_REF, commit=COMMIT))
STAGE = one_of("stage-in", "compute", "stage-out")
VERDICT = one_of("completed", "failed", "cancelled", "timed_out", "out_of_memory", "node_failed", "lost")

SUBMIT = obj(
    act={"const": "submit"},
    stage=STAGE,
    resources=GRANTED,
    timeLimitSeconds=whole(1, 31_536_000),
    repository=maybe(REPOSITORY),
    compute=maybe(obj(argv=ARGV, environment=ENVIRONMENT)),
    outputs=maybe(obj(paths=PATHS, ref=RUN_REF, largeFileBytes=POSITIVE)),
)
STAGE_NEEDS = {
    "allOf": [
        {
            "if": {"properties": {"stage": {"const": stage}}, "required": ["stage"]},
            "then": {
                "properties": {
                    name: {"type": "object"} if name in wanted else {"type": "null"}
                    for name in ("repository", "compute", "outputs")
                }
            },
        }
        for stage, wanted in (
            ("stage-in", {"repository"}),
            ("compute", {"compute"}),
            ("stage-out", {"repository", "outputs"}),
        )
    ]
}
CANCEL = obj(act={"const": "cancel"}, actor=UUID, reason=NAME)
CLEANUP = obj(act={"const": "cleanup"})
COMMAND = obj(
    sequence=POSITIVE,
    commandId=UUID,
    issuedAt=TIME,
    validUntil=TIME,
    runId=UUID,
    attemptId=UUID,
    attempt=POSITIVE,
    identity=obj(
        username=USERNAME, uidNumber=UID, nativeUid=REFERENCE, account=text("[a-z0-9][a-z0-9._-]{0,63}")
    ),
    action={"oneOf": [{**SUBMIT, **STAGE_NEEDS}, CANCEL, CLEANUP]},
)

KEY_BODY = body(
    keyId=UUID,
    site=SITE,
    name=text(minLength=1, maxLength=64),
    type=text(KEY_TYPE),
    fingerprint=FINGERPRINT,
    publicKey=KEY,
    state=one_of("pending", "active", "removing", "removed", "refused", "held"),
    reason=maybe(NAME),
    addedAt=TIME,
    changedAt=TIME,
    reportedAt=maybe(TIME),
    revision=POSITIVE,
)
SHORT_RUN = {
    "runId": UUID,
    "site": SITE,
    "state": one_of(
        "accepted", "waiting", "running", "cancelling", "completed", "failed", "cancelled", "timed_out"
    ),
    "reason": maybe(NAME),
    "createdBy": UUID,
    "createdAt": TIME,
    "changedAt": TIME,
    "revision": POSITIVE,
}
STAGE_SHOWN = obj(
    stage=STAGE,
    state=one_of("waiting", "issued", "submitted", "running", "done"),
    jobId=maybe(text("[0-9]{1,20}")),
    verdict=maybe(VERDICT),
    exitCode=maybe(whole(0, 255)),
    startedAt=maybe(TIME),
    endedAt=maybe(TIME),
)
RUN = body(
    runId=UUID,
    projectId=UUID,
    site=SITE,
    allocationId=UUID,
    state=SHORT_RUN["state"],
    reason=maybe(NAME),
    repository=REPOSITORY,
    argv=ARGV,
    resources=GRANTED,
    timeLimitSeconds=POSITIVE,
    deadline=TIME,
    createdBy=UUID,
    createdAt=TIME,
    changedAt=TIME,
    revision=POSITIVE,
    attempts=many(obj(attemptId=UUID, number=POSITIVE, stages=many(STAGE_SHOWN))),
    output=OUTPUT,
    cancelledBy=maybe(UUID),
)

HTTP: dict[str, Schema] = {
    "Problem": PROBLEM,
    "SiteGrant": body(
        site=SITE,
        scopes=many(one_of("commands", "ssh-access"), 1, 2, uniqueItems=True),
        grantId=UUID,
        expiresAt=maybe(TIME),
    ),
    "SshAccessChanges": body(
        site=SITE,
        feed=UUID,
        after=COUNT,
        changes=many(
            obj(
                sequence=POSITIVE,
                changeId=UUID,
                act=one_of("present", "absent"),
                keyId=UUID,
                publicKey=KEY,
                fingerprint=FINGERPRINT,
                target=obj(username=USERNAME, uidNumber=UID, entryUUID=UUID),
            ),
            0,
            500,
        ),
        next=COUNT,
        more={"type": "boolean"},
    ),
    "SshAccessResults": body(
        reportId=UUID,
        observedAt=TIME,
        results=many(
            obj(
                changeId=UUID,
                sequence=POSITIVE,
                keyId=UUID,
                outcome=one_of("applied", "removed_from_directory", "pending", "held", "refused"),
                code=maybe(NAME),
            ),
            1,
            500,
        ),
    ),
    "SshAccessReceipts": body(
        receipts=many(obj(changeId=UUID, outcome=one_of("recorded", "unchanged", "stale", "unknown")))
    ),
    "MemberKeyAdd": body(site=SITE, publicKey=text(), name=text(minLength=1, maxLength=64)),
    "MemberKey": KEY_BODY,
    "MemberKeys": body(keys=many(KEY_BODY)),
    "SiteCommands": body(
        site=SITE,
        feed=UUID,
        after=COUNT,
        commands=many(COMMAND, 0, 100),
        next=COUNT,
        more={"type": "boolean"},
    ),
    "CommandAck": body(
        ackId=UUID,
        attemptId=UUID,
        acknowledgedAt=TIME,
        outcome=one_of("accepted", "refused"),
        jobId=maybe(text("[0-9]{1,20}")),
        cluster=maybe(text("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")),
        code=maybe(NAME),
    ),
    "CommandReceipt": body(commandId=UUID, outcome=RECEIPT),
    "CommandResult": body(
        resultId=UUID,
        attemptId=UUID,
        observedAt=TIME,
        verdict=VERDICT,
        exitCode=maybe(whole(0, 255)),
        signal=maybe(whole(0, 127)),
        startedAt=maybe(TIME),
        endedAt=maybe(TIME),
        usage=maybe(obj(elapsedSeconds=COUNT, allocated=AMOUNTS)),
        output=OUTPUT,
        code=maybe(NAME),
    ),
    "MemberTokenRequest": body(attemptId=UUID),
    "MemberToken": body(
        token=SECRET,
        expiresAt=TIME,
        validUntil=TIME,
        repositoryCredential=maybe(obj(username=SECRET, password=SECRET, expiresAt=TIME)),
    ),
    "SiteMaintenance": body(
        statementId=UUID, observedAt=TIME, draining={"type": "boolean"}, until=maybe(TIME), reason=NOTE
    ),
    "AllocationReport": body(
        reportId=UUID,
        observedAt=TIME,
        resources=many(
            obj(
                resourceId=UUID,
                offeringId=UUID,
                providerProjectRef=REFERENCE,
                nativeName=maybe(REFERENCE),
                state=PROVIDER_STATE,
                paused={"type": "boolean"},
                **LIMITS,
            ),
            0,
            1000,
        ),
    ),
    "AllocationReportOutcomes": body(
        reportId=UUID,
        receivedAt=TIME,
        outcomes=many(
            obj(
                resourceId=UUID,
                allocationId=maybe(UUID),
                outcome=one_of(
                    "changed", "seen", "unchanged", "stale_report", "conflicting_report", "refused"
                ),
                revision=maybe(POSITIVE),
                code=maybe(NAME),
            )
        ),
    ),
    "SiteAllocation": body(
        allocationId=UUID,
        site=SITE,
        resourceId=UUID,
        projectId=maybe(UUID),
        revision=POSITIVE,
        lifecycle=LIFECYCLE,
        reasons=REASONS,
        state=PROVIDER_STATE,
        paused={"type": "boolean"},
        **LIMITS,
        observedAt=TIME,
        lastSeenAt=TIME,
    ),
    "AccountReport": body(
        reportId=UUID,
        observedAt=TIME,
        allocationId=UUID,
        accounts=many(
            obj(
                partyId=UUID,
                name=text(),
                nativeUid=text(r"[^\x00-\x1f\x7f]{1,255}"),
                uidNumber=maybe(UID),
                bindingId=UUID,
                generation=POSITIVE,
                state=one_of("ready", "incomplete"),
            ),
            0,
            10_000,
        ),
    ),
    "AccountReportReceipt": body(
        reportId=UUID, allocationId=UUID, outcome=RECEIPT, accounts=COUNT, receivedAt=TIME
    ),
    "SiteMember": body(
        projectId=UUID,
        partyId=UUID,
        bindingId=UUID,
        bindingRevision=POSITIVE,
        generation=POSITIVE,
        state=one_of("active", "retired"),
    ),
    "RetainedAccounts": body(
        site=SITE,
        asOf=TIME,
        count=COUNT,
        accounts=many(
            obj(projectId=UUID, partyId=UUID, bindingId=UUID, generation=POSITIVE, username=USERNAME),
            uniqueItems=True,
        ),
    ),
    "ProjectAllocations": body(
        projectId=UUID,
        allocations=many(
            obj(
                allocationId=UUID,
                site=SITE,
                revision=POSITIVE,
                lifecycle=LIFECYCLE,
                reasons=REASONS,
                **LIMITS,
                observedAt=TIME,
            )
        ),
    ),
    "RunCreate": body(
        site=SITE,
        allocationId=maybe(UUID),
        repository=REPOSITORY,
        argv=ARGV,
        environment=ENVIRONMENT,
        resources=ASKED,
        timeLimitSeconds=whole(1, 31_536_000),
        outputs=PATHS,
        deadline=TIME,
    ),
    "Run": RUN,
    "RunList": body(projectId=UUID, runs=many(obj(**SHORT_RUN)), nextPageToken=maybe(text())),
    "RunCancel": body(reason=NOTE),
}
"""Bodies of HTTP calls by the name of their schema; `golden_name` gives their golden's."""

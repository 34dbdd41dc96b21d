"""The values of docs/wire.md as JSON Schema (2020-12): http_bodies.py and message_schemas.py build on them.

`make docs` writes docs/openapi.json and docs/messages.schema.json from this; `tests/contract/test_schemas.py`
runs every golden against it. What a schema cannot say (orders, sums, one field against another) is said in
docs/wire.md and listed in that test. Every object is closed and every member required.
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

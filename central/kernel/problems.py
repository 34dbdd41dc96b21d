"""Refusals as RFC 9457 problem documents, each with a stable ``code``.

A context declares its own ``ProblemSpec`` constants and one ``PROBLEMS = problem_table(...)`` in its
``problems.py``; ``docs/errors.md`` is generated from those tables. Raising is ``raise Problem(SPEC, "what was
found; what was wanted; what to do")``. A detail never repeats a value that may be a secret (X5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

JsonScalar = str | int | bool | None


@dataclass(frozen=True, slots=True)
class ProblemSpec:
    """One kind of refusal: its code, HTTP status, title, when it is answered and what the caller can do."""

    code: str
    status: int
    title: str
    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True)
class FieldError:
    """Where in the body (JSON Pointer, RFC 6901) or in the query (the parameter's name) and what is wrong."""

    pointer: str
    detail: str


class Problem(Exception):
    """A refusal on its way to the caller. ``extra`` joins the document, ``headers`` the answer."""

    def __init__(
        self,
        spec: ProblemSpec,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        extra: Mapping[str, JsonScalar] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{spec.code}: {detail}")
        self.spec = spec
        self.detail = detail
        self.errors = tuple(errors)
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})

    @property
    def code(self) -> str:
        """The stable code."""
        return self.spec.code

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.spec.status

    def document(self, *, request_id: str | None = None) -> bytes:
        """Return the ``application/problem+json`` body."""
        body: dict[str, object] = {
            "type": f"urn:pharos:problem:{self.spec.code}",
            "title": self.spec.title,
            "status": self.spec.status,
            "code": self.spec.code,
            "detail": self.detail,
        }
        if self.errors:
            body["errors"] = [{"pointer": e.pointer, "detail": e.detail} for e in self.errors]
        body.update(self.extra)
        if request_id is not None:
            body["requestId"] = request_id
        return msgspec.json.encode(body)


def problem_table(*specs: ProblemSpec) -> Mapping[str, ProblemSpec]:
    """Return the specs by code; ``ValueError`` if two share one."""
    table = {spec.code: spec for spec in specs}
    if len(table) != len(specs):
        raise ValueError("two problems share one code")
    return table


def _spec(code: str, status: int, title: str, meaning: str, remedy: str) -> ProblemSpec:
    return ProblemSpec(code, status, title, meaning, remedy)


# fmt: off
BODY_INVALID = _spec(
    "body_invalid", 400, "The body does not fit its schema",
    "A field is missing, unknown, of another type or out of range; `errors` names each place.",
    "Correct the named fields; docs/wire.md holds the schema.",
)
JSON_NOT_UTF8 = _spec(
    "json_not_utf8", 400, "The body is not UTF-8",
    "The body holds a byte sequence that is not UTF-8.",
    "Encode the body as UTF-8 without a byte order mark.",
)
JSON_MALFORMED = _spec(
    "json_malformed", 400, "The body is not JSON",
    "The body breaks RFC 8259 (NaN and Infinity included).",
    "Send one JSON object.",
)
JSON_NOT_OBJECT = _spec(
    "json_not_object", 400, "The body is not a JSON object",
    "The top of the body is not an object.",
    "Send one JSON object.",
)
JSON_DUPLICATE_KEY = _spec(
    "json_duplicate_key", 400, "A key appears twice",
    "An object in the body names one key more than once.",
    "Send each key once.",
)
JSON_BAD_STRING = _spec(
    "json_bad_string", 400, "A string cannot be stored",
    "A string holds NUL or a lone surrogate.",
    "Send Unicode text without U+0000 and without unpaired surrogates.",
)
JSON_BAD_NUMBER = _spec(
    "json_bad_number", 400, "A number is out of range",
    "A number has too many digits or no finite value.",
    "Send integers of at most 19 digits.",
)
JSON_TOO_DEEP = _spec(
    "json_too_deep", 400, "The body is nested too deeply",
    "Objects and arrays nest deeper than the limit.",
    "Send the shape that docs/wire.md shows.",
)
JSON_TOO_MANY_ITEMS = _spec(
    "json_too_many_items", 400, "The body holds too many values",
    "The body holds more values than the limit.",
    "Split the body.",
)
TIME_INVALID = _spec(
    "time_invalid", 400, "A time is not RFC 3339",
    "A time is naive, lenient, a leap second, infinite or has more than 6 fractional digits.",
    "Send a time like 2026-01-31T12:00:00Z.",
)
QUERY_INVALID = _spec(
    "query_invalid", 400, "A query parameter is refused",
    "A query parameter is unknown, repeated or out of range; `errors` names it.",
    "Send only documented parameters, each once.",
)
REQUEST_MALFORMED = _spec(
    "request_malformed", 400, "The request is malformed",
    "The request breaks HTTP, its path holds NUL, or a required header is missing or unreadable.",
    "Correct what the detail names.",
)
UNAUTHENTICATED = _spec(
    "unauthenticated", 401, "No valid credential",
    "The Authorization header is missing, malformed, or its credential is unknown, expired or revoked.",
    "Send exactly one `Authorization: Bearer <token>` header with a valid token.",
)
FORBIDDEN = _spec(
    "forbidden", 403, "The credential does not allow this",
    "The credential is valid but its scope does not cover this request.",
    "Use a credential with that scope.",
)
NOT_FOUND = _spec(
    "not_found", 404, "Nothing answers here",
    "No such path or thing, or not for this credential. Doubled and encoded slashes name nothing.",
    "Check the path against docs/wire.md.",
)
METHOD_NOT_ALLOWED = _spec(
    "method_not_allowed", 405, "The method is not allowed here",
    "The path exists, the method does not.",
    "Use a method of the Allow header.",
)
NOT_ACCEPTABLE = _spec(
    "not_acceptable", 406, "No acceptable answer",
    "The answer cannot take the form that was asked for.",
    "Accept application/json.",
)
SCHEMA_UNSUPPORTED = _spec(
    "schema_unsupported", 406, "No common schema",
    "The range in `Pharos-Schema` holds no schema number this central speaks.",
    "Upgrade the older of the two ends; docs/wire.md lists the numbers.",
)
COMMAND_REUSED = _spec(
    "command_reused", 409, "The command id was used for another request",
    "A command with this id was recorded with other content; nothing was changed.",
    "Use a new id for a new command, the same id only for the very same request.",
)
VERSION_CONFLICT = _spec(
    "version_conflict", 409, "The state changed meanwhile",
    "Another command changed the same thing first, and kept doing so on every retry.",
    "Read again, then decide.",
)
LENGTH_REQUIRED = _spec(
    "length_required", 411, "The length is missing",
    "The request has a chunked body, whose length is not known beforehand.",
    "Send Content-Length.",
)
BODY_TOO_LARGE = _spec(
    "body_too_large", 413, "The body is too large",
    "The body is larger than this route's cap, which the detail names.",
    "Split the body.",
)
URI_TOO_LONG = _spec(
    "uri_too_long", 414, "The path is too long",
    "The path or the query is longer than the limit.",
    "Shorten it.",
)
MEDIA_TYPE_REFUSED = _spec(
    "media_type_refused", 415, "The content type is refused",
    "The body is not `application/json` (with `charset=utf-8` or no parameter).",
    "Send Content-Type: application/json.",
)
CONTENT_ENCODING_REFUSED = _spec(
    "content_encoding_refused", 415, "Encoded bodies are refused",
    "The request carries a Content-Encoding; it is refused before authentication.",
    "Send the body as it is.",
)
HEADERS_TOO_LARGE = _spec(
    "headers_too_large", 431, "The headers are too large",
    "The headers are larger than the limit.",
    "Shorten them.",
)
OBSERVED_IN_FUTURE = _spec(
    "observed_in_future", 422, "The observation is ahead of our clock",
    "A report was observed more than 5 s ahead of central's clock and could block later ones.",
    "Set the host's clock (chrony, systemd-timesyncd) and report again.",
)
INTERNAL_ERROR = _spec(
    "internal_error", 500, "A fault of ours",
    "The request met a defect; the log holds it under the request id.",
    "Report the request id.",
)
STATE_CORRUPT = _spec(
    "state_corrupt", 500, "Stored state is corrupt",
    "What is stored contradicts its own digest, version or id. It is refused, never repaired.",
    "An operator restores the row from a backup; retrying does not help.",
)
DATABASE_UNAVAILABLE = _spec(
    "database_unavailable", 503, "The database is unavailable",
    "The database cannot be reached or written now.",
    "Ask again later; a command, with the id it had.",
)
DATABASE_BUSY = _spec(
    "database_busy", 503, "The database is busy",
    "No connection became free, or a lock or statement timed out.",
    "Ask again later; a command, with the id it had.",
)
OUTCOME_UNKNOWN = _spec(
    "outcome_unknown", 503, "The outcome is unknown",
    "The connection broke while the change was being committed: it may have happened or not.",
    "Retry with the same command id: the receipt tells.",
)
SHUTTING_DOWN = _spec(
    "shutting_down", 503, "The service is stopping",
    "This process is shutting down.",
    "Retry.",
)
UNAVAILABLE = _spec(
    "unavailable", 503, "Something needed is unavailable",
    "A system this answer depends on cannot be read now.",
    "Retry later.",
)

PROBLEMS: Mapping[str, ProblemSpec] = problem_table(
    BODY_INVALID, JSON_NOT_UTF8, JSON_MALFORMED, JSON_NOT_OBJECT, JSON_DUPLICATE_KEY,
    JSON_BAD_STRING, JSON_BAD_NUMBER, JSON_TOO_DEEP, JSON_TOO_MANY_ITEMS, TIME_INVALID,
    QUERY_INVALID, REQUEST_MALFORMED, UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE, SCHEMA_UNSUPPORTED, COMMAND_REUSED, OBSERVED_IN_FUTURE,
    VERSION_CONFLICT, LENGTH_REQUIRED, BODY_TOO_LARGE, URI_TOO_LONG,
    MEDIA_TYPE_REFUSED, CONTENT_ENCODING_REFUSED, HEADERS_TOO_LARGE, INTERNAL_ERROR, STATE_CORRUPT,
    DATABASE_UNAVAILABLE, DATABASE_BUSY, OUTCOME_UNKNOWN, SHUTTING_DOWN, UNAVAILABLE,
)
# fmt: on
"""Every problem the kernel itself answers; contexts add their own tables."""

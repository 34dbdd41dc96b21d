"""``state.json``, schema 1: success records and releases known to be bad (I13, row 26).

1. A newer schema is refused by its number and the file is left as it is (B31).
2. Anything else that cannot be read is *broken*: the caller moves it aside and rebuilds, or exits 9. It
   never reads
   as "nothing installed" (X1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from installer.domain.activation import SuccessRecord
from installer.domain.refusal import UNFINISHED_JOURNAL, Refusal
from installer.domain.strict_json import StrictJsonError, decode_object, encode_canonical

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRelease:
    """A release that did not become healthy here; not activated again without being asked to
    (``--retry-bad``).
    """

    component: str
    release: str
    at: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The installer's memory."""

    components: Mapping[str, SuccessRecord] = field(default_factory=dict)
    bad: tuple[BadRelease, ...] = ()

    def with_record(self, component: str, record: SuccessRecord | None) -> "State":
        """The state after a record was written or removed; a success takes the release off the bad list."""
        kept = {name: value for name, value in self.components.items() if name != component}
        bad = self.bad
        if record is not None:
            kept[component] = record
            bad = tuple(
                entry for entry in bad if (entry.component, entry.release) != (component, record.release)
            )
        return replace(self, components=kept, bad=bad)

    def with_bad(self, entry: BadRelease) -> "State":
        """The state after a release turned out bad."""
        others = tuple(b for b in self.bad if (b.component, b.release) != (entry.component, entry.release))
        return replace(self, bad=(*others, entry))

    def badness(self, component: str, release: str) -> BadRelease | None:
        """Why ``release`` is remembered as bad, or None."""
        return next((b for b in self.bad if (b.component, b.release) == (component, release)), None)


class BrokenStateError(ValueError):
    """The file is there and is no state of schema 1."""


def encode_state(state: State) -> bytes:
    """The file's bytes."""
    return encode_canonical({"schema": SCHEMA, **msgspec.to_builtins(state)})


def decode_state(data: bytes) -> State:
    """The state in ``data``. Raises Refusal ``state_newer`` (exit 9) and BrokenStateError."""
    try:
        document = decode_object(data)
    except StrictJsonError as error:
        raise BrokenStateError(str(error)) from error
    schema = document.pop("schema", None)
    if isinstance(schema, int) and not isinstance(schema, bool) and schema > SCHEMA:
        raise Refusal(
            "state_newer",
            found=f"state.json of schema {schema}",
            wanted=f"schema {SCHEMA}",
            remedy="A newer installer wrote it; run that version. The file was not touched.",
            exit_code=UNFINISHED_JOURNAL,
        )
    if schema != SCHEMA:
        raise BrokenStateError("no schema number")
    if document.keys() != {"components", "bad"}:
        raise BrokenStateError("other keys than components and bad")
    try:
        return msgspec.convert(document, State, strict=True)
    except msgspec.ValidationError as error:
        raise BrokenStateError(str(error)) from error

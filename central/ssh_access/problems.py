"""The refusals of member keys and of a Site's reports (docs/wire.md)."""

from collections.abc import Mapping
from typing import Final

from central.kernel.problems import ProblemSpec, problem_table
from central.ssh_access.domain.refusals import REMEDIES, Refusal

_TITLES: Final = {
    Refusal.EMPTY: "The line is empty",
    Refusal.TOO_LONG: "The line is too long",
    Refusal.SEVERAL_LINES: "There is more than one line",
    Refusal.CONTROL_CHARACTER: "The line holds an invisible character",
    Refusal.PRIVATE_KEY: "This is a private key",
    Refusal.RFC4716: "This is an RFC 4716 key block",
    Refusal.PEM: "This is a PEM block",
    Refusal.OPTIONS: "The line starts with options",
    Refusal.CERTIFICATE: "This is a certificate",
    Refusal.TYPE_UNSUPPORTED: "The key's type is not supported",
    Refusal.NO_BLOB: "The key itself is missing",
    Refusal.BASE64: "The key is not canonical base64",
    Refusal.BASE64_PADDING: "The key's base64 padding is wrong",
    Refusal.TYPE_MISMATCH: "The line and the key name different types",
    Refusal.BLOB_MALFORMED: "The key is malformed",
    Refusal.TRAILING_BYTES: "Something follows the key",
    Refusal.RSA_SIZE: "The RSA key's size is refused",
}

KEY_REFUSED: Final = {
    refusal: ProblemSpec(
        code=refusal.value,
        status=422,
        title=title,
        meaning="The pasted line breaks a rule of the key grammar (docs/wire.md).",
        remedy=REMEDIES[refusal],
    )
    for refusal, title in _TITLES.items()
}
"""One problem a rule of the grammar."""

NOT_ELIGIBLE = ProblemSpec(
    code="not_eligible",
    status=403,
    title="Not eligible at this Site",
    meaning="The member has no fresh, ready allocation at the Site (P30).",
    remedy="Ask a manager of the Project for an allocation there.",
)
KEY_EXISTS = ProblemSpec(
    code="key_exists",
    status=409,
    title="The key is there already",
    meaning="The same key of this member stands at the Site or is still being removed there.",
    remedy="Use the key that is there; one being removed can be added again once it is removed.",
)
KEY_LIMIT = ProblemSpec(
    code="key_limit",
    status=409,
    title="Too many keys",
    meaning="The member has as many keys at the Site as may stand there.",
    remedy="Remove a key that is no longer used.",
)
KEY_UNKNOWN = ProblemSpec(
    code="key_unknown",
    status=404,
    title="No such key",
    meaning="This member has no key of this id.",
    remedy="List the keys and use an id from there.",
)
PROBLEMS: Mapping[str, ProblemSpec] = problem_table(
    *KEY_REFUSED.values(),
    NOT_ELIGIBLE,
    KEY_EXISTS,
    KEY_LIMIT,
    KEY_UNKNOWN,
)

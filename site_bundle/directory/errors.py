"""What the directory answers, mapped once: ldap3's exceptions and result codes go no further than this
room.
"""

from __future__ import annotations

from site_bundle.kernel.errors import RefusedError, UnavailableError


class DirectoryUnavailableError(UnavailableError):
    """The directory could not be asked, or answered with less than the whole."""


class DirectoryRefusedError(RefusedError):
    """The directory refuses this change for a reason that stays (its `result` is the LDAP result code)."""

    def __init__(self, code: str, *, result: int, found: str, wanted: str = "", remedy: str = "") -> None:
        super().__init__(code, found=found, wanted=wanted, remedy=remedy)
        self.result = result


class WrongIdentityError(DirectoryUnavailableError):
    """The socket is open, but slapd knows us by another name: nothing is read or written under it (B11)."""


# RFC 4511, 4.1.9.
SUCCESS = 0
SIZE_LIMIT = 4
COMPARE_FALSE = 5
COMPARE_TRUE = 6
REFERRAL = 10
NO_SUCH_ATTRIBUTE = 16
TYPE_OR_VALUE_EXISTS = 20
NO_SUCH_OBJECT = 32
ASSERTION_FAILED = 122  # RFC 4528
# Definite for this value on this entry: constraint, syntax, access rights, object class.
DEFINITE = {
    17: "undefinedAttributeType",
    19: "constraintViolation",
    21: "invalidAttributeSyntax",
    50: "insufficientAccessRights",
    65: "objectClassViolation",
}


def incomplete(result: int, text: str) -> DirectoryUnavailableError:
    """A search that did not give the whole answer."""
    if result == SIZE_LIMIT:
        return DirectoryUnavailableError(
            "directory_size_limit",
            found="the server cut the answer (sizeLimitExceeded)",
            wanted="the whole answer",
            remedy="raise olcSizeLimit, or olcLimits for this identity",
        )
    if result == REFERRAL:
        return DirectoryUnavailableError(
            "directory_referral",
            found="the server refers to another one",
            wanted="the site's own answer",
            remedy="use the socket of the server that holds the people's base and takes writes",
        )
    return DirectoryUnavailableError(
        "directory_unavailable",
        found=f"result {result} {text}".strip(),
        remedy="look at slapd's log; it is tried again",
    )

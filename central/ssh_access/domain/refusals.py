"""Why a pasted line is no key we accept: one stable code a reason, with the remedy in words."""

from enum import StrEnum
from typing import Final


class Refusal(StrEnum):
    """The closed set of reasons (C cases). The value is what a member and the tests read."""

    EMPTY = "key_empty"
    TOO_LONG = "key_too_long"
    SEVERAL_LINES = "key_multiple_lines"
    CONTROL_CHARACTER = "key_control_character"
    PRIVATE_KEY = "key_private"
    RFC4716 = "key_format_rfc4716"
    PEM = "key_format_pem"
    OPTIONS = "key_options"
    CERTIFICATE = "key_certificate"
    TYPE_UNSUPPORTED = "key_unsupported_type"
    NO_BLOB = "key_no_blob"
    BASE64 = "key_bad_base64"
    BASE64_PADDING = "key_base64_padding"
    TYPE_MISMATCH = "key_type_mismatch"
    BLOB_MALFORMED = "key_blob_malformed"
    TRAILING_BYTES = "key_trailing_bytes"
    RSA_SIZE = "key_rsa_size"


_WHOLE_LINE: Final = "Paste the one line of the file that ends in .pub, whole."
_CONVERT: Final = "Convert it with `ssh-keygen -i -f FILE` and paste the one line that prints."

REMEDIES: Final = {
    Refusal.EMPTY: _WHOLE_LINE,
    Refusal.TOO_LONG: _WHOLE_LINE,
    Refusal.SEVERAL_LINES: "Add each key by itself, one line at a time.",
    Refusal.CONTROL_CHARACTER: _WHOLE_LINE,
    Refusal.PRIVATE_KEY: (
        "This is the secret half. Nothing of it was kept; make a new pair with `ssh-keygen -t ed25519` "
        "and paste the .pub file."
    ),
    Refusal.RFC4716: _CONVERT,
    Refusal.PEM: "Convert it with `ssh-keygen -i -m PKCS8 -f FILE` and paste the one line that prints.",
    Refusal.OPTIONS: "Remove everything before the key's type; options are not accepted.",
    Refusal.CERTIFICATE: "Paste the plain public key the certificate was made from.",
    Refusal.TYPE_UNSUPPORTED: "Make a key with `ssh-keygen -t ed25519`.",
    Refusal.NO_BLOB: _WHOLE_LINE,
    Refusal.BASE64: _WHOLE_LINE,
    Refusal.BASE64_PADDING: f"{_WHOLE_LINE} The '=' at the end of its middle part belongs to it.",
    Refusal.TYPE_MISMATCH: _WHOLE_LINE,
    Refusal.BLOB_MALFORMED: _WHOLE_LINE,
    Refusal.TRAILING_BYTES: _WHOLE_LINE,
    Refusal.RSA_SIZE: "Make a key with `ssh-keygen -t ed25519`, or `ssh-keygen -t rsa -b 4096`.",
}


class KeyRefused(Exception):
    """A line that is not accepted: its stable code, and what was seen (never the key itself)."""

    def __init__(self, refusal: Refusal, found: str) -> None:
        super().__init__(found)
        self.refusal = refusal
        self.found = found

    @property
    def remedy(self) -> str:
        """What the member does now."""
        return REMEDIES[self.refusal]

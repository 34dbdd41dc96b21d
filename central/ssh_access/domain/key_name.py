"""The name a member gives a key: for people, never for programs."""

import unicodedata
from typing import Final

LENGTH_MAX: Final = 64
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class NameRefused(ValueError):
    """The text is no name; the message says what is wanted."""


def check_name(text: str) -> str:
    """The text, if it is 1 to 64 characters in NFC, none invisible, no blank at an end (C18, E23)."""
    if not 1 <= len(text) <= LENGTH_MAX:
        raise NameRefused(f"a name has 1 to {LENGTH_MAX} characters")
    if text != text.strip():
        raise NameRefused("a name has no blank at its ends")
    if not unicodedata.is_normalized("NFC", text):
        raise NameRefused("a name is in Unicode's normal form C")
    if any(unicodedata.category(character) in _UNSEEN for character in text):
        raise NameRefused("a name has no control or other invisible character")
    return text

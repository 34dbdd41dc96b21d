"""Rules for single values of a profile that a schema cannot say; a refused value is never quoted.

Each raises Refusal ``profile_invalid`` (exit 2) naming the place alone: a value may be a secret in the
wrong place.
"""

from pathlib import PurePosixPath
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from installer.domain.refusal import USAGE, Refusal

API_PATH = "/api/"


def check_origin(where: str, url: str) -> str:
    """The host of an HTTPS origin: no path, query, fragment or user (I18)."""
    parts = _https(url)
    if parts is None or parts.path or not parts.hostname:
        refuse(
            where,
            "an HTTPS origin: https://HOST[:PORT], no path, no user",
            "Give the origin alone (I18).",
        )
    return _host(parts)


def check_api_url(where: str, url: str) -> str:
    """The host of Waldur's API: an HTTPS URL whose path ends in ``/api/``."""
    parts = _https(url)
    if parts is None or not parts.hostname or not parts.path.endswith(API_PATH) or "//" in parts.path:
        refuse(where, f"https://HOST[:PORT]…{API_PATH}", "Write the API's URL with its last slash.")
    return _host(parts)


def check_path(where: str, path: str, *, optional: bool = False) -> None:
    """An absolute path; empty only where it is ``optional``."""
    if (path or not optional) and not is_plain_path(path):
        wanted = "an absolute path, or empty" if optional else "an absolute path without `..`"
        refuse(where, wanted, "Name the file or folder by its whole path.")


def check_name(where: str, name: str) -> None:
    """A distinguished name as text."""
    if "=" not in name or not name.isprintable():
        refuse(where, "a distinguished name (RFC 4514)", "Write it as the directory does.")


def is_plain_path(text: str) -> bool:
    """An absolute, printable path without ``.`` and ``..`` parts and doubled slashes."""
    path = PurePosixPath(text)
    return (
        path.is_absolute()
        and str(path) == text
        and ".." not in path.parts
        and text.isprintable()
        and text != "/"
    )


def refuse(where: str, wanted: str, remedy: str) -> NoReturn:
    """Raise ``profile_invalid`` for the value at ``where``."""
    raise invalid(where, wanted, remedy)


def invalid(where: str, wanted: str, remedy: str) -> Refusal:
    """The refusal ``profile_invalid``."""
    return Refusal(
        "profile_invalid",
        found=f"profile: {where} is not acceptable",
        wanted=wanted,
        remedy=remedy,
        exit_code=USAGE,
    )


def _https(url: str) -> SplitResult | None:
    """The parts of an HTTPS URL without user, query and fragment; None for any other text."""
    try:
        parts = urlsplit(url)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        return None
    extra = parts.query or parts.fragment or parts.username is not None or parts.password is not None
    if parts.scheme != "https" or extra or not port_ok or not url.isascii() or not url.isprintable():
        return None
    return parts


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".").casefold()

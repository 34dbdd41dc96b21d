"""The one approved package index of dependency mode ``index`` (I5).

It answers over HTTPS under its own name, needs no credential in its URL, and what it links to lies on the
same origin: a redirect or a link to another host, port or scheme is not followed
(``installer.bootstrap.worker``).
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

_HTTPS = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Where the wheels come from: the simple API's URL (PEP 503), and the file of its certificate authority;
    empty means the system's store.
    """

    url: str
    ca_file: str = ""

    @property
    def origin(self) -> str:
        """``https://host:port``, the only one that is ever asked."""
        parts = urlsplit(self.url)
        return f"https://{parts.hostname}:{parts.port or _HTTPS}"


def index_fault(url: str) -> str | None:
    """Why ``url`` can be no approved index, without quoting it (it may hold a credential), or None."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "no URL"
    if parts.scheme != "https":
        return "not https"
    if parts.username is not None or parts.password is not None:
        return "a credential in the URL"
    if not parts.hostname or not url.isascii() or not url.isprintable() or " " in url:
        return "no host, or characters no URL has"
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "a query or a fragment"
    return "port 0" if port == 0 else None

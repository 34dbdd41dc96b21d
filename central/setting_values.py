"""How the text of a setting becomes its value (X6): each raises ``ValueError`` saying what was wanted, never
what was found (X5).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from central.kernel.integers import parse_integer
from central.kernel.private_files import check_private_file
from central.kernel.site_names import is_site_name

_INTAKE_KEY = re.compile(r"[A-Za-z0-9\-._~+/]{32,512}=*")
_INTAKE_KEYS = 2
_CONSENT_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")
_AUDIENCE = re.compile(r"[!-+\--~]{1,255}")


@dataclass(frozen=True, slots=True)
class Listen:
    """Where a process listens."""

    host: str
    port: int


def one_of(*allowed: str) -> Callable[[str], str]:
    """One of these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"wanted one of {', '.join(allowed)}")
        return text

    return parse


def whole_number(minimum: int, maximum: int) -> Callable[[str], int]:
    """Plain ASCII digits within these bounds (D13)."""
    return lambda text: parse_integer(text, minimum=minimum, maximum=maximum)


def parse_database_url(text: str) -> str:
    """A PostgreSQL URL."""
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("wanted a URL like postgresql://role:password@host:5432/database")
    try:
        conninfo_to_dict(text)
    except ProgrammingError:
        raise ValueError(
            "not a PostgreSQL URL; wanted postgresql://role:password@host:5432/database"
        ) from None
    return text


def parse_listen(text: str) -> Listen:
    """`ADDRESS:PORT`, IPv6 in brackets."""
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+|localhost)):([0-9]{1,5})", text)
    if match is None:
        raise ValueError("wanted ADDRESS:PORT, like 127.0.0.1:8443 or [::1]:8443")
    host = match[1] or match[2]
    if host != "localhost":
        ip_address(host)
    return Listen(host, parse_integer(match[3], minimum=1, maximum=65535))


def parse_loopback_listen(text: str) -> Listen:
    """As `parse_listen`, a literal loopback address alone: a name could lead elsewhere."""
    listen = parse_listen(text)
    if listen.host == "localhost" or not ip_address(listen.host).is_loopback:
        raise ValueError("wanted a loopback ADDRESS:PORT, like 127.0.0.1:8449 or [::1]:8449")
    return listen


def parse_https_url(text: str) -> str:
    """A URL without user, query or fragment; plain http is judged by the environment."""
    if re.fullmatch(r"https?://[^\s?#@]+", text) is None:
        raise ValueError("wanted an https URL without user, query or fragment")
    return text


def parse_text(text: str) -> str:
    """At most 256 printable characters."""
    if len(text) > 256 or not text.isprintable():
        raise ValueError("wanted at most 256 printable characters")
    return text


def parse_file(text: str) -> Path:
    """The absolute path of a file that is there."""
    path = Path(text)
    if not path.is_absolute() or not path.is_file():
        raise ValueError("wanted the absolute path of an existing file")
    return path


def parse_private_file(text: str) -> Path:
    """As `parse_file`, not open to others."""
    path = parse_file(text)
    check_private_file(path)
    return path


def parse_sites(text: str) -> tuple[str, ...]:
    """Distinct environment names."""
    sites = tuple(text.split(","))
    if len(set(sites)) != len(sites) or not all(is_site_name(site) for site in sites):
        raise ValueError(
            "wanted distinct Site names, comma-separated, each [a-z][a-z0-9-]{0,31}, like slurm,k8s"
        )
    return sites


def parse_names(text: str) -> tuple[str, ...]:
    """Distinct lower-case names."""
    names = tuple(text.split(","))
    if len(set(names)) != len(names) or not all(
        re.fullmatch(r"[a-z][a-z0-9-]{0,31}", name) for name in names
    ):
        raise ValueError("wanted distinct names, comma-separated, each [a-z][a-z0-9-]{0,31}")
    return names


def parse_intake_keys(text: str) -> tuple[str, ...]:
    """One intake key, or two while it is changed (P11)."""
    keys = tuple(text.split(","))
    if not 1 <= len(keys) <= _INTAKE_KEYS or len(set(keys)) != len(keys):
        raise ValueError("wanted one key, or two different ones with a comma while they are changed")
    if not all(_INTAKE_KEY.fullmatch(key) for key in keys):
        raise ValueError("wanted keys of 32 to 512 letters, digits and -._~+/ (base64 of 32 random bytes)")
    return keys


def parse_consent_keys(text: str) -> tuple[str, ...]:
    """Fernet keys, the newest first."""
    keys = tuple(text.split(","))
    if len(set(keys)) != len(keys) or not all(_CONSENT_KEY.fullmatch(key) for key in keys):
        raise ValueError("wanted different keys of 32 bytes in base64url (44 characters), comma-separated")
    return keys


def parse_audiences(text: str) -> Mapping[str, str]:
    """`<site>=<audience>`, each Site once."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(is_site_name(site) and _AUDIENCE.fullmatch(audience) for site, _, audience in pairs):
        raise ValueError("wanted <site>=<audience>, comma-separated, like slurm=slurm.icarus")
    found = {site: audience for site, _, audience in pairs}
    if len(found) != len(pairs) or len(set(found.values())) != len(pairs):
        raise ValueError("wanted each Site once, each with an audience of its own")
    return MappingProxyType(found)


def parse_addresses(text: str) -> tuple[str, ...]:
    """IP addresses."""
    return tuple(str(ip_address(part.strip())) for part in text.split(","))

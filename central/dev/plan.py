"""What a development stack is to be, and where its things lie. No process is started here."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from central.kernel.site_names import is_site_name

_LISTEN: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9.]+|localhost):([0-9]{1,5})")
_DNS: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")

AUDIENCE: Final = "pharos"
DATABASE: Final = "pharos_central"
ROLES: Final = {
    "site_api": "pharos_site_api",
    "member_api": "pharos_member_api",
    "operator": "pharos_operator",
}
"""A process, as its settings name it, and its database role."""


class DevRefused(Exception):
    """The stack cannot run like this; the message says what was found and what to do."""


@dataclass(frozen=True, slots=True)
class DevPlan:
    """The stack. `site_port` 0: the last start's port, or a free one; `tls_name` None: plain loopback."""

    state: Path
    site_host: str
    site_port: int
    tls_name: str | None
    sites: tuple[str, ...]
    pollers: int

    @classmethod
    def of(
        cls,
        *,
        state: Path,
        site_listen: str | None,
        tls_name: str | None,
        sites: tuple[str, ...],
        pollers: int,
    ) -> "DevPlan":
        """Checks what was typed. Raises `DevRefused`."""
        host, port = "127.0.0.1", 0
        if site_listen is not None:
            match = _LISTEN.fullmatch(site_listen)
            if match is None or int(match[2]) > 65_535:
                raise DevRefused(f"--site-listen {site_listen}: wanted ADDRESS:PORT, such as 10.0.3.1:8443")
            host, port = match[1], int(match[2])
            if tls_name is None and host not in ("127.0.0.1", "localhost", "[::1]"):
                raise DevRefused(
                    "--site-listen beyond loopback carries grants over a network: add --tls-name"
                )
        if tls_name is not None and not _DNS.fullmatch(tls_name):
            raise DevRefused(f"--tls-name {tls_name!r} is no lower-case DNS name, such as central.lab.test")
        for site in sites:
            if not is_site_name(site):
                raise DevRefused(f"--site {site!r} is no environment's name, such as slurm")
        return cls(state.resolve(), host, port, tls_name, tuple(dict.fromkeys(sites)), pollers)

    @property
    def dev_json(self) -> Path:
        """What the running stack says of itself: URLs, paths, process ids."""
        return self.state / "dev.json"

    @property
    def accounts(self) -> Path:
        """The stand-in's file; made once, then the developer's."""
        return self.state / "accounts.json"

    @property
    def secrets(self) -> Path:
        """Folder, 0700, of each role's database URL."""
        return self.state / "secrets"

    @property
    def tls(self) -> Path:
        """Folder of the development CA and the Site API's certificate."""
        return self.state / "tls"

    @property
    def logs(self) -> Path:
        """Folder of each process's lines."""
        return self.state / "log"

    def url_file(self, process: str) -> Path:
        """Where the database URL of a process stands."""
        return self.secrets / f"{process}-database-url"

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
    "owner": "pharos_resource_provisioning",
    "views": "pharos_resource_provisioning_views",
    "queries": "pharos_resource_provisioning_queries",
    "reader": "pharos_resource_provisioning_reader",
    "project_api": "pharos_project_api",
    "execution": "pharos_execution",
    "overview": "pharos_overview",
}
"""What a process connects as, by the name of the file that holds its URL."""
OWNERS: Final = ("execution", "pipeline")
WALDUR_INSTANCE: Final = "https://waldur.example.org/"
"""As Beto's stand-in names it in its events."""


class DevRefused(Exception):
    """The stack cannot run like this; the message says what was found and what to do."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where an origin listens. `port` 0: the last start's port, or a free one."""

    host: str
    port: int

    @classmethod
    def of(cls, option: str, text: str | None, tls_name: str | None) -> "Listening":
        """What was typed. Raises `DevRefused`."""
        if text is None:
            return cls("127.0.0.1", 0)
        match = _LISTEN.fullmatch(text)
        if match is None or int(match[2]) > 65_535:
            raise DevRefused(f"{option} {text}: wanted ADDRESS:PORT, such as 10.0.3.1:8443")
        if tls_name is None and match[1] not in ("127.0.0.1", "localhost", "[::1]"):
            raise DevRefused(f"{option} beyond loopback carries secrets over a network: add --tls-name")
        return cls(match[1], int(match[2]))


@dataclass(frozen=True, slots=True)
class DevPlan:
    """The stack. `tls_name` None: plain loopback. `reported`: whose account a key goes to comes from Sites'
    reports and Beto (P30), not from the stand-in's file. `runs`: Runs are accepted, and a Git host stands in.
    `supervised`: a process of central's that ends on its own is started again, as a supervisor does.
    """

    state: Path
    site_api: Listening
    intake: Listening
    tls_name: str | None
    sites: tuple[str, ...]
    pollers: int
    reported: bool
    runs: bool
    git: Listening
    supervised: bool

    @classmethod
    def of(
        cls,
        *,
        state: Path,
        site_listen: str | None,
        intake_listen: str | None,
        tls_name: str | None,
        sites: tuple[str, ...],
        pollers: int,
        reported: bool,
        runs: bool = False,
        git_listen: str | None = None,
        supervised: bool = False,
    ) -> "DevPlan":
        """Checks what was typed. Raises `DevRefused`."""
        site_api = Listening.of("--site-listen", site_listen, tls_name)
        intake = Listening.of("--intake-listen", intake_listen, tls_name)
        git = Listening.of("--git-listen", git_listen, tls_name)
        if runs and not reported:
            raise DevRefused("--runs needs --accounts reported: a Run's account is one that a Site confirmed")
        if tls_name is not None and not _DNS.fullmatch(tls_name):
            raise DevRefused(f"--tls-name {tls_name!r} is no lower-case DNS name, such as central.lab.test")
        for site in sites:
            if not is_site_name(site):
                raise DevRefused(f"--site {site!r} is no environment's name, such as slurm")
        state, sites = state.resolve(), tuple(dict.fromkeys(sites))
        return cls(state, site_api, intake, tls_name, sites, pollers, reported, runs, git, supervised)

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

    @property
    def beto_control(self) -> Path:
        """The socket Beto's stand-in obeys at."""
        return self.state / "beto.sock"

    @property
    def beto_truth(self) -> Path:
        """What Beto's stand-in keeps between starts."""
        return self.state / "beto.json"

    @property
    def repositories(self) -> Path:
        """Folder of the Git host's bare repositories."""
        return self.state / "git"

    @property
    def git_name(self) -> str:
        """The host in the Git host's URLs, for Sites and for central itself: its address, or with every
        address the stack's name.
        """
        anywhere = self.git.host in ("0.0.0.0", "[::]")  # noqa: S104 - compared
        return (self.tls_name or "localhost") if anywhere else self.git.host

    @property
    def owners(self) -> tuple[str, ...]:
        """The owners of accepted work that are stand-ins: with Runs, Execution Core is real (P29)."""
        return tuple(owner for owner in OWNERS if not (self.runs and owner == "execution"))

    @property
    def slurm_sites(self) -> tuple[str, ...]:
        """Where Runs may go."""
        return tuple(site for site in self.sites if site != "k8s")

    def secret_file(self, name: str) -> Path:
        """Where a secret of Runs stands; drawn once."""
        return self.secrets / name

    def url_file(self, name: str) -> Path:
        """Where the database URL of one of `ROLES` stands; `beto`: the stand-in's, who owns the broker."""
        return self.secrets / f"{name}-database-url"

    def intake_key_file(self, site: str) -> Path:
        """Where a Site's intake key stands, for its agent."""
        return self.secrets / f"{site}-intake-key"

"""The rows of central's settings table (X6): data alone; ``settings`` reads and judges them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from central.setting_values import (
    one_of,
    parse_addresses,
    parse_audiences,
    parse_consent_keys,
    parse_database_url,
    parse_file,
    parse_https_url,
    parse_intake_keys,
    parse_listen,
    parse_loopback_listen,
    parse_names,
    parse_private_file,
    parse_sites,
    parse_text,
    whole_number,
)

Process = Literal[
    "site_api",
    "member_api",
    "project_api",
    "provisioning_intake",
    "provisioning_worker",
    "execution_worker",
    "overview",
    "view_operator",
    "operator",
    "migrate",
]

PROCESSES: Final[frozenset[Process]] = frozenset(
    {
        "site_api",
        "member_api",
        "project_api",
        "provisioning_intake",
        "provisioning_worker",
        "execution_worker",
        "overview",
        "view_operator",
        "operator",
        "migrate",
    }
)
OWNERS: Final[frozenset[Process]] = frozenset({"provisioning_intake", "provisioning_worker", "view_operator"})
"""Those whose database is provisioning's own, as its owner's role (P37)."""
_INTAKE: frozenset[Process] = frozenset({"provisioning_intake"})
_WORKER: frozenset[Process] = frozenset({"provisioning_worker"})
_MEMBER: frozenset[Process] = frozenset({"member_api"})
_SITE: frozenset[Process] = frozenset({"site_api"})
_PROJECT: frozenset[Process] = frozenset({"project_api"})
_EXECUTOR: frozenset[Process] = frozenset({"execution_worker"})
_OVERVIEW: frozenset[Process] = frozenset({"overview"})
_OPERATOR: frozenset[Process] = frozenset({"operator"})
_LOOKERS: frozenset[Process] = _OVERVIEW | _OPERATOR
"""Those that show an operator what is known and how fresh (O1)."""
_APIS: frozenset[Process] = _SITE | _MEMBER | _PROJECT | _INTAKE
_SERVERS: frozenset[Process] = _APIS | _WORKER | _EXECUTOR
_READERS: frozenset[Process] = _SITE | _MEMBER | _PROJECT
"""Those that read provisioning's tables and ask Beto as `pharos_resource_provisioning_reader` (P37)."""
_VIEWERS: frozenset[Process] = _INTAKE | _WORKER | _READERS
EACH_SITE: Final = "<SITE>"


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable. ``default`` None: no default; ``required``: a process of ``processes`` cannot start
    without it, one of ``spared`` can. ``<SITE>`` in a name: one variable a Site of PHAROS_SITES, in capitals,
    ``_`` for ``-``.
    """

    name: str
    kind: str
    meaning: str
    parse: Callable[[str], object]
    processes: frozenset[Process]
    default: str | None = None
    required: bool = False
    spared: frozenset[Process] = frozenset()
    secret: bool = False
    group: str | None = None


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "PHAROS_ENVIRONMENT", "production | development",
        "`development` alone allows stand-ins (X8).",
        one_of("production", "development"), PROCESSES, "production",
    ),
    Setting(
        "PHAROS_LOG_LEVEL", "debug | info | warning | error", "The least level that is logged.",
        one_of("debug", "info", "warning", "error"), PROCESSES, "info",
    ),
    Setting(
        "PHAROS_DATABASE_URL", "PostgreSQL URL",
        "The process's own role; may lead through a transaction pooler. `migrate` wants the migrator's role.",
        parse_database_url, PROCESSES - OWNERS, required=True, secret=True,
    ),
    Setting(
        "PHAROS_DATABASE_DIRECT_URL", "PostgreSQL URL",
        "PostgreSQL itself, for LISTEN and migrations (O4). Not set: PHAROS_DATABASE_URL.",
        parse_database_url, PROCESSES - OWNERS, secret=True,
    ),
    Setting(
        "PHAROS_DATABASE_PREPARED_STATEMENTS", "on | off",
        "`off` behind a pooler that does not carry prepared statements (PgBouncer before 1.21; F05).",
        one_of("on", "off"), _SERVERS | _OVERVIEW, "on",
    ),
    Setting(
        "PHAROS_SITE_API_LISTEN", "ADDRESS:PORT", "Where the Site API listens.",
        parse_listen, _SITE, "127.0.0.1:8443",
    ),
    Setting(
        "PHAROS_MEMBER_API_LISTEN", "ADDRESS:PORT", "Where the member API listens.",
        parse_listen, _MEMBER, "127.0.0.1:8444",
    ),
    Setting(
        "PHAROS_TLS_CERTIFICATE", "file",
        "PEM certificate with its chain. Not set: plain HTTP behind a TLS proxy.",
        parse_file, _SERVERS, group="TLS",
    ),
    Setting(
        "PHAROS_TLS_KEY_FILE", "private file", "PEM key of the certificate, not readable by others.",
        parse_private_file, _SERVERS, group="TLS",
    ),
    Setting(
        "PHAROS_TRUSTED_PROXIES", "addresses, comma-separated",
        "Proxies whose X-Forwarded-For names the peer in the log; nobody else's is believed (G06).",
        parse_addresses, _SERVERS,
    ),
    Setting(
        "PHAROS_OIDC_ISSUER", "https URL",
        "The members' issuer, exactly as its tokens name it; the Site API asks it for members' tokens (E5).",
        parse_https_url, _READERS, required=True, spared=_SITE, group="OIDC",
    ),
    Setting(
        "PHAROS_OIDC_AUDIENCE", "text", "The audience a member's token must name.",
        parse_text, _READERS, required=True, spared=_SITE, group="OIDC",
    ),
    Setting(
        "PHAROS_OIDC_CA_FILE", "file", "PEM bundle to trust for the issuer. Not set: the system's store.",
        parse_file, _READERS,
    ),
    Setting(
        "PHAROS_SITES", "names, comma-separated", "The Sites by environment name (`slurm`), not by Site id.",
        parse_sites, _APIS | _EXECUTOR | _OVERVIEW, required=True,
    ),
    Setting(
        "PHAROS_KUBERNETES_SITES", "names, comma-separated",
        "Those of PHAROS_SITES that are Kubernetes and name accounts `member-<Party>`; any other gives them "
        "POSIX login names (P22).",
        parse_sites, _INTAKE,
    ),
    Setting(
        "PHAROS_SITE_API_POLLERS", "1 … 64",
        "Long polls a Site may park at once; the Site API has Sites × pollers + 16 threads (X13).",
        whole_number(1, 64), _SITE, "4",
    ),
    Setting(
        "PHAROS_PROVISIONING_INTAKE_LISTEN", "ADDRESS:PORT", "Where the Site intake listens.",
        parse_listen, _INTAKE, "127.0.0.1:8445",
    ),
    Setting(
        "PHAROS_PROVISIONING_WORKER_LISTEN", "ADDRESS:PORT",
        "Where the provisioning worker serves /healthz, /readyz and /metrics, and nothing else.",
        parse_listen, _WORKER, "127.0.0.1:8446",
    ),
    Setting(
        "RESOURCE_PROVISIONING_DATABASE_URL", "PostgreSQL URL",
        "Provisioning's database, perhaps through a transaction pooler: the intake and the worker as "
        "pharos_resource_provisioning, the others as pharos_resource_provisioning_reader (P30, P37). "
        "Without it the member API knows no accounts and adds no keys, the Site API has no commands.",
        parse_database_url, OWNERS | _READERS | _EXECUTOR, required=True, spared=_SITE | _MEMBER, secret=True,
    ),
    Setting(
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL", "PostgreSQL URL",
        "The broker: as pharos_resource_provisioning_views for the worker and the intake (which needs it "
        "with an intake key, P20); the others only ask, as pharos_resource_provisioning_reader (X12).",
        parse_database_url, _VIEWERS, required=True, spared=_INTAKE | _SITE | _MEMBER, secret=True,
    ),
    Setting(
        "RESOURCE_PROVISIONING_VIEWS_BROKER_DIRECT_URL", "PostgreSQL URL",
        "The broker's server itself, for LISTEN (O4). Not set: RESOURCE_PROVISIONING_VIEWS_BROKER_URL.",
        parse_database_url, _VIEWERS, secret=True,
    ),
    Setting(
        "RESOURCE_PROVISIONING_QUERIES_BROKER_URL", "PostgreSQL URL",
        "The broker as pharos_resource_provisioning_queries, for accepted work and its owners (P29, X12).",
        parse_database_url, _WORKER, required=True, secret=True,
    ),
    Setting(
        "RESOURCE_PROVISIONING_QUERIES_BROKER_DIRECT_URL", "PostgreSQL URL",
        "That broker's server itself, for LISTEN (O4). Not set: RESOURCE_PROVISIONING_QUERIES_BROKER_URL.",
        parse_database_url, _WORKER, secret=True,
    ),
    Setting(
        "PHAROS_ACCEPTED_WORK_OWNERS", "names, comma-separated",
        "Who accepts work and is asked for all of it; each answers at its queue `<name>.questions` (P29).",
        parse_names, _INTAKE | _WORKER | _LOOKERS | frozenset({"migrate"}), "execution,pipeline",
    ),
    Setting(
        "RESOURCE_PROVISIONING_WALDUR_INSTANCE", "text",
        "The Waldur installation, named exactly as Beto's events name it; an intake key needs it (P11).",
        parse_text, _INTAKE,
    ),
    Setting(
        "RESOURCE_PROVISIONING_ACCOUNT_MAX_AGE_SECONDS", "1 … 86400",
        "From this age on, what a Site confirmed of its accounts is stale; the same in every process (P25).",
        whole_number(1, 86400), _APIS | _EXECUTOR | _LOOKERS, "900",
    ),
    Setting(
        "RESOURCE_PROVISIONING_<SITE>_INTAKE_KEY", "one key, or two with a comma",
        "What a Site's agent reports with, one variable a Site of PHAROS_SITES, in capitals, `_` for `-`. "
        "Two keys while it is changed. Not set: nothing is mounted for the Site (P11).",
        parse_intake_keys, _INTAKE, secret=True,
    ),
    Setting(
        "PHAROS_PROJECT_API_LISTEN", "ADDRESS:PORT", "Where the Project API listens.",
        parse_listen, _PROJECT, "127.0.0.1:8447",
    ),
    Setting(
        "PHAROS_EXECUTION_WORKER_LISTEN", "ADDRESS:PORT",
        "Where the worker of Runs serves /healthz, /readyz and /metrics, and nothing else.",
        parse_listen, _EXECUTOR, "127.0.0.1:8448",
    ),
    Setting(
        "PHAROS_OVERVIEW_LISTEN", "ADDRESS:PORT",
        "Where the operators' page listens: loopback alone, reached over SSH forwarding; it has no login.",
        parse_loopback_listen, _OVERVIEW, "127.0.0.1:8449",
    ),
    Setting(
        "PHAROS_EXECUTION_SITES", "names, comma-separated",
        "Those of PHAROS_SITES that report themselves and are qualified for Runs; not set: none (P36).",
        parse_sites, _PROJECT,
    ),
    Setting(
        "PHAROS_EXECUTION_CONFIRMATION_SECONDS", "60 … 31536000",
        "So long a Run waits for a Site to confirm its account, or for the Git host to confirm its output; "
        "then it fails, with that as its reason (E1, S2).",
        whole_number(60, 31_536_000), _EXECUTOR, "604800",
    ),
    Setting(
        "PHAROS_EXECUTION_SILENCE_SECONDS", "60 … 31536000",
        "So long a Site said nothing about a Run whose end was asked for, before `runs settle` takes an "
        "operator's word instead of the Site's (P28, S11).",
        whole_number(60, 31_536_000), _OPERATOR, "3600",
    ),
    Setting(
        "PHAROS_EXECUTION_BROKER_URL", "PostgreSQL URL",
        "The broker as pharos_execution: accepted work is published and answered for, Beto asked (P27, P29).",
        parse_database_url, _EXECUTOR, required=True, secret=True,
    ),
    Setting(
        "PHAROS_EXECUTION_BROKER_DIRECT_URL", "PostgreSQL URL",
        "That broker's server itself, for LISTEN (O4). Not set: PHAROS_EXECUTION_BROKER_URL.",
        parse_database_url, _EXECUTOR, secret=True,
    ),
    Setting(
        "PHAROS_EXECUTION_TOKEN_CLIENT_ID", "text",
        "Central's confidential client at PHAROS_OIDC_ISSUER, for members' offline consents (E5). The group "
        "opens the Site API's commands and the member API's consent.",
        parse_text, _SITE | _MEMBER, group="EXECUTION",
    ),
    Setting(
        "PHAROS_EXECUTION_TOKEN_CLIENT_SECRET", "text", "That client's secret.",
        parse_text, _SITE | _MEMBER, secret=True, group="EXECUTION",
    ),
    Setting(
        "PHAROS_EXECUTION_CONSENT_KEYS", "one key, or several with commas",
        "What consents are sealed with: 32 bytes each in base64url (Fernet). The first seals, each opens; "
        "they are in no backup of the database (E5).",
        parse_consent_keys, _SITE | _MEMBER, secret=True, group="EXECUTION",
    ),
    Setting(
        "PHAROS_EXECUTION_SLURM_AUDIENCES", "<site>=<audience>, comma-separated",
        "The issuer's audience for each Site's Slurm, signed by a key set of its own (S2).",
        parse_audiences, _SITE | _MEMBER, group="EXECUTION",
    ),
    Setting(
        "PHAROS_REPOSITORY_CREDENTIALS_URL", "https URL",
        "Who gives out credentials of the Git host, one a stage (docs/platform.md, S2).",
        parse_https_url, _SITE | _EXECUTOR, required=True, spared=_SITE, group="REPOSITORIES",
    ),
    Setting(
        "PHAROS_REPOSITORY_CREDENTIALS_TOKEN", "text", "Central's bearer there.",
        parse_text, _SITE | _EXECUTOR, required=True, spared=_SITE, secret=True, group="REPOSITORIES",
    ),
    Setting(
        "PHAROS_REPOSITORY_CA_FILE", "file",
        "PEM bundle to trust for the Git host and its credentials. Not set: the system's store.",
        parse_file, _SITE | _EXECUTOR,
    ),
    Setting(
        "PHAROS_DEVELOPMENT_ACCOUNTS", "file",
        "Stand-in for the members' accounts; development only, refused in production (X8).",
        parse_file, _MEMBER,
    ),
)  # fmt: skip

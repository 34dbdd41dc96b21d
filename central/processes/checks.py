"""Whether a process could start now: each thing it stands on, asked by itself (X1)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from central.identity.issuer import HttpDocuments, IssuerKeys
from central.kernel.broker import Broker
from central.kernel.database import Database, DatabaseOptions
from central.kernel.errors import Unavailable
from central.kernel.migrations import MigrationRefused, require_schema
from central.kernel.times import utc_now
from central.processes.broker_link import require_broker
from central.processes.execution import token_endpoints
from central.processes.execution_worker import require_execution
from central.processes.provisioning_worker import require_beto, require_questions
from central.processes.refusals import StartRefused
from central.processes.retention import owners_of, require_owners
from central.processes.schema import CONTEXTS
from central.setting_table import OWNERS, Process
from central.settings import BrokerUrls, Settings

ROLES: Final[Mapping[Process, str]] = {
    "site_api": "pharos_site_api",
    "member_api": "pharos_member_api",
    "project_api": "pharos_project_api",
    "provisioning_intake": "pharos_resource_provisioning",
    "provisioning_worker": "pharos_resource_provisioning",
    "execution_worker": "pharos_execution",
    "overview": "pharos_overview",
    "operator": "pharos_operator",
}
"""Whose rights each process has (docs/platform.md, "Processes")."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome."""

    name: str
    passed: bool
    text: str


def run_checks(settings: Settings) -> Iterator[Finding]:
    """Every check of the process the settings are for."""
    yield Finding(
        "settings", True, f"{settings.environment}; ignored: {', '.join(settings.ignored) or 'none'}"
    )
    options = DatabaseOptions(url=settings.database_url, application="check", pool_size=1)
    with Database(options) as database:
        yield _asked("database", database.check_ready, "answers and takes writes")
        yield _asked("schema", lambda: require_schema(database, CONTEXTS), "is what this code knows")
        if settings.process in ROLES:
            role = ROLES[settings.process]
            yield _asked("role", lambda: _require_role(database, role), f"{role} or a member of it")
    for urls, require in _brokers(settings):
        ask = partial(require_broker, settings, urls, "check", require)
        yield _asked("broker", ask, "has the queues and enrols this process")
    if settings.oidc is not None:
        oidc = settings.oidc
        documents = HttpDocuments(str(oidc.ca_file) if oidc.ca_file else None)
        keys = IssuerKeys(oidc.issuer, documents)
        yield _asked("issuer", lambda: keys.key("", utc_now()), f"{oidc.issuer} publishes its keys")
    if settings.oidc is not None and settings.tokens is not None:
        endpoints = token_endpoints(settings.oidc)
        yield _asked("tokens", endpoints, "the issuer names its token and revocation endpoints")
    if settings.provisioning_url is not None and settings.process not in OWNERS:
        with Database(replace(options, url=settings.provisioning_url)) as database:
            yield _asked(
                "provisioning", lambda: require_schema(database, CONTEXTS), "is what this code knows"
            )
    if settings.development_accounts is not None:
        yield Finding("accounts", True, f"DEVELOPMENT stand-in {settings.development_accounts} (X8)")


def _require_role(database: Database, role: str) -> None:
    login, acting = database.acting(role)
    if not acting:
        raise StartRefused(f"{login} is logged in, who has not the rights of {role}: use that role's URL")


def _brokers(settings: Settings) -> Iterator[tuple[BrokerUrls, Callable[[Broker], None]]]:
    if settings.views_broker is not None:
        owner = settings.process in OWNERS
        yield settings.views_broker, require_beto if owner else require_questions
    if settings.execution_broker is not None:
        yield settings.execution_broker, require_execution
    if settings.queries_broker is not None:
        yield settings.queries_broker, partial(require_owners, owners=owners_of(settings))


def _asked(name: str, ask: Callable[[], object], passed: str) -> Finding:
    try:
        ask()
    except Unavailable as error:
        return Finding(name, False, error.detail)
    except (MigrationRefused, StartRefused) as error:
        return Finding(name, False, str(error))
    return Finding(name, True, passed)

"""The member API: members' browsers and command lines, bearers of the platform's OIDC issuer (E6)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from central.kernel.http import HttpLimits, create_app
from central.kernel.observability import Metrics
from central.kernel.serving import Service, serve
from central.kernel.times import utc_now
from central.processes.broker_link import require_broker
from central.processes.evidence_reader import open_reader
from central.processes.execution import member_caller, member_tokens, party_caller
from central.processes.options import open_database, prepare, serving_options
from central.processes.provisioning_worker import require_questions
from central.processes.refusals import StartRefused
from central.processes.ssh_accounts import reported_accounts
from central.settings import Settings
from central.ssh_access.adapters.development_accounts import DevelopmentAccounts
from central.ssh_access.adapters.postgres_keys import PostgresMemberKeys
from central.ssh_access.adapters.unconnected_accounts import UnconnectedAccounts
from central.ssh_access.application.add_key import AddKey
from central.ssh_access.application.list_keys import ListKeys
from central.ssh_access.application.ports import MemberAccounts
from central.ssh_access.application.remove_key import RemoveKey
from central.ssh_access.domain.member_key import MemberId
from central.ssh_access.entrypoints.member_routes import MemberRoutes
from central.ssh_access.entrypoints.wire import ADD_BYTES_MAX

NAME: Final = "member-api"
THREADS: Final = 16
CONNECTIONS: Final = 8
EVIDENCE_CONNECTIONS: Final = 4
"""Adding a key asks for evidence one statement at a time; listing and removing ask for none."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Whose account a key goes to, and how to stop and close what was opened for it."""

    source: MemberAccounts
    stop: Callable[[], None]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class MemberApi:
    """Builds the service of one worker."""

    settings: Settings

    def __call__(self) -> Service:
        """Opens the pool of this worker. The issuer is asked when the first token comes."""
        metrics = Metrics(NAME)
        database = open_database(self.settings, NAME, CONNECTIONS, metrics)
        app = create_app(
            NAME,
            metrics=metrics,
            ready=database.check_ready,
            limits=HttpLimits(body_bytes=ADD_BYTES_MAX),
            trusted_proxies=self.settings.trusted_proxies,
        )
        keys, accounts = PostgresMemberKeys(database), open_accounts(self.settings)
        caller = member_caller(self.settings)
        routes = MemberRoutes(
            member=lambda: MemberId(caller()),
            add_key=AddKey(accounts.source, keys),
            list_keys=ListKeys(keys),
            remove_key=RemoveKey(keys),
            clock=utc_now,
        )
        app.register_blueprint(routes.blueprint())
        source = member_tokens(self.settings, database)
        if source is not None:
            app.register_blueprint(source.routes(party_caller(caller)))

        def close() -> None:
            accounts.close()
            database.close()

        return Service(app=app, stopping=accounts.stop, close=close)


def run(settings: Settings) -> int:
    """Checks settings and schema, then serves until stopped; the exit code. Raises `StartRefused`."""
    if settings.environment == "production" and settings.development_accounts is not None:
        raise StartRefused(
            "PHAROS_DEVELOPMENT_ACCOUNTS is set in production: a file would decide whose keys go where; "
            "unset it"
        )
    prepare(settings, NAME)
    if settings.provisioning_url is not None:
        require_broker(settings, settings.views_broker, NAME, require_questions)
    return serve(MemberApi(settings), serving_options(settings, THREADS))


def open_accounts(settings: Settings) -> Accounts:
    """What the settings name: the Sites' reports and Beto (P30), the stand-in of development, or nothing."""
    if settings.provisioning_url is not None:
        reader = open_reader(settings, NAME, EVIDENCE_CONNECTIONS)
        source = reported_accounts(reader.database, reader.view, settings.sites, settings.account_max_age)
        return Accounts(source, reader.stop, reader.close)
    if settings.development_accounts is None:
        return Accounts(UnconnectedAccounts(), _nothing, _nothing)
    accounts = DevelopmentAccounts(settings.development_accounts)
    accounts.announce()
    return Accounts(accounts, _nothing, _nothing)


def _nothing() -> None:
    """Nothing was opened, and nobody waits."""

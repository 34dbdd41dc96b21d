"""The Site API's half for Runs, mounted where members' tokens can be got (E3, E5)."""

from dataclasses import dataclass
from typing import Final

from flask import Blueprint

from central.execution.adapters.postgres_audit import PostgresAudit
from central.execution.adapters.postgres_maintenance import PostgresMaintenance
from central.execution.adapters.postgres_runs import CHANNEL, PostgresRuns
from central.execution.application.list_commands import ListCommands
from central.execution.application.member_token import FetchMemberToken
from central.execution.application.record_site import RecordSite
from central.execution.application.state_maintenance import StateMaintenance
from central.execution.entrypoints.site_routes import CommandRoutes
from central.grants.entrypoints.site_caller import SiteCaller
from central.kernel.database import Database
from central.kernel.notifications import Waiters
from central.kernel.site_polls import SitePolls
from central.kernel.times import utc_now
from central.processes.evidence_reader import EvidenceReader, open_reader
from central.processes.execution import member_tokens, repository_credentials
from central.processes.execution_ports import BetoAuthorities, run_accounts
from central.settings import Settings

EVIDENCE_CONNECTIONS: Final = 8
COMMANDS_CHANNEL: Final = CHANNEL


@dataclass(frozen=True, slots=True)
class SiteCommands:
    """The routes of commands, and what was opened for them."""

    blueprint: Blueprint
    reader: EvidenceReader


def site_commands(
    settings: Settings, application: str, database: Database, caller: SiteCaller, waiters: Waiters
) -> SiteCommands | None:
    """The routes, None without the group EXECUTION: then the Site API has no commands."""
    source = member_tokens(settings, database)
    if source is None:
        return None
    reader = open_reader(settings, application, EVIDENCE_CONNECTIONS)
    runs, accounts = PostgresRuns(database), run_accounts(reader.database, None, settings.account_max_age)
    authorities = BetoAuthorities(reader.view.project_decisions)
    routes = CommandRoutes(
        caller=caller,
        list_commands=ListCommands(runs, accounts, authorities, settings.account_max_age),
        record_site=RecordSite(runs),
        fetch_token=FetchMemberToken(
            runs=runs,
            authorities=authorities,
            audit=PostgresAudit(database),
            accounts=accounts,
            tokens=source.tokens,
            credentials=repository_credentials(settings, database),
            account_max_age=settings.account_max_age,
        ),
        state_maintenance=StateMaintenance(PostgresMaintenance(database)),
        polls=SitePolls(waiters, CHANNEL, settings.pollers),
        clock=utc_now,
    )
    return SiteCommands(routes.blueprint(), reader)

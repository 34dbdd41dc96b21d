"""What the processes of Runs have in common: who calls, members' tokens, the Git host (E5, S2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from flask import Blueprint

from central.execution.adapters.oidc_tokens import Client, DiscoveredEndpoints, OidcTokens
from central.execution.adapters.postgres_consents import PostgresConsents
from central.execution.adapters.postgres_credentials import PostgresCredentials
from central.execution.adapters.repository_credentials import Giver, HttpRepositoryCredentials
from central.execution.adapters.sealed import Seal
from central.execution.application.member_consents import (
    GiveConsent,
    ReadConsent,
    TokensFromConsents,
    WithdrawConsent,
)
from central.execution.entrypoints.consent_routes import ConsentRoutes
from central.identity.claims import Expected
from central.identity.issuer import HttpDocuments, IssuerKeys, may_be_read
from central.identity.member_caller import MemberCaller
from central.identity.verifier import TokenVerifier
from central.kernel.database import Database
from central.kernel.problems import FORBIDDEN, Problem
from central.kernel.times import utc_now
from central.processes.refusals import StartRefused
from central.processes.ssh_accounts import party_of_subject
from central.settings import Oidc, Settings, TokenClient
from central.ssh_access.domain.member_key import MemberId

NO_PARTY: Final = "no Party is known for this identity; the platform's team can link it"


def member_caller(settings: Settings) -> MemberCaller:
    """Who calls, by the bearers of the platform's issuer. Raises `StartRefused`."""
    if settings.oidc is None:
        raise StartRefused("this process needs PHAROS_OIDC_ISSUER and PHAROS_OIDC_AUDIENCE")
    oidc = settings.oidc
    verifier = TokenVerifier(Expected(oidc.issuer, oidc.audience), IssuerKeys(oidc.issuer, documents(oidc)))
    return MemberCaller(verifier, utc_now)


def party_caller(caller: MemberCaller) -> Callable[[], UUID]:
    """The calling member's Party; who has none may do nothing in a Project."""

    def party() -> UUID:
        found = party_of_subject(MemberId(caller()))
        if found is None:
            raise Problem(FORBIDDEN, NO_PARTY)
        return found

    return party


def documents(oidc: Oidc) -> HttpDocuments:
    """The issuer's documents."""
    return HttpDocuments(str(oidc.ca_file) if oidc.ca_file else None)


def token_endpoints(oidc: Oidc) -> DiscoveredEndpoints:
    """Where the issuer gives out tokens."""
    return DiscoveredEndpoints(oidc.issuer, documents(oidc).read, may_be_read)


@dataclass(frozen=True, slots=True)
class MemberTokenSource:
    """Consents and what is got with them, over one database that keeps consents."""

    issuer: OidcTokens
    consents: PostgresConsents
    client: TokenClient

    @property
    def tokens(self) -> TokensFromConsents:
        """The `MemberTokens` of the Site API."""
        return TokensFromConsents(self.issuer, self.consents, self.client.audiences)

    def routes(self, member: Callable[[], UUID]) -> Blueprint:
        """The consent's routes of the member API."""
        return ConsentRoutes(
            member=member,
            give=GiveConsent(self.issuer, self.consents, lambda subject: party_of_subject(MemberId(subject))),
            read=ReadConsent(self.consents),
            withdraw=WithdrawConsent(self.issuer, self.consents),
            clock=utc_now,
        ).blueprint()


def member_tokens(settings: Settings, database: Database) -> MemberTokenSource | None:
    """What the group EXECUTION opens, None where it is not set."""
    if settings.tokens is None or settings.oidc is None:
        return None
    oidc, client = settings.oidc, settings.tokens
    endpoints = token_endpoints(oidc)
    ca_file = str(oidc.ca_file) if oidc.ca_file else None
    issuer = OidcTokens(endpoints, Client(client.client_id, client.secret), ca_file)
    return MemberTokenSource(issuer, PostgresConsents(database, Seal(client.consent_keys)), client)


def repository_credentials(settings: Settings, database: Database) -> HttpRepositoryCredentials:
    """The Git host's credentials. `ValueError` without the group, which the settings' rules require."""
    if settings.repositories is None:
        raise ValueError("this process has nobody to ask for credentials of the Git host")
    host = settings.repositories
    return HttpRepositoryCredentials(
        Giver(host.url, host.token),
        PostgresCredentials(database),
        str(host.ca_file) if host.ca_file else None,
    )

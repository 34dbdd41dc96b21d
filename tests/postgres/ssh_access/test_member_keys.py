"""PostgreSQL obeys the suite, as the two roles that run it (E3, E6, X7, X12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import pytest

from central.kernel.database import Database, DatabaseOptions
from central.kernel.site_names import Site
from central.ssh_access.adapters.postgres_keys import PostgresMemberKeys
from central.ssh_access.application.ports import MemberKeys, SiteResult
from central.ssh_access.domain.command import Command
from central.ssh_access.domain.feed import ChangePage
from central.ssh_access.domain.member_key import MemberKey, Receipt, Result
from tests.contract.member_keys_suite import MemberKeysSuite
from tests.postgres.conftest import PgServer


@dataclass
class BothRoles(PostgresMemberKeys):
    """Members' calls as the member API's role, Sites' calls as the Site API's."""

    def __init__(self, member_api: Database, site_api: Database) -> None:
        super().__init__(member_api)
        self._site_api = PostgresMemberKeys(site_api)

    def changes(self, site: Site, after: int, limit: int) -> ChangePage:
        return self._site_api.changes(site, after, limit)

    def record(
        self,
        command: Command,
        site: Site,
        results: Sequence[SiteResult],
        decide: Callable[[MemberKey, Result], tuple[Receipt, MemberKey]],
        now: datetime,
    ) -> Sequence[Receipt]:
        return self._site_api.record(command, site, results, decide, now)


class TestPostgresMemberKeys(MemberKeysSuite):
    @pytest.fixture
    def keys(
        self,
        pg_server: PgServer,
        database_name: str,
        open_database: Callable[[DatabaseOptions], Database],
    ) -> MemberKeys:
        member_api, site_api = (
            open_database(DatabaseOptions(pg_server.role_url(role, database_name)))
            for role in ("pharos_member_api", "pharos_site_api")
        )
        return BothRoles(member_api, site_api)

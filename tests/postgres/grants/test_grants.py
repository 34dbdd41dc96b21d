"""Grants over PostgreSQL, as the roles that use them (E3, I18, X5)."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from uuid import uuid4

import psycopg
import pytest

from central.grants.adapters.postgres_grants import PostgresGrants
from central.grants.application.authenticate import Authenticate, TokenInvalid
from central.grants.application.issue_grant import Issued, IssueGrant
from central.grants.application.ports import GrantUnknown
from central.grants.domain.grant import GrantRefused, Scope
from central.kernel.database import Database, DatabaseOptions
from tests.postgres.conftest import PgServer

NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)


@pytest.fixture
def operator(
    pg_server: PgServer, database_name: str, open_database: Callable[[DatabaseOptions], Database]
) -> PostgresGrants:
    url = pg_server.role_url("pharos_operator", database_name)
    return PostgresGrants(open_database(DatabaseOptions(url, pool_size=8)))


@pytest.fixture
def site_api(
    pg_server: PgServer, database_name: str, open_database: Callable[[DatabaseOptions], Database]
) -> PostgresGrants:
    url = pg_server.role_url("pharos_site_api", database_name)
    return PostgresGrants(open_database(DatabaseOptions(url)))


def issue(grants: PostgresGrants, site: str = "slurm", expires_at: datetime | None = None) -> Issued:
    return IssueGrant(grants, ("slurm", "k8s"))(
        grant_id=uuid4(),
        secret=secrets.token_bytes(32),
        site=site,
        scopes=(Scope.SSH_ACCESS,),
        expires_at=expires_at,
        now=NOW,
    )


def test_a_token_opens_its_grant_until_it_is_revoked(
    operator: PostgresGrants, site_api: PostgresGrants
) -> None:
    issued = issue(operator)
    authenticate = Authenticate(site_api)
    assert authenticate(issued.token, NOW).grant_id == issued.grant.grant_id
    operator.revoke(issued.grant.grant_id, NOW)
    with pytest.raises(TokenInvalid):
        authenticate(issued.token, NOW)


def test_another_secret_or_an_unknown_id_opens_nothing(
    operator: PostgresGrants, site_api: PostgresGrants
) -> None:
    issued = issue(operator)
    prefix, identity, secret = issued.token.split("_", 2)
    wrong = secret[:-1] + ("Q" if secret[-1] == "A" else "A")
    for token in (
        f"{prefix}_{identity}_{wrong}",
        f"{prefix}_{uuid4().hex}_{secret}",
        issued.token.upper(),
        "",
    ):
        with pytest.raises(TokenInvalid):
            Authenticate(site_api)(token, NOW)


def test_an_expired_token_opens_nothing(operator: PostgresGrants, site_api: PostgresGrants) -> None:
    issued = issue(operator, expires_at=NOW + timedelta(hours=1))
    assert Authenticate(site_api)(issued.token, NOW + timedelta(minutes=59)).site == "slurm"
    with pytest.raises(TokenInvalid):
        Authenticate(site_api)(issued.token, NOW + timedelta(hours=1))


def test_last_use_is_saved_once_a_minute(operator: PostgresGrants, site_api: PostgresGrants) -> None:
    issued = issue(operator)
    used = []
    for seconds in (0, 10, 59, 60, 61):
        Authenticate(site_api)(issued.token, NOW + timedelta(seconds=seconds))
        found = operator.find(issued.grant.grant_id)
        assert found is not None
        used.append(found.last_used_at)
    assert used == [NOW, NOW, NOW, NOW + timedelta(seconds=60), NOW + timedelta(seconds=60)]


def test_eight_issues_at_once_leave_two_valid(operator: PostgresGrants) -> None:
    barrier = Barrier(8)

    def one(_: int) -> object:
        barrier.wait()
        try:
            return issue(operator)
        except GrantRefused as refused:
            return refused.code

    with ThreadPoolExecutor(8) as workers:
        outcomes = list(workers.map(one, range(8)))
    assert sum(isinstance(outcome, Issued) for outcome in outcomes) == 2
    assert outcomes.count("grant_limit") == 6
    assert len(operator.everything()) == 2


def test_sites_do_not_share_their_two(operator: PostgresGrants) -> None:
    for site in ("slurm", "slurm", "k8s", "k8s"):
        issue(operator, site)
    with pytest.raises(GrantRefused):
        issue(operator, "k8s")


def test_a_site_id_is_no_site(operator: PostgresGrants) -> None:
    """P32: named by environment, never by id."""
    with pytest.raises(GrantRefused) as refused:
        issue(operator, "icarus-hpc")
    assert refused.value.code == "site_unknown"


def test_revoking_twice_keeps_the_first_time(operator: PostgresGrants) -> None:
    issued = issue(operator)
    first = operator.revoke(issued.grant.grant_id, NOW)
    assert operator.revoke(issued.grant.grant_id, NOW + timedelta(days=1)) == first
    with pytest.raises(GrantUnknown):
        operator.revoke(uuid4(), NOW)


def test_the_secret_is_nowhere_in_the_database(operator: PostgresGrants, database_url: str) -> None:
    secret = issue(operator).token.split("_", 2)[2]
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT string_agg(g::text, '') FROM site_grants.grants g").fetchone()
    assert row is not None
    assert secret not in row[0]

"""Members' consents over a real issuer and PostgreSQL: one refresh at a time, sealed at rest (E5)."""

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID, uuid4

import psycopg
import pytest
import urllib3
from cryptography.fernet import Fernet

from central.execution.adapters.oidc_tokens import Client, DiscoveredEndpoints, OidcTokens
from central.execution.adapters.postgres_consents import PostgresConsents
from central.execution.adapters.sealed import Seal
from central.execution.application.member_consents import (
    GiveConsent,
    GrantRefused,
    TokensFromConsents,
    WithdrawConsent,
    WrongMember,
)
from central.execution.application.ports import ConsentExpired
from central.identity.issuer import HttpDocuments, may_be_read
from central.kernel.database import Database, DatabaseOptions
from central.kernel.errors import Unavailable
from central.kernel.times import utc_now
from tests.postgres.conftest import PgServer
from tests.simulators.oidc.grants import OFFLINE_ACCESS_SECONDS
from tests.simulators.oidc.issuer import Issuer, SigningKey
from tests.simulators.oidc.server import IssuerServer

VERIFIER = "v" * 50
BACK = "https://members.test/back"
KEY = Fernet.generate_key().decode()
SITE, AUDIENCE = "slurm", "slurm.icarus"


def tokens_at(url: str, secret: str) -> OidcTokens:
    """Central's client at the issuer there, by its discovery document."""
    endpoints = DiscoveredEndpoints(url, HttpDocuments().read, may_be_read)
    return OidcTokens(endpoints, Client("pharos-central", secret))


class World:
    """The issuer, the store and the use cases over them."""

    def __init__(self, server: IssuerServer, database: Database, keys: list[str]) -> None:
        self.issuer = server.issuer
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.tokens = tokens_at(self.url, "secret")
        self.consents = PostgresConsents(database, Seal(keys))
        self.give = GiveConsent(self.tokens, self.consents, UUID)
        self.withdraw = WithdrawConsent(self.tokens, self.consents)
        self.members = TokensFromConsents(self.tokens, self.consents, {SITE: AUDIENCE})

    def code(self, party: UUID) -> str:
        """What the member's browser brings back."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")
        form = {"member": str(party), "redirect_uri": BACK, "code_challenge": challenge.decode()}
        answer = urllib3.request("POST", f"{self.url}/development/consent", body=urlencode(form))
        return str(answer.json()["code"])

    def consented(self) -> UUID:
        """A member who gave consent."""
        party = uuid4()
        self.issuer.logins[str(party)] = "alice"
        self.give(party, self.code(party), VERIFIER, BACK, utc_now())
        return party


@pytest.fixture(scope="module")
def issuer_server() -> Iterator[IssuerServer]:
    issuer = Issuer(
        url="",
        audience="pharos",
        keys=[SigningKey.make("RS256")],
        client_secret="secret",
        slurm_keys={AUDIENCE: SigningKey.make("RS256")},
    )
    with IssuerServer(("127.0.0.1", 0), issuer) as server:
        issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(5)


@pytest.fixture
def site_database(
    pg_server: PgServer, database_name: str, open_database: Callable[[DatabaseOptions], Database]
) -> Database:
    return open_database(DatabaseOptions(pg_server.role_url("pharos_site_api", database_name), pool_size=8))


@pytest.fixture
def world(issuer_server: IssuerServer, site_database: Database) -> World:
    return World(issuer_server, site_database, [KEY])


def expired() -> datetime:
    """A moment at which the access token in hand serves no longer."""
    return utc_now() + timedelta(seconds=OFFLINE_ACCESS_SECONDS)


def test_e5_a_token_for_this_slurm_comes_from_one_consent(world: World) -> None:
    party = world.consented()
    given = world.members.token(party, SITE, utc_now())
    assert given.token.count(".") == 2
    assert utc_now() < given.expires_at <= utc_now() + timedelta(minutes=6)


def test_e5_without_a_consent_or_after_it_ended_there_is_no_token(world: World) -> None:
    with pytest.raises(ConsentExpired):
        world.members.token(uuid4(), SITE, utc_now())
    party = world.consented()
    assert world.issuer.sessions.revoke_member(str(party)) == 1
    for _ in range(2):
        with pytest.raises(ConsentExpired):
            world.members.token(party, SITE, expired())
    world.give(party, world.code(party), VERIFIER, BACK, utc_now())
    assert world.members.token(party, SITE, utc_now()).token


def test_x7_the_same_code_again_is_told_the_same_and_ends_nothing(world: World) -> None:
    party = world.consented()
    code = world.code(party)
    first = world.give(party, code, VERIFIER, BACK, utc_now())
    assert world.give(party, code, VERIFIER, BACK, utc_now()) == first
    assert world.members.token(party, SITE, utc_now()).token


def test_k09_requests_at_once_refresh_once_and_the_consent_stands(world: World) -> None:
    party = world.consented()
    before = world.consents.read(party)
    now, failures, barrier = expired(), list[BaseException](), threading.Barrier(8)

    def ask() -> None:
        try:
            barrier.wait(10)
            world.members.token(party, SITE, now)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    after = world.consents.read(party)
    assert failures == []
    assert before is not None
    assert after is not None
    assert (after.stands, after.refreshed_at) == (True, now)
    assert after.tokens.refresh != before.tokens.refresh


def test_x1_an_issuers_outage_ends_no_consent(world: World) -> None:
    party = world.consented()
    away = tokens_at("http://127.0.0.1:1", "secret")
    members = TokensFromConsents(away, world.consents, {SITE: AUDIENCE})
    with pytest.raises(Unavailable):
        members.token(party, SITE, expired())
    known = world.consents.read(party)
    assert known is not None
    assert known.stands
    wrong = tokens_at(world.url, "wrong")
    with pytest.raises(Unavailable):
        TokensFromConsents(wrong, world.consents, {SITE: AUDIENCE}).token(party, SITE, expired())


def test_e5_a_code_of_somebody_else_gives_nothing(world: World) -> None:
    party, other = uuid4(), uuid4()
    with pytest.raises(WrongMember):
        world.give(party, world.code(other), VERIFIER, BACK, utc_now())
    with pytest.raises(GrantRefused):
        world.give(party, world.code(party), "w" * 50, BACK, utc_now())
    assert world.consents.read(party) is None


def test_e5_a_withdrawn_consent_is_over_here_and_at_the_issuer(world: World) -> None:
    party = world.consented()
    over = world.withdraw(party, utc_now())
    assert over is not None
    assert not over.stands
    with pytest.raises(ConsentExpired):
        world.members.token(party, SITE, utc_now())
    assert world.issuer.sessions.revoke_member(str(party)) == 0
    assert world.withdraw(uuid4(), utc_now()) is None


def test_x5_nothing_of_a_token_is_readable_in_the_database(
    world: World, pg_server: PgServer, database_name: str
) -> None:
    party = world.consented()
    known = world.consents.read(party)
    assert known is not None
    with psycopg.connect(pg_server.admin_url(database_name)) as connection:
        row = connection.execute("SELECT c::text, sealed FROM execution.consents c").fetchone()
    assert row is not None
    for secret in (known.tokens.access, known.tokens.refresh):
        assert secret not in row[0]
        assert secret.encode() not in bytes(row[1])
        assert secret not in repr(known)


def test_e5_keys_are_changed_without_losing_a_consent(
    issuer_server: IssuerServer, site_database: Database, world: World
) -> None:
    party, new = world.consented(), Fernet.generate_key().decode()
    both = World(issuer_server, site_database, [new, KEY])
    assert both.members.token(party, SITE, expired()).token
    assert World(issuer_server, site_database, [new]).members.token(party, SITE, utc_now()).token
    with pytest.raises(Unavailable, match="restore the key"):
        world.members.token(party, SITE, utc_now())


def test_x5_a_row_put_under_another_member_opens_nothing(
    world: World, pg_server: PgServer, database_name: str
) -> None:
    party, thief = world.consented(), uuid4()
    with psycopg.connect(pg_server.admin_url(database_name), autocommit=True) as connection:
        connection.execute("UPDATE execution.consents SET party = %s WHERE party = %s", (thief, party))
    with pytest.raises(Unavailable, match="another member"):
        world.members.token(thief, SITE, utc_now())

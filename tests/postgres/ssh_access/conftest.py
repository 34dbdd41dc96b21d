"""Both APIs as real processes over a database of the module's own, with a real development issuer."""

import json
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
import urllib3

from central.grants.adapters.postgres_grants import PostgresGrants
from central.grants.application.issue_grant import IssueGrant
from central.grants.domain.grant import Scope
from central.kernel.database import Database, DatabaseOptions
from central.kernel.times import utc_now
from tests.contract.member_keys_suite import ed25519
from tests.ports import free_port
from tests.postgres.conftest import PgServer
from tests.postgres.kernel.environment import without_ours

ROOT = Path(__file__).parents[3]
SITES = ("slurm", "k8s")
POLLERS = 36
MEMBERS = ("alice", "bob", *(f"member{number}" for number in range(20)))
READY_SECONDS = 90


@dataclass
class Answer:
    """Status, decoded body, headers."""

    status: int
    body: Any
    headers: Any


@dataclass
class Running:
    """The two origins, and how to get credentials for them."""

    site_url: str
    member_url: str
    issuer: str
    database_name: str
    admin_url: str
    operator_url: str
    accounts: Path
    logs: dict[str, Path]
    processes: dict[str, "subprocess.Popen[bytes]"]
    tokens: dict[tuple[str, ...], str] = field(default_factory=dict)
    pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=100, retries=False))

    def token(self, member: str = "alice", lifetime: int = 3600, **extra: str) -> str:
        form = {
            "grant_type": "urn:pharos:development:member",
            "member": member,
            "lifetime": lifetime,
            **extra,
        }
        answer = self.pool.request(
            "POST",
            f"{self.issuer}/token",
            body=urlencode(form),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        return str(json.loads(answer.data)["access_token"])

    def grant(self, site: str = "slurm", *scopes: Scope) -> str:
        """The Site's token in these scopes, the same one each time until it is revoked."""
        wanted = (site, *(scopes or (Scope.SSH_ACCESS,)))
        if wanted not in self.tokens:
            with Database(DatabaseOptions(self.operator_url, pool_size=1)) as database:
                self.tokens[wanted] = IssueGrant(PostgresGrants(database), SITES)(
                    grant_id=uuid4(),
                    secret=secrets.token_bytes(32),
                    site=site,
                    scopes=tuple(Scope(scope) for scope in wanted[1:]),
                    expires_at=None,
                    now=utc_now(),
                ).token
        return self.tokens[wanted]

    def revoke(self, token: str) -> None:
        """Revokes a token; the next `grant` makes another."""
        self.tokens = {key: kept for key, kept in self.tokens.items() if kept != token}
        with Database(DatabaseOptions(self.operator_url, pool_size=1)) as database:
            PostgresGrants(database).revoke(UUID(hex=token.split("_")[1]), utc_now())

    def site(self, token: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        given = {"Authorization": f"Bearer {token}", "Pharos-Schema": "1-1", **headers}
        return self.send(method, f"{self.site_url}/v1/site/ssh-access{path}", given, body)

    def member(self, token: str, method: str, path: str = "", body: Any = None, **headers: str) -> Answer:
        given = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid4()), **headers}
        return self.send(method, f"{self.member_url}/api/v1/me/ssh-keys{path}", given, body)

    def send(self, method: str, url: str, headers: dict[str, str], body: Any = None) -> Answer:
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        if content is not None:
            headers = {"Content-Type": "application/json", **headers}
        answer = self.pool.request(method, url, headers=headers, body=content, redirect=False, timeout=120)
        return Answer(answer.status, json.loads(answer.data) if answer.data else None, answer.headers)

    def raw(self, url: str, request: bytes, *, half_close: bool = False) -> bytes:
        """Sends bytes as they are, reads until the other end closes; `half_close`: nothing more comes."""
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(request)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
            return received


class Launcher:
    """Starts processes with a log each; stops them all at the end."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.logs: dict[str, Path] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str], environment: dict[str, str], ready: str) -> None:
        self.logs[name] = self.folder / f"{name}.log"
        with self.logs[name].open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env={**without_ours(), "PYTHONPATH": str(ROOT), **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.processes[name] = process
        self.stack.callback(self._stop_all)
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            assert process.poll() is None, self.logs[name].read_text()
            try:
                if urllib3.request("GET", ready, retries=False, timeout=30).status == 200:
                    return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
        raise AssertionError(f"{name} is not ready: {self.logs[name].read_text()}")

    def _stop_all(self) -> None:
        """All are told before any is waited for."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def running(
    pg_server: PgServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Everything up; ended and dropped after the module."""
    name = f"t_{secrets.token_hex(6)}"
    folder = tmp_path_factory.mktemp("central")
    pg_server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    with ExitStack() as stack:
        stack.callback(pg_server.execute, f"DROP DATABASE {name} WITH (FORCE)")
        yield launch(pg_server, name, folder, stack)


def launch(pg_server: PgServer, name: str, folder: Path, stack: ExitStack) -> Running:
    """Starts issuer and APIs over the database `name`."""
    launcher = Launcher(folder, stack)
    issuer, site, member = (f"http://127.0.0.1:{free_port()}" for _ in range(3))
    launcher.start(
        "issuer",
        ["-m", "tests.simulators.oidc", "--listen", issuer.removeprefix("http://")],
        {},
        f"{issuer}/.well-known/openid-configuration",
    )
    accounts = folder / "accounts.json"
    write_accounts(accounts)
    common = {"PHAROS_ENVIRONMENT": "development", "PHAROS_SITES": ",".join(SITES)}
    launcher.start(
        "site-api",
        ["-m", "central.cli", "serve", "site-api"],
        {
            **common,
            "PHAROS_DATABASE_URL": pg_server.role_url("pharos_site_api", name),
            "PHAROS_SITE_API_LISTEN": site.removeprefix("http://"),
            "PHAROS_SITE_API_POLLERS": str(POLLERS),
        },
        f"{site}/readyz",
    )
    launcher.start(
        "member-api",
        ["-m", "central.cli", "serve", "member-api"],
        {
            **common,
            "PHAROS_DATABASE_URL": pg_server.role_url("pharos_member_api", name),
            "PHAROS_MEMBER_API_LISTEN": member.removeprefix("http://"),
            "PHAROS_OIDC_ISSUER": issuer,
            "PHAROS_OIDC_AUDIENCE": "pharos",
            "PHAROS_DEVELOPMENT_ACCOUNTS": str(accounts),
        },
        f"{member}/readyz",
    )
    return Running(
        site_url=site,
        member_url=member,
        issuer=issuer,
        database_name=name,
        admin_url=pg_server.admin_url(name),
        operator_url=pg_server.role_url("pharos_operator", name),
        accounts=accounts,
        logs=launcher.logs,
        processes=launcher.processes,
    )


def write_accounts(path: Path, members: Sequence[str] = MEMBERS) -> None:
    """The stand-in's file: each member has an account at each Site."""
    accounts = [
        {
            "member": member,
            "site": site,
            "username": member,
            "uidNumber": 5_000_001 + index,
            "entryUUID": f"5f1c9a30-0000-1040-8000-{index:012d}",
        }
        for site in SITES
        for index, member in enumerate(members)
    ]
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps({"schema": 1, "sites": list(SITES), "accounts": accounts}))
    draft.replace(path)


def add_body(number: int, site: str = "slurm") -> dict[str, Any]:
    """A body that adds the key of `number`."""
    return {"schema": 1, "site": site, "publicKey": ed25519(number), "name": f"key {number}"}

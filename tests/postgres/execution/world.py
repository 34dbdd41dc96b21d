"""Everything a Run meets: central's processes, Beto, the issuer, a Git host; and a scripted Site.

One world for all, for it takes seconds to begin; each test has a member of its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import urllib3
from cryptography.fernet import Fernet

from central.dev.certificates import ensure_authority, issue_leaf
from central.kernel.times import format_rfc3339, utc_now
from tests.postgres.conftest import PgServer
from tests.postgres.execution.stand_ins import AUDIENCE, REPOSITORY, SECRET, first_commit, issuer
from tests.postgres.kernel.waiting import until
from tests.postgres.processes.rig import COMMAND, OWNER, Programs, beto_at, get, ports
from tests.postgres.processes.world import KEY, intake_settings, member_settings
from tests.postgres.provisioning.conftest import PROJECT_REF, report_body, resource
from tests.simulators.beto.beto import Beto, ready_for
from tests.simulators.git.credentials import CredentialServer, giving
from tests.simulators.git.server import GitServer
from tests.simulators.git.serving import serving
from tests.simulators.oidc.issuer import Issuer

SITE = "slurm"
POLLERS = 36
"""Of each feed: 72 of both."""
BUSY_TRIES = 20
BACK = "https://members.test/back"
VERIFIER = "v" * 50
CENTRALS_WORD = "central-at-the-git-host"
PROCESSES = {
    "worker": ("work", "provisioning"),
    "intake": ("serve", "provisioning-intake"),
    "member": ("serve", "member-api"),
    "project": ("serve", "project-api"),
    "site": ("serve", "site-api"),
    "execution": ("work", "execution"),
}


@dataclass(slots=True)
class Member:
    """A member of the Project, with an account at the Site."""

    party: str
    username: str
    binding: str
    number: int
    generation: int = 1


@dataclass(slots=True)
class World:
    """The stand-ins, the processes' ports, and what each is started with."""

    programs: Programs
    beto: Beto
    tell: Callable[..., None]
    issuer: Issuer
    git: GitServer
    giver: CredentialServer
    folder: Path
    project: str
    ports: Mapping[str, int] = field(default_factory=dict)
    environments: dict[str, Mapping[str, str]] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    allocation: str = ""
    commit: str = ""
    grant: str = ""
    paused: bool = False
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def told(self, *changes: Any) -> None:
        """Beto's changes, with its authority over what the Project is then."""
        ready = self.beto.truth.set_authority(self.project, "ready", ready_for(self.beto.clock))
        self.tell(*changes, ready)

    def new_member(self, *, consent: bool = True) -> Member:
        """Somebody new in the Project, with a reported account and, if wanted, a standing consent."""
        number = len(self.members) + 1
        username = f"u{number}"
        party, known = self.beto.truth.new_party(site=SITE, username=username)
        added = self.beto.truth.add_member(self.project, party)
        binding = self.beto.truth.parties[party]["providerBindings"][0]["bindingId"]
        member = Member(party, username, binding, number)
        self.members.append(member)
        self.issuer.logins[party] = username
        self.told(known, added)
        self.report()
        if consent:
            status, given = self.consent(member)
            assert (status, given["state"]) == (200, "standing"), given
        return member

    def report(self, **changes: Any) -> None:
        """What the Site's reporter says now: the allocation and every member's account."""
        at = format_rfc3339(utc_now())
        body = report_body(at, resource(1, paused=self.paused, **changes))
        status, answer = self.call("intake", "POST", f"/resource-provisioning/{SITE}/reports", KEY, body)
        assert status == 200, answer
        self.allocation = answer["outcomes"][0]["allocationId"]
        accounts = [
            {
                "partyId": member.party,
                "name": member.username,
                "nativeUid": f"{UUID(int=member.number)}/{member.number}",
                "uidNumber": 5_000_000 + member.number,
                "bindingId": member.binding,
                "generation": member.generation,
                "state": "ready",
            }
            for member in self.members
        ]
        report = {"schema": 1, "reportId": str(uuid4()), "observedAt": at, "allocationId": self.allocation}
        path = f"/resource-provisioning/{SITE}/accounts"
        status, answer = self.call("intake", "POST", path, KEY, report | {"accounts": accounts})
        assert status == 200, answer

    def code(self, party: str) -> str:
        """What the member's browser brings back from the issuer."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")
        form = {"member": party, "redirect_uri": BACK, "code_challenge": challenge.decode()}
        answer = urllib3.request("POST", f"{self.issuer.url}/development/consent", body=urlencode(form))
        return str(answer.json()["code"])

    def consent(self, member: Member) -> tuple[int, Any]:
        """The member consents."""
        body = {"schema": 1, "code": self.code(member.party), "codeVerifier": VERIFIER, "redirectUri": BACK}
        path = "/api/v1/me/execution-consent"
        return self.call("member", "PUT", path, self.issuer.mint(member.party), body)

    def run_body(self, **changes: Any) -> dict[str, Any]:
        """A Run that fits."""
        return {
            "schema": 1,
            "site": SITE,
            "allocationId": None,
            "repository": {"url": f"{self.git.url}/{REPOSITORY}", "commit": self.commit},
            "argv": ["sh", "-c", "echo done > out.txt"],
            "environment": {},
            "resources": {"cpu": 1000, "memory": 1 << 30},
            "timeLimitSeconds": 60,
            "outputs": ["out.txt"],
            "deadline": format_rfc3339(utc_now() + timedelta(hours=1)),
        } | changes

    def start(self, member: Member, key: str | None = None, **changes: Any) -> tuple[int, Any]:
        """The member asks for a Run."""
        return self.as_member(member, "POST", "/runs", self.run_body(**changes), key)

    def as_member(
        self, member: Member, method: str, path: str = "", body: Any = None, key: str | None = None
    ) -> tuple[int, Any]:
        """What the member's program gets below the Project."""
        token = self.issuer.mint(member.party)
        whole = f"/api/v1/projects/{self.project}{path}"
        headers = {"Idempotency-Key": key or str(uuid4())} if body is not None else {}
        return self.call("project", method, whole, token, body, headers=headers)

    def state(self, member: Member, run: str) -> tuple[str, str | None]:
        """State and reason as the member sees them."""
        status, body = self.as_member(member, "GET", f"/runs/{run}")
        return (body["state"], body["reason"]) if status == 200 else ("", body.get("code"))

    def call(
        self,
        process: str,
        method: str,
        path: str,
        token: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Status and answer of one call. A busy database changed nothing and asks to come again with the same
        words, which anybody does: so many times.
        """
        url = f"http://127.0.0.1:{self.ports[process]}{path}"
        sent = {"Authorization": f"Bearer {token}", "Pharos-Schema": "1-1", **(headers or {})}
        for _ in range(BUSY_TRIES):
            answer = urllib3.request(method, url, json=body, headers=sent, timeout=120, retries=False)
            said = json.loads(answer.data or b"null")
            if answer.status != 503 or said["code"] != "database_busy":
                break
            sleep(0.5)
        return answer.status, said

    def retained(self) -> tuple[int, list[str]]:
        """Whose accounts the Site is told to keep for accepted work (P28)."""
        path = f"/resource-provisioning/{SITE}/retained-accounts"
        status, body = self.call("intake", "GET", path, KEY)
        return status, [each["username"] for each in body.get("accounts", [])]

    def operator(self, *words: str, **more: str) -> Any:
        """What an operator's command prints, as JSON."""
        variables = {"PHAROS_DATABASE_URL_FILE": self.programs.url("pharos_operator"), "PHAROS_SITES": SITE}
        return json.loads(self.programs.run(variables | more, *words, "--json").stdout)

    def begin(self, name: str) -> None:
        """Starts a process; returns once it answers."""
        kept = {word: os.environ[word] for word in ("PATH", "HOME", "PYTHONPATH") if word in os.environ}
        with self.log(name).open("ab") as sink:
            process = subprocess.Popen(
                [*COMMAND, *PROCESSES[name]],
                env=kept | dict(self.environments[name]),
                stderr=sink,
                start_new_session=True,
            )
        self.running[name] = process
        until(lambda: self._ready(name, process))

    def kill(self, name: str) -> None:
        """Ends a process and its workers without a word."""
        process = self.running[name]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)

    def log(self, name: str) -> Path:
        """What a process said."""
        return self.folder / f"{name}.log"

    def _ready(self, name: str, process: subprocess.Popen[bytes]) -> bool:
        assert process.poll() is None, self.log(name).read_text()
        with suppress(OSError):
            return get(self.ports[name], "/readyz")[0] == 200
        return False

    def refs(self) -> dict[str, str]:
        """What the Git host holds."""
        return self.git.repositories.refs(REPOSITORY)


@contextmanager
def running(server: PgServer, database: str, folder: Path) -> Iterator[World]:
    """The whole world, while the block runs."""
    programs = Programs(server, database, folder)
    programs.administer()
    with ExitStack() as held:
        beto, tell = held.enter_context(beto_at(programs))
        issuing = held.enter_context(issuer())
        ensure_authority(folder, utc_now())
        certificate, key = issue_leaf(folder, "git.test", "127.0.0.1", utc_now())
        git = held.enter_context(serving(folder / "git", certificate, key, name="127.0.0.1"))
        giver = held.enter_context(giving(git, CENTRALS_WORD))
        project, _ = beto.truth.new_project(PROJECT_REF)
        beto.truth.set_authority(project, "ready", ready_for(beto.clock))
        world = World(programs, beto, tell, issuing, git, giver, folder, project)
        world.commit = first_commit(git, folder)
        world.ports = dict(zip(PROCESSES, ports(len(PROCESSES)), strict=True))
        world.environments = _environments(world)
        world.grant = _grant(programs)
        for name in PROCESSES:
            held.enter_context(_serving(world, name))
        first = world.new_member()
        until(lambda: world.as_member(first, "GET", "/runs")[0] == 200)
        until(lambda: world.start(first, deadline=format_rfc3339(utc_now() - timedelta(1)))[0] == 422)
        yield world


@contextmanager
def _serving(world: World, name: str) -> Iterator[None]:
    """A process of central, whatever else is killed and started in its place; it ends well."""
    world.begin(name)
    try:
        yield
    finally:
        ended = world.running.pop(name)
        ended.terminate()
        assert ended.wait(60) == 0, world.log(name).read_text()


def _environments(world: World) -> dict[str, Mapping[str, str]]:
    programs, at = world.programs, world.ports
    word = _private(world.folder / "git.word", CENTRALS_WORD)
    common = {"PHAROS_ENVIRONMENT": "development", "PHAROS_SITES": "slurm,k8s"}
    oidc = {"PHAROS_OIDC_ISSUER": world.issuer.url, "PHAROS_OIDC_AUDIENCE": "pharos"}
    reader = programs.url(f"{OWNER}_reader")
    evidence = {
        "RESOURCE_PROVISIONING_DATABASE_URL_FILE": reader,
        "RESOURCE_PROVISIONING_VIEWS_BROKER_URL_FILE": reader,
    }
    tokens = oidc | {
        "PHAROS_EXECUTION_TOKEN_CLIENT_ID": "pharos-central",
        "PHAROS_EXECUTION_TOKEN_CLIENT_SECRET_FILE": _private(world.folder / "client.word", SECRET),
        "PHAROS_EXECUTION_CONSENT_KEYS_FILE": _private(
            world.folder / "consent.key", Fernet.generate_key().decode()
        ),
        "PHAROS_EXECUTION_SLURM_AUDIENCES": f"{SITE}={AUDIENCE}",
    }
    host = {
        "PHAROS_REPOSITORY_CREDENTIALS_URL": world.giver.url,
        "PHAROS_REPOSITORY_CREDENTIALS_TOKEN_FILE": word,
        "PHAROS_REPOSITORY_CA_FILE": str(world.folder / "ca.crt"),
    }
    execution = programs.url("pharos_execution")
    owners = {"PHAROS_ACCEPTED_WORK_OWNERS": "execution"}
    return {
        "worker": programs.worker(at["worker"]) | owners,
        "intake": intake_settings(programs, at["intake"]) | owners,
        "member": member_settings(programs, at["member"], world.issuer.url) | tokens,
        "project": common
        | oidc
        | evidence
        | {
            "PHAROS_DATABASE_URL_FILE": programs.url("pharos_project_api"),
            "PHAROS_PROJECT_API_LISTEN": f"127.0.0.1:{at['project']}",
            "PHAROS_EXECUTION_SITES": SITE,
        },
        "site": common
        | tokens
        | evidence
        | host
        | {
            "PHAROS_DATABASE_URL_FILE": programs.url("pharos_site_api"),
            "PHAROS_SITE_API_LISTEN": f"127.0.0.1:{at['site']}",
            "PHAROS_SITE_API_POLLERS": str(POLLERS),
        },
        "execution": common
        | host
        | {
            "PHAROS_DATABASE_URL_FILE": execution,
            "PHAROS_EXECUTION_BROKER_URL_FILE": execution,
            "RESOURCE_PROVISIONING_DATABASE_URL_FILE": reader,
            "PHAROS_EXECUTION_WORKER_LISTEN": f"127.0.0.1:{at['execution']}",
        },
    }


def _grant(programs: Programs) -> str:
    operator = {"PHAROS_DATABASE_URL_FILE": programs.url("pharos_operator"), "PHAROS_SITES": SITE}
    words = ("grants", "issue", "--site", SITE, "--scope", "commands", "--scope", "ssh-access", "--show")
    return programs.run(operator, *words).stdout.strip()


def _private(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o600)
    return str(path)

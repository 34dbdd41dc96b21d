"""A Runtime on a lab host among stand-ins on this machine: the host's own Slurm, directory and names; a
strict Site API and a Git server with LFS here, members' tokens signed with the key the lab's Slurm trusts.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import jwt

from central.dev.certificates import ensure_authority, issue_leaf
from tests.lab.host import LabHost
from tests.lab.processes import wait_until
from tests.lab.tree import HostTree
from tests.simulators.git.server_state import Credential, Repositories
from tests.simulators.git.serving import serving
from tests.simulators.site_api.commands import Issued
from tests.simulators.site_api.history import History
from tests.simulators.site_api.server import TOKEN, SiteApi

ROOT = Path(__file__).parents[2]
LIBRARIES = Path(sysconfig.get_path("purelib"))
BINDS = (f"{ROOT}:/mnt/pharos", f"{LIBRARIES}:/mnt/libraries")
STATE, RUNTIME = "/var/lib/pharos-runtime", "/run/pharos-runtime"
REPOSITORY = "group/work.git"
PASSWORD = "planted-repository-password-7f3a"  # planted: it must be found nowhere
STAGING = {"cpu": 1000, "memory": 256 << 20}
PYTHON = ["/usr/bin/python3.13", "-B", "-m"]
CONSOLE = ("site_bundle.runtime.main", "run")


class Running:
    """The scene: one Site, alice and bob in the account `pharos`, one repository."""

    def __init__(self, host: LabHost, folder: Path) -> None:
        self.host = host
        self.closing = ExitStack()
        address, now = host.host_side_addr, datetime.now(UTC)
        folder.mkdir(parents=True, exist_ok=True)
        ca = ensure_authority(folder, now)
        certificate, key = issue_leaf(folder, "vm.lab.test", address, now)
        self.ca = ca
        self.api = SiteApi(History(), certificate, key, ca, host=address)
        self.api.start()
        self.closing.callback(self.api.stop)
        self.api.server.tokens = {TOKEN: ["commands"]}
        self.git = self.closing.enter_context(
            serving(folder / "git", certificate, key, address=(address, 0), name="vm.lab.test")
        )
        self.repositories: Repositories = self.git.repositories
        self.url = f"{self.git.url}/{REPOSITORY}"
        self.oidc = (host.keys / "oidc.pem").read_text()
        self.tokens: list[str] = []
        self.identities: dict[str, dict[str, Any]] = {}
        self.desk.mint = self._mint
        self._repository(folder)
        self._furnish()

    @property
    def desk(self) -> Any:
        """The stand-in's commands, whichever server serves them now."""
        return self.api.server.desk

    def _mint(self, login: str) -> str:
        now = int(time.time())
        claims = {"iat": now, "exp": now + 300, "preferred_username": login, "jti": uuid4().hex}
        token = jwt.encode(claims, self.oidc, algorithm="RS256", headers={"kid": "lab"})
        self.tokens.append(token)
        return token

    def _repository(self, folder: Path) -> None:
        bare = self.repositories.create(REPOSITORY)
        work = folder / "seed"
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PHAROS_GIT_WRITES": "refs/",
        }

        def git(*words: str) -> str:
            ran = subprocess.run(
                ["git", "-C", str(work), *words], env=env, check=True, capture_output=True, text=True
            )
            return ran.stdout.strip()

        work.mkdir()
        git("init", "--quiet", "--initial-branch=main")
        (work / "run.sh").write_text(
            '#!/bin/sh\nset -e\ncat input.txt > result.txt\necho "$1" >> result.txt\n'
        )
        (work / "input.txt").write_text("seed\n")
        git("add", ".")
        git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "-m", "one")
        git("push", "--quiet", str(bare), "main")
        self.commit = git("rev-parse", "HEAD")
        self.repositories.grant(
            Credential("pharos-run", PASSWORD, REPOSITORY, time.time() + 86_400, ("refs/heads/pharos/runs/",))
        )
        self.desk.credential = {"username": "pharos-run", "password": PASSWORD}

    def _furnish(self) -> None:
        """What the administrators and `activate` would have put there."""
        host = self.host
        host.exec(
            [
                "install",
                "-d",
                "-m",
                "2710",
                "-o",
                "pharos-runtime",
                "-g",
                "pharos-users",
                "/scratch/pharos/.runtime",
            ]
        )
        host.exec(["install", "-d", "-m", "0700", "-o", "pharos-runtime", "-g", "pharos-runtime", STATE])
        host.exec(["install", "-d", "-m", "0755", "-o", "pharos-runtime", "-g", "pharos-runtime", RUNTIME])
        host.put("/etc/pharos-hpc/ca.crt", self.ca.read_bytes())
        host.put("/etc/pharos-hpc/credentials/runtime/site-api-token", f"{TOKEN}\n".encode(), mode=0o600)
        settings = {
            "PHAROS_SITE_API_URL": self.api.url,
            "PHAROS_SITE_API_CA_FILE": "/etc/pharos-hpc/ca.crt",
            "PHAROS_RUNTIME_CLUSTER": "icarus",
            "PHAROS_RUNTIME_PARENT_ACCOUNT": "pharos",
            "PHAROS_RUNTIME_UID_MIN": "5000000",
            "PHAROS_RUNTIME_UID_MAX": "5499999",
            "PHAROS_RUNTIME_STAGING_PARTITION": "staging",
            "PHAROS_RUNTIME_COMPUTE_PARTITION": "compute",
            "PHAROS_RUNTIME_REPOSITORY_CA_FILE": "/etc/pharos-hpc/ca.crt",
            "PHAROS_RUNTIME_LOOKUP_SECONDS": "6",
            "PHAROS_RUNTIME_REQUEUE_SECONDS": "4",
            "PHAROS_RUNTIME_MISSING_SECONDS": "8",
        }
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        host.put("/etc/pharos-hpc/runtime.env", lines.encode())

    def close(self) -> None:
        self.stop()
        self.closing.close()

    # The process.

    program: tuple[str, ...] = ("tests.site.driven_runtime",)
    """What `start` runs; `CONSOLE` is the Runtime with limits of its own."""

    def start(self, **drive: Any) -> None:
        """The Runtime as a unit of its user with the members' group; `drive`: tests/site/driven_runtime."""
        self.stop()
        self.host.exec(
            [
                "systemd-run", "--quiet", "--unit=driven-runtime", "--collect",
                "-p", "User=pharos-runtime", "-p", "Group=pharos-runtime",
                "-p", "SupplementaryGroups=pharos-users",
                "-p", "EnvironmentFile=/etc/pharos-hpc/runtime.env", "-p", "UMask=0077",
                "-p", "RestrictSUIDSGID=yes",
                "-p", "LoadCredential=site-api-token:/etc/pharos-hpc/credentials/runtime/site-api-token",
                "-E", "PYTHONPATH=/mnt/pharos:/mnt/libraries",
                "-E", f"PHAROS_RUNTIME_STATE_DIRECTORY={STATE}",
                "-E", f"PHAROS_RUNTIME_RUNTIME_DIRECTORY={RUNTIME}", "-E", f"DRIVE={json.dumps(drive)}",
                "-E", "PHAROS_SITE_API_TOKEN_FILE=/run/credentials/driven-runtime.service/site-api-token",
                *PYTHON, *self.program,
            ]
        )  # fmt: skip

    def stop(self) -> None:
        self.host.exec(["systemctl", "stop", "driven-runtime"], check=False)

    def runs(self) -> bool:
        done = self.host.exec(["systemctl", "is-active", "driven-runtime"], check=False)
        return done.stdout.strip() == "active"

    def ended(self, seconds: float = 30.0) -> bool:
        return until(lambda: not self.runs(), seconds)

    def log(self) -> str:
        return self.host.exec(
            ["journalctl", "-u", "driven-runtime", "-o", "cat", "--no-pager"], check=False
        ).stdout

    def ask(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A verb by hand, as root types it."""
        env = {"PYTHONPATH": "/mnt/pharos:/mnt/libraries"} | more
        return self.host.exec(
            [*PYTHON, "site_bundle.runtime.main", *words], env=env, check=False, timeout=120.0
        )

    # Slurm.

    def slurm(self, *words: str, user: str | None = None) -> str:
        return self.host.exec(list(words), user=user, check=False).stdout

    def identity(self, user: str = "alice") -> dict[str, Any]:
        """The saved account, as it was when it was first asked for: an outage here is none of central's."""
        if user not in self.identities:
            asked = f"sacctmgr -nP show assoc cluster=icarus account=pharos user={user} format=ID"
            association = int(self.slurm(*asked.split()))
            self.identities[user] = {
                "username": user,
                "uidNumber": int(self.slurm("id", "-u", user)),
                "nativeUid": f"{uuid4()}/{association}",
                "account": "pharos",
            }
        return dict(self.identities[user])

    def jobs(self, issued: Issued) -> list[str]:
        """Ids of every job of the command that accounting ever saw, requeues once."""
        sacct = "sacct -nP -X -a -S 2020-01-01 -o JobID,JobName"
        rows = [line.split("|", 1) for line in self.slurm(*sacct.split()).splitlines()]
        return sorted({job for job, name in rows if name.endswith(issued.body["commandId"])})


class Attempt:
    """One Run's commands, issued as central would."""

    def __init__(self, scene: Running, user: str = "alice") -> None:
        self.scene = scene
        self.run_id, self.attempt_id = str(uuid4()), str(uuid4())
        self.identity = scene.identity(user)

    def issue(self, action: dict[str, Any], **more: Any) -> Issued:
        issued: Issued = self.scene.desk.issue(self.identity, self.run_id, self.attempt_id, action, **more)
        return issued

    def submit(self, stage: str, **more: Any) -> Issued:
        repository = None if stage == "compute" else {"url": self.scene.url, "commit": self.scene.commit}
        action = {
            "act": "submit", "stage": stage, "resources": STAGING, "timeLimitSeconds": 300,
            "repository": repository, "compute": None, "outputs": None,
        }  # fmt: skip
        return self.issue(action | more)

    def compute(self, *argv: str, environment: dict[str, str] | None = None) -> Issued:
        return self.submit("compute", compute={"argv": list(argv), "environment": environment or {}})

    def stage_out(self, *paths: str, large: int = 1 << 20) -> Issued:
        outputs = {"paths": list(paths), "ref": self.ref, "largeFileBytes": large}
        return self.submit("stage-out", outputs=outputs)

    def cancel(self) -> Issued:
        return self.issue({"act": "cancel", "actor": str(uuid4()), "reason": "member_asked"})

    def cleanup(self) -> Issued:
        return self.issue({"act": "cleanup"})

    @property
    def ref(self) -> str:
        return f"refs/heads/pharos/runs/{self.run_id}"

    def result(self, issued: Issued, seconds: float = 60.0) -> dict[str, Any]:
        """The command's result, once it is there."""
        found = self.scene.desk.wait(lambda: issued.result is not None or refused(issued), seconds)
        assert found, f"no result of {issued.body['action']}: {issued.ack}\n{self.scene.log()[-3000:]}"
        assert issued.result is not None, issued.ack
        return dict(issued.result)

    def ack(self, issued: Issued, seconds: float = 60.0) -> dict[str, Any]:
        """The command's acknowledgement, once it is there."""
        assert self.scene.desk.wait(lambda: issued.ack is not None, seconds), self.scene.log()[-3000:]
        return dict(issued.ack or {})


def refused(issued: Issued) -> bool:
    return issued.ack is not None and issued.ack["outcome"] == "refused"


def until(done: Callable[[], bool], seconds: float) -> bool:
    """Whether `done` became true in time; what a host is asked need not be asked often."""
    return wait_until(done, seconds, every=0.2)


@contextmanager
def scene_on(tree: HostTree, folder: Path) -> Iterator[Running]:
    """The scene on a host of its own; both end with the block. The Runtime is not started."""
    with LabHost.up(tree=tree, binds=BINDS) as host:
        made = Running(host, folder)
        try:
            yield made
        finally:
            made.close()

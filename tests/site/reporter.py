"""The reporter among its sources: a real slapd, Slurm's commands over a world, the Waldur simulator, and a
strict intake. A pass in this process, or the reporter as a process of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from site_bundle.kernel.stop import Stop
from site_bundle.reporter.adapters.sqlite_journal import JOURNAL_NAME, open_report_journal
from site_bundle.reporter.application.observe_site import Observed
from site_bundle.reporter.application.send_reports import Sent
from site_bundle.reporter.compose import run_once
from site_bundle.reporter.settings import reporter_settings
from tests.simulators.site_intake.server import KEY, SiteIntake
from tests.simulators.slurm.world import Cluster
from tests.simulators.waldur.process import WaldurProcess
from tests.site.slapd import PEOPLE, SUFFIX, Slapd

ROOT = Path(__file__).parents[2]
BIND_DN = f"cn=pharos-agent,ou=services,{SUFFIX}"
GROUPS = f"ou=groups,ou=pharos,{SUFFIX}"
CAPACITY = {"cpu": 16000, "memory": 16000 << 20, "gpu.gh200": 2}
NEVER = 60.0


class Scene:
    """One allocation `proj_a` of one Project, whose members are alice and bob; more by the test."""

    def __init__(
        self, *, slapd: Slapd, cluster: Cluster, waldur: WaldurProcess, made: dict[str, str],
        intake: SiteIntake, folder: Path,
    ) -> None:  # fmt: skip
        self.slapd, self.cluster, self.waldur, self.intake = slapd, cluster, waldur, intake
        self.platform = intake.platform
        self.offering, self.token, self.customer = made["offering"], made["manager"], made["customer"]
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        for name in ("state", "run"):
            (folder / name).mkdir(exist_ok=True)
        self.project = waldur.act("add_project", name="Lattice", customer=self.customer)
        self.project_id = str(uuid4())
        self.resource = self.add_resource("proj_a")
        self.platform.projects[str(UUID(self.project))] = (self.project_id, [])
        cluster.add_account("proj_a", tres="cpu=16,mem=16000M,gres/gpu:gh200=2")
        self.alice, self.bob = self.join("alice"), self.join("bob")
        self.associations = {name: cluster.add_user("proj_a", name) for name in ("alice", "bob")}

    def add_resource(self, account: str, state: str = "OK", project: str = "") -> str:
        """A resource at Waldur; its dashed UUID."""
        made = self.waldur.act(
            "add_resource", offering=self.offering, project=project or self.project, name=account,
            state=state, backend_id=account,
        )  # fmt: skip
        return str(UUID(made))

    def join(self, username: str, generation: int = 1, binding: str = "", state: str = "active") -> str:
        """A member at the platform, in the place of any of that name; the binding."""
        _, rows = self.platform.projects[str(UUID(self.project))]
        known = next((row for row in rows if row["username"] == username), None)
        row = {
            "username": username, "partyId": known["partyId"] if known else str(uuid4()),
            "bindingId": binding or (known["bindingId"] if known else str(uuid4())), "bindingRevision": 1,
            "generation": generation, "state": state,
        }  # fmt: skip
        rows[:] = [*(each for each in rows if each["username"] != username), row]
        return str(row["bindingId"])

    def environment(self, **more: str) -> dict[str, str]:
        ours = {
            "PHAROS_INTAKE_URL": self.intake.url,
            "PHAROS_INTAKE_CA_FILE": str(self.intake.ca_file),
            "PHAROS_INTAKE_KEY": KEY,
            "PHAROS_WALDUR_API_URL": self.waldur.api,
            "PHAROS_WALDUR_CA_FILE": str(self.waldur.ca_file),
            "PHAROS_WALDUR_TOKEN": self.token,
            "PHAROS_WALDUR_OFFERING_UUID": self.offering,
            "PHAROS_WALDUR_INSTANCE": self.platform.instance,
            "PHAROS_REPORTER_SITE": "slurm",
            "PHAROS_REPORTER_LDAP_URL": self.slapd.url,
            "PHAROS_REPORTER_LDAP_BIND_DN": BIND_DN,
            "PHAROS_REPORTER_LDAP_PASSWORD": "agentpw",
            "PHAROS_REPORTER_PEOPLE_BASE": PEOPLE,
            "PHAROS_REPORTER_GROUPS_BASE": GROUPS,
            "PHAROS_REPORTER_UID_MIN": "5000000",
            "PHAROS_REPORTER_UID_MAX": "5499999",
            "PHAROS_REPORTER_GID_MIN": "5500000",
            "PHAROS_REPORTER_GID_MAX": "5599999",
            "PHAROS_REPORTER_CLUSTER": "icarus",
            "PHAROS_REPORTER_PARENT_ACCOUNT": "pharos",
            "PHAROS_REPORTER_CAPACITY": json.dumps(CAPACITY),
            "PHAROS_REPORTER_SLURM_COMMANDS": str(self.cluster.folder),
            "STATE_DIRECTORY": str(self.folder / "state"),
            "RUNTIME_DIRECTORY": str(self.folder / "run"),
        }
        return ours | more

    # A pass in this process.

    def once(self, **more: str) -> tuple[Observed, Sent]:
        environment = self.environment(**more)
        observed, sent, _ = run_once(reporter_settings(environment), environment, Stop())
        return observed, sent

    def accounts(self, resource: str = "") -> list[dict[str, Any]] | None:
        """What the intake has saved of an allocation; None before a first report."""
        return self.platform.of(resource or self.resource)

    def account(self, name: str) -> dict[str, Any]:
        rows = self.accounts() or []
        return next(row for row in rows if row["name"] == name)

    def states(self) -> dict[str, tuple[str, int]]:
        """State and generation by name."""
        return {row["name"]: (row["state"], row["generation"]) for row in self.accounts() or []}

    def outbox(self) -> list[tuple[str, bool]]:
        """Its subjects and whether it was tried, of each report that waits."""
        journal = open_report_journal(self.folder / "state" / JOURNAL_NAME)
        try:
            found, after = [], 0
            while (report := journal.next(after)) is not None:
                found.append((" ".join(report.subjects), report.tried))
                after = report.sequence
            return found
        finally:
            journal.close()

    # The reporter as a process.

    def start(self, **drive: Any) -> None:
        own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        environment = self.environment(**own, DRIVE=json.dumps(drive))
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.site.driven_reporter"],
                env=environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def ask(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A verb beside it."""
        own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        command = [sys.executable, "-m", "site_bundle.reporter.main", *words]
        environment = self.environment(**own, **more)
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    def wait_until(self, holds: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + NEVER
        while not (value := holds()):
            assert time.monotonic() < deadline, f"{what} did not come true\n{self.log()[-3000:]}"
            time.sleep(0.02)
        return value

    def status(self) -> dict[str, Any]:
        path = self.folder / "run" / "status.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def wait_dead(self) -> int:
        assert self.process is not None
        return self.process.wait(NEVER)

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(NEVER)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(NEVER)

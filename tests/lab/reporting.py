"""A reporter on a lab host among stand-ins on this machine: the real Slurm and directory of the host, the
Waldur simulator and a strict intake here.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from central.dev.certificates import issue_leaf
from tests.lab.host import LabHost
from tests.simulators.site_intake.platform import Platform
from tests.simulators.site_intake.server import KEY, SiteIntake
from tests.simulators.waldur.process import WaldurProcess

ROOT = Path(__file__).parents[2]
LIBRARIES = Path(sysconfig.get_path("purelib"))
BINDS = (f"{ROOT}:/mnt/pharos", f"{LIBRARIES}:/mnt/libraries")
STATE, RUNTIME = "/var/lib/pharos-reporter", "/run/pharos-reporter"
PYTHON = ["/usr/bin/python3.13", "-B", "-m", "site_bundle.reporter.main"]
SUFFIX = "dc=icarus,dc=example"


class Reporting:
    """The scene: one offering, one Project with alice and bob, one allocation `proj_a` below `pharos`."""

    def __init__(self, host: LabHost, folder: Path) -> None:
        self.host = host
        address = host.host_side_addr
        self.waldur = WaldurProcess(folder / "waldur", address=address)
        self.waldur.start()
        certificate, key = issue_leaf(folder / "waldur", "intake.lab.test", address, datetime.now(UTC))
        self.platform = Platform()
        self.intake = SiteIntake(self.platform, certificate, key, self.waldur.ca_file, host=address)
        self.intake.start()
        made = self.waldur.stand()
        self.offering, self.token = made["offering"], made["manager"]
        project = self.waldur.act("add_project", name="Lattice", customer=made["customer"])
        resource = self.waldur.act(
            "add_resource",
            offering=self.offering,
            project=project,
            name="one",
            backend_id="proj_a",
            state="OK",
        )
        self.resource = str(UUID(resource))
        self.rows: list[dict[str, Any]] = [
            {"username": name, "partyId": str(uuid4()), "bindingId": str(uuid4()), "bindingRevision": 1,
             "generation": 1, "state": "active"}
            for name in ("alice", "bob")
        ]  # fmt: skip
        self.platform.projects[str(UUID(project))] = (str(uuid4()), self.rows)
        self._furnish()

    def _furnish(self) -> None:
        """What an administrator and `activate` would have put there."""
        self.host.put("/etc/pharos-hpc/ca.crt", self.waldur.ca_file.read_bytes())
        self.slurm("-i add account proj_a parent=pharos")
        self.slurm("-i add user alice,bob account=proj_a")
        self.slurm("-i modify account proj_a set GrpTRES=cpu=8")
        self.host.exec(["install", "-d", "-o", "pharos-agent", "-g", "pharos-agent", STATE, RUNTIME])
        settings = {
            "PHAROS_INTAKE_URL": self.intake.url,
            "PHAROS_INTAKE_CA_FILE": "/etc/pharos-hpc/ca.crt",
            "PHAROS_WALDUR_API_URL": self.waldur.api.replace("localhost", self.host.host_side_addr),
            "PHAROS_WALDUR_CA_FILE": "/etc/pharos-hpc/ca.crt",
            "PHAROS_WALDUR_OFFERING_UUID": self.offering,
            "PHAROS_WALDUR_INSTANCE": self.platform.instance,
            "PHAROS_REPORTER_SITE": "slurm",
            "PHAROS_REPORTER_LDAP_URL": "ldap://127.0.0.1:389",
            "PHAROS_REPORTER_LDAP_BIND_DN": f"cn=pharos-agent,ou=services,{SUFFIX}",
            "PHAROS_REPORTER_PEOPLE_BASE": f"ou=people,ou=pharos,{SUFFIX}",
            "PHAROS_REPORTER_GROUPS_BASE": f"ou=groups,ou=pharos,{SUFFIX}",
            "PHAROS_REPORTER_UID_MIN": "5000000",
            "PHAROS_REPORTER_UID_MAX": "5499999",
            "PHAROS_REPORTER_GID_MIN": "5500000",
            "PHAROS_REPORTER_GID_MAX": "5599999",
            "PHAROS_REPORTER_CLUSTER": "icarus",
            "PHAROS_REPORTER_PARENT_ACCOUNT": "pharos",
            "PHAROS_REPORTER_CAPACITY": json.dumps({"cpu": 16000, "memory": 16000 << 20, "gpu.gh200": 2}),
        }
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        self.host.put("/etc/pharos-hpc/reporter.env", lines.encode())
        folder = "/etc/pharos-hpc/credentials/reporter"
        for name, secret in {
            "intake-key": KEY, "waldur-token": self.token, "ldap-password": "agentpw",
        }.items():  # fmt: skip
            self.host.put(f"{folder}/{name}", f"{secret}\n".encode(), mode=0o600)

    def close(self) -> None:
        self.intake.stop()
        self.waldur.stop()

    def slurm(self, words: str) -> str:
        """sacctmgr as the site's administrator."""
        return self.host.exec(["sacctmgr", *words.split()], check=False).stdout

    def ask(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A verb by hand, as root types it."""
        env = {"PYTHONPATH": "/mnt/pharos:/mnt/libraries"} | more
        return self.host.exec([*PYTHON, *words], env=env, check=False, timeout=120.0)

    def once(self, **more: str) -> dict[str, Any]:
        """A pass by hand; its document."""
        done = self.ask("once", "--json", **more)
        assert done.stdout, done.stderr
        return dict(json.loads(done.stdout))

    def states(self) -> dict[str, tuple[str, int]]:
        """What the intake has, by name."""
        rows = self.platform.of(self.resource) or []
        return {row["name"]: (row["state"], row["generation"]) for row in rows}

    def comments(self) -> dict[str, str]:
        """Comments of proj_a's associations by user."""
        shown = self.slurm("-nP show association cluster=icarus account=proj_a format=User,Comment")
        return dict(line.split("|", 1) for line in shown.splitlines() if not line.startswith("|"))

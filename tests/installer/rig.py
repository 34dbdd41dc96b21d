"""A whole host in a folder: hand-off, sealed releases, a small systemd; phases run as an administrator
types them.

``Rig.run("activate", …)`` is the command line in this process, and answers exit code, stdout and stderr.
"""

import hashlib
import io
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from installer.bootstrap.inputs import Trust
from installer.bootstrap.seal import seal_tree
from installer.cli import run
from installer.composition import Ports
from installer.domain.contracts import CONTRACTS as ALL_CONTRACTS
from installer.domain.contracts import NEEDS
from installer.domain.limits import Limits
from installer.domain.manifest import Component, JournalSchemas, Manifest, ManifestFile, encode, release_id
from installer.host.paths import HostPaths
from tests.installer.systemctl import Behaviour, FakeClock, FakeHost

UNIT = "pharos-ssh-access.service"
TOKEN = "phs1_" + "0" * 32 + "_" + "A" * 43
IDENTITY = "cn=pharos-ssh-access,ou=services,dc=icarus,dc=example"
PEOPLE = "ou=people,ou=pharos,dc=icarus,dc=example"
USERS = {"ssh-access": "pharos-ssh-access", "reporter": "pharos-agent", "runtime": "pharos-runtime"}
CONTRACTS = {"central-bootstrap": "1", "beto-synchronisation": "1", "member-site-project-bindings": "1"}
TEMPLATE = """[Unit]
Description=agent, version {version}
[Service]
Type=notify
ExecStart={{{{ release_root }}}}/components/{{{{ component }}}}/current/venv/bin/{script} run
EnvironmentFile=/etc/pharos-hpc/{{{{ component }}}}.env
LoadCredential=site-api-token:{{{{ credentials_dir }}}}/{{{{ component }}}}/site-api-token
[Install]
WantedBy=multi-user.target
"""
PROFILE: dict[str, object] = {
    "schema": 1,
    "name": "laboratory-hpc",
    "kind": "laboratory",
    "site": "slurm",
    "python": "/usr/bin/python3.13",
    "architecture": "x86_64",
    "site_api": {"url": "https://vm.lab.test:8443", "ca_file": ""},
    "uid_range": {"min": 5000000, "max": 5499999},
    "ldap": {
        "ssh_access": {
            "socket": "/run/slapd/ldapi",
            "identity": IDENTITY,
            "people_base": PEOPLE,
            "probe_entry": f"uid=pharos-probe,{PEOPLE}",
        }
    },
    "sssd": {"entry_cache_timeout_seconds": 5},
    "components": ["ssh-access"],
    "waivers": [],
}
REPORTER_SECTIONS: dict[str, object] = {
    "intake": {"url": "https://intake.lab.test:8445", "ca_file": ""},
    "waldur": {
        "api_url": "https://waldur.lab.test:8446/api/",
        "ca_file": "",
        "instance": "lab",
        "offering_uuid": "0ffe0000-0000-4000-8000-000000000001",
    },
    "slurm": {
        "cluster": "icarus",
        "parent_account": "pharos",
        "capacity": {"cpu": 16000, "memory": 16777216000, "gpu.gh200": 2},
    },
    "gid_range": {"min": 5500000, "max": 5599999},
    "site_agent_modes": ["report"],
    "event_process": "none",
}
AGENT = {
    "url": "ldap://127.0.0.1:389",
    "bind_dn": "cn=pharos-agent,ou=services,dc=icarus,dc=example",
    "people_base": PEOPLE,
    "groups_base": "ou=groups,ou=pharos,dc=icarus,dc=example",
}


def reporter_profile() -> dict[str, Any]:
    """A profile with both components, to be changed by a test."""
    whole = {**PROFILE, **REPORTER_SECTIONS, "components": ["ssh-access", "reporter"]}
    document: dict[str, Any] = json.loads(json.dumps(whole))
    document["ldap"]["agent"] = dict(AGENT)
    return document


RUNTIME_SECTION: dict[str, object] = {
    "staging": {
        "partition": "staging",
        "max_time_seconds": 3600,
        "internet": {"nodes": "cn01", "by": "the network's administrators", "date": "2026-05-01"},
    },
    "compute": {"partition": "compute", "max_time_seconds": 86400},
    "scratch": "/scratch/pharos",
    "members_group": {
        "name": "pharos-users",
        "approved": {"by": "the site's administrators", "date": "2026-05-01"},
    },
    "repository": {"hosts": ["git.lab.test:8447"], "ca_file": ""},
    "member_tokens": {"user_claim": "preferred_username", "jwks_file": ""},
}


def runtime_profile() -> dict[str, Any]:
    """A profile with the runtime alone, to be changed by a test."""
    slurm = {"cluster": "icarus", "parent_account": "pharos"}
    whole = {**PROFILE, "slurm": slurm, "runtime": RUNTIME_SECTION, "components": ["runtime"]}
    document: dict[str, Any] = json.loads(json.dumps(whole))
    return document


@dataclass(frozen=True, slots=True)
class Result:
    """What a run answered."""

    code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, object]]:
        """The lines of ``--json``."""
        return [json.loads(line) for line in self.stdout.splitlines()]


@dataclass(slots=True)
class Rig:
    """One host."""

    root: Path
    keys: Path
    clock: FakeClock
    fake: FakeHost
    environment: dict[str, str] = field(default_factory=dict)
    own_release: str | None = None
    user: int = 0
    limits: Limits = field(
        default_factory=lambda: Limits(
            health_deadline_seconds=30, health_window_seconds=3, restore_start_seconds=20
        )
    )

    @property
    def paths(self) -> HostPaths:
        trust = Trust(owners=frozenset({0, os.geteuid()}), sticky_parents=True)
        return HostPaths(root=self.root, trust=trust)

    @property
    def ports(self) -> Ports:
        return Ports(
            environment=self.environment,
            paths=self.paths,
            limits=self.limits,
            clock=self.clock,
            run=self.fake,
            stdout=io.StringIO(),
            stderr=io.StringIO(),
            own_release=self.own_release,
            user=self.user,
        )

    def run(self, *arguments: str) -> Result:
        """One phase, as typed."""
        ports = self.ports
        code = run(list(arguments), ports)
        out, err = ports.stdout, ports.stderr
        assert isinstance(out, io.StringIO) and isinstance(err, io.StringIO)
        return Result(code, out.getvalue(), err.getvalue())

    def activate(self, release: str, *more: str) -> Result:
        """``activate`` with the usual evidence."""
        return self.run(
            "activate", "--components", "ssh-access", "--evidence", "/evidence", "--release", release, *more
        )

    def killed(self, checkpoint: str, *arguments: str) -> int:
        """The phase in a process of its own that may die at ``checkpoint``; its exit code, or -9.

        What systemd had in memory outlives it, as on a host.
        """
        memory = self.root.parent / "systemd.json"
        child = os.fork()
        if child == 0:
            self.environment = {**self.environment, "PHAROS_LAB_CHECKPOINT": checkpoint}
            self.fake.after_call = lambda: memory.write_text(self.fake.save())
            code = 70
            try:
                code = self.run(*arguments).code
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if memory.exists():
            self.fake.load(memory.read_text())
        return os.waitstatus_to_exitcode(status)

    # -- hand-off

    def write(self, path: str, text: str | bytes, mode: int = 0o644) -> Path:
        """A file of the host."""
        place = self.paths.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        place.chmod(mode)
        return place

    def profile(self, **changes: object) -> None:
        """The profile, JSON being YAML."""
        self.write("/etc/pharos-hpc/profile.yaml", json.dumps({**PROFILE, **changes}))

    def evidence(
        self,
        contract: str,
        *,
        key: str = "evidence",
        namespace: str = "pharos-hpc-evidence",
        **changes: object,
    ) -> Path:
        """One signed evidence file."""
        body = {
            "schema": 1,
            "contract": contract,
            "revision": CONTRACTS.get(contract, "1"),
            "component": "ssh-access",
            "site": "slurm",
            "issuedBy": "owner of the contract",
            "issuedAt": "2026-01-01T00:00:00Z",
            "validUntil": "2027-01-01T00:00:00Z",
            "laboratory": True,
            **changes,
        }
        name = contract if body["component"] == "ssh-access" else f"{body['component']}-{contract}"
        path = self.write(f"/evidence/{name}.yaml", json.dumps(body))
        signature = path.with_name(path.name + ".sig")
        signature.unlink(missing_ok=True)
        subprocess.run(
            ["ssh-keygen", "-Y", "sign", "-q", "-n", namespace, "-f", self.keys / key, path],
            check=True,
            capture_output=True,
        )
        signature.chmod(0o644)
        return path

    # -- releases

    def release(
        self,
        version: str,
        *,
        reads: tuple[int, ...] = (1,),
        dirty: bool = False,
        behaviour: Behaviour | None = None,
        components: tuple[str, ...] = ("ssh-access",),
        template: bytes | None = None,
    ) -> str:
        """A sealed release, laid down as ``install`` leaves it (its environment is a stand-in)."""
        manifest = Manifest(
            version=version,
            revision="1" * 40,
            built_at="2026-01-02T03:04:05Z",
            dependency_mode="wheelhouse",
            architecture="x86_64",
            python="3.13",
            glibc="2.17",
            files=tuple(
                ManifestFile(path, "0" * 64, 1, 0o644)
                for path in sorted(
                    [
                        "requirements/controller.txt",
                        *(f"requirements/{name}.txt" for name in components),
                        *(f"units/pharos-{name}.service.j2" for name in components),
                    ]
                )
            ),
            components={
                name: Component(
                    name=name,
                    requirements=f"requirements/{name}.txt",
                    console_script=f"pharos-{name}",
                    unit=f"pharos-{name}.service",
                    user=USERS[name],
                    journal_schemas=JournalSchemas(reads, reads[-1]),
                    contracts=NEEDS[name],
                )
                for name in components
            },
            controller_requirements="requirements/controller.txt",
            overrides=(),
            contracts=dict.fromkeys(ALL_CONTRACTS, "1"),
            dirty=dirty,
        )
        data = encode(manifest)
        name = release_id(data, version)
        root = self.paths.release(name)
        (root / "units").mkdir(parents=True)
        (root / "manifest.json").write_bytes(data)
        for component in components:
            usual = TEMPLATE.format(version=version, script=f"pharos-{component}").encode()
            (root / f"units/pharos-{component}.service.j2").write_bytes(template or usual)
            venv = self.paths.venv(name, component)
            (venv / "bin").mkdir(parents=True)
            (venv / "pharos-release").write_text(name)
            (venv / "bin/python").symlink_to(self.paths.at("/usr/bin/python3.13"))
            (venv / f"bin/pharos-{component}").write_text("#!/bin/sh\nexit 0\n")
        for place in (root, *(found for found in root.rglob("*") if not found.is_symlink())):
            place.chmod(0o755 if place.is_dir() or place.parent.name == "bin" else 0o644)
        seal_tree(root, release_id=name, manifest_sha256=hashlib.sha256(data).hexdigest())
        if behaviour is not None:
            self.fake.behaviours[name] = behaviour
        return name

    # -- looking

    def link(self, name: str = "current", component: str = "ssh-access") -> str | None:
        """The release a link names."""
        path = self.paths.components / component / name
        return path.readlink().parts[3] if path.is_symlink() else None

    def snapshot(self, component: str = "ssh-access") -> dict[str, object]:
        """Everything an activation of ``component`` may change, for comparison."""
        unit = self.fake.units.get(f"pharos-{component}.service")
        files = (f"/etc/systemd/system/pharos-{component}.service", f"/etc/pharos-hpc/{component}.env")
        state = self.paths.state
        return {
            "current": self.link(component=component),
            "previous": self.link("previous", component),
            "files": {p: self.paths.at(p).read_bytes() if self.paths.at(p).exists() else None for p in files},
            "enabled": unit.enabled if unit else False,
            "runs": unit.release if unit and unit.active == "active" else None,
            "records": json.loads(state.read_text())["components"] if state.exists() else {},
        }

    def status(self) -> Mapping[str, object]:
        """The component as ``status --json`` tells it, be it good or bad news."""
        result = self.run("status", "--json")
        assert result.code in {0, 3, 4, 9}, result
        components = result.events[-1]["components"]
        assert isinstance(components, dict)
        entry: Mapping[str, object] = components["ssh-access"]
        return entry

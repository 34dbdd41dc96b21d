"""The components' unit templates, read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
UNITS = ROOT / "units"
USERS = {"ssh-access": "pharos-ssh-access", "reporter": "pharos-agent", "runtime": "pharos-runtime"}
CREDENTIALS = {
    "ssh-access": {"site-api-token": "PHAROS_SITE_API_TOKEN_FILE"},
    "reporter": {
        "intake-key": "PHAROS_INTAKE_KEY_FILE",
        "waldur-token": "PHAROS_WALDUR_TOKEN_FILE",
        "ldap-password": "PHAROS_REPORTER_LDAP_PASSWORD_FILE",
    },
    "runtime": {"site-api-token": "PHAROS_SITE_API_TOKEN_FILE"},
}
VALUES = {"release_root": "/opt/pharos-hpc", "credentials_dir": "/etc/pharos-hpc/credentials"}
OF_RUNTIME = {"members_group": "pharos-users", "scratch": "/scratch/pharos"}
NAME = re.compile(r"\{\{ ([a-z_]+) \}\}")


@dataclass(frozen=True, slots=True)
class Unit:
    """One component's unit, rendered as the installer renders it: an undefined name is an error."""

    component: str

    @property
    def template(self) -> str:
        return (UNITS / f"pharos-{self.component}.service.j2").read_text()

    @property
    def text(self) -> str:
        values = {**VALUES, "component": self.component}
        values |= OF_RUNTIME if self.component == "runtime" else {}
        return NAME.sub(lambda match: values[match[1]], self.template)

    def directive(self, name: str) -> list[str]:
        return re.findall(rf"^{name}=(.*)$", self.text, re.MULTILINE)

    @property
    def directives(self) -> set[str]:
        return set(re.findall(r"^([A-Za-z]+)=", self.text, re.MULTILINE))


ALL = tuple(Unit(name) for name in USERS)

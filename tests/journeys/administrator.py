"""The site's administrator at a keyboard: unpacks an archive and types the phases (I1, I2, I3)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.host import Completed, LabHost

SITE = "/etc/pharos-hpc/site.yaml"
CONTROLLER = "/opt/pharos-hpc/controller/current/bin/pharos-installer"
DOWNLOADS = "/root/pharos"
PHASE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Archive:
    """A release as it is handed over: the archive with its signatures beside it."""

    path: Path
    version: str

    @property
    def top_folder(self) -> str:
        """The one folder in the archive."""
        return f"pharos-hpc-site-v{self.version}"

    @property
    def files(self) -> list[Path]:
        """The archive and everything of it that lies beside it."""
        return sorted(self.path.parent.glob(f"{self.path.name.removesuffix('.tar.gz')}.*"))


@dataclass(frozen=True, slots=True)
class Administrator:
    """Works as root on one host."""

    host: LabHost

    def receive(self, archive: Archive) -> str:
        """Copy a release to the host and unpack it; returns the folder ``install.sh`` stands in."""
        for file in archive.files:
            self.host.put(f"{DOWNLOADS}/{file.name}", file.read_bytes())
        self.host.exec(["tar", "-C", DOWNLOADS, "-xzf", f"{DOWNLOADS}/{archive.path.name}"])
        return f"{DOWNLOADS}/{archive.top_folder}"

    def phase(self, folder: str, *words: str, check: bool = True, crash_at: str = "") -> Completed:
        """Type ``./install.sh WORDS…`` in the unpacked archive."""
        line = ["sh", "-c", 'cd "$0" && exec ./install.sh "$@"', folder, *words]
        return self.host.exec(line, check=check, env=_crash(crash_at), timeout=PHASE_SECONDS)

    def installer(self, *words: str, check: bool = True, crash_at: str = "") -> Completed:
        """Type ``pharos-installer WORDS…``, which an install leaves behind."""
        return self.host.exec([CONTROLLER, *words], check=check, env=_crash(crash_at), timeout=PHASE_SECONDS)

    def agent_status(self, component: str = "ssh-access") -> dict[str, Any]:
        """What the agent's ``status --json`` says; its exit status is not looked at."""
        shown = self.host.exec([self.agent_script(component), "status", "--json"], check=False)
        status: dict[str, Any] = json.loads(shown.stdout)
        return status

    def agent_script(self, component: str = "ssh-access") -> str:
        """The console script of the active release."""
        return f"/opt/pharos-hpc/components/{component}/current/venv/bin/pharos-{component}"


def _crash(point: str) -> dict[str, str]:
    """``crash_at``: a named point at which a laboratory ends the installer by SIGKILL; empty for none."""
    return {"PHAROS_LAB_CHECKPOINT": f"{point}:kill"} if point else {}

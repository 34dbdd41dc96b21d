"""The agent as its own process, by its console script's module, with a service manager that listens."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.simulators.site_api.server import TOKEN, SiteApi
from tests.site.slapd import IDENTITY, PEOPLE, PROBE, Slapd

ROOT = Path(__file__).parents[2]
NEVER = 60.0  # the bound of a failure, not of an answer


class AgentProcess:
    """Started, stopped and killed by a test; its folders stay between starts."""

    def __init__(self, slapd: Slapd, site_api: SiteApi, folder: Path) -> None:
        self.slapd = slapd
        self.site_api = site_api
        self.folder = folder
        self.state = folder / "state"
        self.runtime = folder / "run"
        for path in (self.state, self.runtime):
            path.mkdir(exist_ok=True)
        self.token_file = folder / "token"
        self.token_file.write_text(TOKEN + "\n")
        self.log_path = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self._manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._manager.bind(str(slapd.folder / "notify"))
        self._manager.settimeout(0.1)
        self.told: list[str] = []
        self._listening = True
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def environment(self, **more: str) -> dict[str, str]:
        """Settings as the unit would pass them."""
        ours = {
            "PHAROS_SITE_API_URL": self.site_api.url,
            "PHAROS_SITE_API_CA_FILE": str(self.site_api.ca_file),
            "PHAROS_SITE_API_TOKEN_FILE": str(self.token_file),
            "PHAROS_SSH_ACCESS_LDAPI_SOCKET": str(self.slapd.socket),
            "PHAROS_SSH_ACCESS_LDAP_IDENTITY": IDENTITY,
            "PHAROS_SSH_ACCESS_PEOPLE_BASE": PEOPLE,
            "PHAROS_SSH_ACCESS_PROBE_ENTRY": PROBE,
            "PHAROS_SSH_ACCESS_UID_MIN": "5000000",
            "PHAROS_SSH_ACCESS_UID_MAX": "5499999",
            "STATE_DIRECTORY": str(self.state),
            "RUNTIME_DIRECTORY": str(self.runtime),
            "NOTIFY_SOCKET": str(self.slapd.folder / "notify"),
        }
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"} | ours | more

    def start(self, *, module: str = "site_bundle.ssh_access.main", **more: str) -> None:
        """Starts it; `module` may be the one that dies at a checkpoint."""
        assert self.process is None or self.process.poll() is not None
        (self.runtime / "status.json").unlink(missing_ok=True)
        # Development mode shows a socket left open; ldap3's own import warnings are known (lab.md).
        command = [sys.executable, "-m", module, "run"]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.environment(**more), stdout=log, stderr=log, cwd=self.folder
            )

    def ask(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs another verb beside it."""
        command = [sys.executable, "-m", "site_bundle.ssh_access.main", *arguments]
        return subprocess.run(
            command, env=self.environment(**more), capture_output=True, text=True, timeout=60, check=False
        )

    def wait_until(self, holds: Callable[[], Any], what: str = "", seconds: float = NEVER) -> Any:
        """Until `holds()` is true; its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = holds()
            if value:
                return value
            assert time.monotonic() < deadline, f"{what or 'it'} did not come true\n{self.log()[-3000:]}"
            time.sleep(0.02)

    def wait_ready(self, seconds: float = NEVER) -> None:
        self.wait_until(lambda: (self.status() or {}).get("state") == "ready", "ready", seconds)

    def outcome(self, key_id: str, *wanted: str | None, seconds: float = NEVER) -> None:
        """Waits until central has this outcome and code of the key."""
        expected = (wanted[0], wanted[1] if len(wanted) > 1 else None)
        self.wait_until(
            lambda: self.site_api.history.outcome(key_id) == expected, f"outcome {expected}", seconds
        )

    def status(self) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self.runtime / "status.json").read_text())
        except FileNotFoundError:
            return None
        return found

    def _listen(self) -> None:
        """As systemd does: read all the time, or the sender is held up."""
        while self._listening:
            try:
                self.told += self._manager.recv(65536).decode().splitlines()
            except TimeoutError:
                continue

    def notices(self) -> list[str]:
        """All lines told to the service manager so far."""
        return list(self.told)

    def all_notices(self) -> list[str]:
        """The same, when nothing told so far is on its way any more: a datagram of our own came after it."""
        mark = f"MARK={uuid4()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(mark.encode(), str(self.slapd.folder / "notify"))
        self.wait_until(lambda: mark in self.told, "our own mark")
        return self.notices()

    def log(self) -> str:
        return self.log_path.read_text() if self.log_path.exists() else ""

    def stop(self, seconds: float = NEVER) -> int:
        """SIGTERM; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def dead(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def wait_dead(self, seconds: float = NEVER) -> int:
        assert self.process is not None
        return self.process.wait(seconds)

    def kill_now(self) -> None:
        """SIGKILL, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(NEVER)

    def kill(self) -> None:
        """The end of a test."""
        self.kill_now()
        self._listening = False
        self._listener.join()
        self._manager.close()

"""Central as the platform's operator runs it here: ``pharos-central dev`` in a process of its own (X8)."""

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from central.dev.helpers import operator_environment
from central.dev.steer import steer
from tests.journeys.members import Member
from tests.journeys.releases import ROOT
from tests.lab.errors import LabError
from tests.lab.host import Completed, LabHost
from tests.lab.processes import ProcessIdentity, identify, is_alive, run, wait_until
from tests.lab.sshlogin import PEOPLE

SITE = "slurm"
TLS_NAME = "vm.lab.test"
PORT = 8443
INTAKE_PORT = 8445
GIT_PORT = 8447
START_SECONDS = 120.0
DETACHED = (
    'cd "$0" || exit; exec </dev/null >>dev.log 2>&1; echo $$ >dev.pid.new; mv dev.pid.new dev.pid; exec "$@"'
)
STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Central:
    """One stack beside a host; everything it keeps is in ``state``. It ends with the host at the latest."""

    host: LabHost
    state: Path
    reported: bool = False
    """Whose account a key goes to is what Beto and the Site's reports say (P30), not the stand-in's file."""
    runs: bool = False
    """Runs are accepted too, and a Git host stands beside (E4); wants ``reported``."""
    supervised: bool = False
    """A process of central's that ends is started again; otherwise all of it ends."""

    @property
    def listen(self) -> str:
        """Where it listens: the address under which the host knows this machine."""
        return f"{self.host.host_side_addr}:{PORT}"

    def start(self) -> ProcessIdentity:
        """Start and wait until ``dev.json`` stands; returns the process to end later.

        Raises LabError with the last lines of its log. ``state`` must be a folder that another user
        may pass through: PostgreSQL does not run as root.
        """
        self.state.mkdir(mode=0o711, parents=True, exist_ok=True)
        argv = [*_central("dev"), "--state", str(self.state), "--site-listen", self.listen]
        argv += ["--intake-listen", f"{self.host.host_side_addr}:{INTAKE_PORT}"]
        argv += ["--tls-name", TLS_NAME, "--site", SITE]
        argv += ["--accounts", "reported" if self.reported else "file"]
        argv += ["--runs", "--git-listen", f"{self.host.host_side_addr}:{GIT_PORT}"] if self.runs else []
        argv += ["--supervise"] if self.supervised else []
        (self.state / "dev.pid").unlink(missing_ok=True)
        (self.state / "dev.json").unlink(missing_ok=True)
        # Forked away, so that it may outlive whoever started it.
        detached = ["setsid", "--fork", "sh", "-c", DETACHED, str(self.state), *argv]
        run(self.host.beside(detached), env=_environment())
        wait_until((self.state / "dev.pid").exists, START_SECONDS)
        pid = int((self.state / "dev.pid").read_text())
        answered = wait_until(
            lambda: identify(pid) is None or (self.state / "dev.json").exists(), START_SECONDS, every=0.05
        )
        identity = identify(pid)
        if not answered or identity is None:
            log = (self.state / "dev.log").read_text(errors="replace")
            raise LabError(f"central is not up after {START_SECONDS:g} s at most:\n{log[-4000:]}")
        return identity

    def facts(self) -> dict[str, Any]:
        """``dev.json``: URLs, paths, process ids."""
        facts: dict[str, Any] = json.loads((self.state / "dev.json").read_bytes())
        return facts

    @property
    def ca(self) -> bytes:
        """The certificate authority Sites must trust, PEM."""
        return Path(self.facts()["siteApi"]["caFile"]).read_bytes()

    @property
    def intake_url(self) -> str:
        """The Site intake's origin, by its address: another host name than the Site API's (I18)."""
        listen = self.facts()["intake"]["listen"]
        return f"https://{listen}"

    def intake_key(self) -> bytes:
        """What the Site's agent reports with."""
        return Path(self.facts()["intake"]["keyFiles"][SITE]).read_bytes()

    def grant(self, output: Path, scope: str = "ssh-access") -> bytes:
        """Issue a grant for one of the Site's agents; returns the token, which is shown once."""
        words = ["--state", str(self.state), "--site", SITE, "--scope", scope, "--output", str(output)]
        self.operator("dev", "grant", *words)
        return output.read_bytes()

    def revoke(self, grant_id: str) -> None:
        """Revoke a grant: its token is refused from the next request on."""
        self.administer("grants", "revoke", grant_id)

    def administer(self, *words: str, check: bool = True) -> Completed:
        """Type ``pharos-central WORDS…`` with the operator's settings of this stack."""
        env = operator_environment(self.state)
        return run(_central(*words), env={**_environment(), **env}, check=check)

    def beto(self, act: str, **arguments: Any) -> dict[str, Any]:
        """Have Beto's stand-in make something so (``tests/simulators/beto/steering.py``)."""
        return steer(self.state, act, **arguments)

    def give_accounts(self, members: Sequence[dict[str, Any]]) -> None:
        """Say whose account a member's key goes to (the stand-in of P30)."""
        path = Path(self.facts()["accounts"])
        document = {"schema": 1, "sites": [SITE], "accounts": list(members)}
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(document))
        fresh.replace(path)

    def member(self, subject: str) -> Member:
        """A member who uses this central."""
        facts = self.facts()
        return Member(subject, SITE, api=facts["memberApi"]["url"], issuer=facts["oidc"]["issuer"])

    def consent(self, member: str) -> str:
        """The member's way through the issuer, at its browser; what stands then (E5)."""
        return self.operator("dev", "consent", "--state", str(self.state), "--member", member).strip()

    def operator(self, *words: str, **settings: str) -> str:
        """Type ``pharos-central WORDS…`` with these settings alone; returns what it prints."""
        return run(_central(*words), env={**_environment(), **settings}).stdout


def stop(identity: ProcessIdentity) -> None:
    """End a stack and wait for its end; one that has ended is no error."""
    if not is_alive(identity):
        return
    os.kill(identity.pid, signal.SIGTERM)
    if not wait_until(lambda: not is_alive(identity), STOP_SECONDS, every=0.1):
        raise LabError(f"central ({identity.pid}) does not end within {STOP_SECONDS:g} s of SIGTERM")


def account_of(host: LabHost, user: str) -> dict[str, Any]:
    """The account as the Site's directory has it, in the stand-in's form."""
    argv = ["ldapsearch", "-Q", "-LLL", "-o", "ldif-wrap=no", "-Y", "EXTERNAL", "-H", "ldapi:///"]
    dn = f"uid={user},{PEOPLE}"
    shown = host.exec([*argv, "-s", "base", "-b", dn, "uidNumber", "entryUUID"]).stdout
    values = dict(line.split(": ", 1) for line in shown.splitlines() if ": " in line)
    return {
        "member": user,
        "site": SITE,
        "username": user,
        "uidNumber": int(values["uidNumber"]),
        "entryUUID": values["entryUUID"],
    }


def _central(*words: str) -> list[str]:
    return [sys.executable, "-m", "central.cli", *words]


def _environment() -> dict[str, str]:
    ours = ("PHAROS_", "RESOURCE_PROVISIONING_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PYTHONPATH": str(ROOT)}

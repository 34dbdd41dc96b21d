"""What an onlooker of the host sees: files, the unit, the directory, the agent's own words."""

import json
from typing import Any

from tests.journeys.road import Road
from tests.lab.processes import wait_until
from tests.lab.sshlogin import directory_keys

UNIT = "pharos-ssh-access.service"
JOURNAL = "/var/lib/pharos-ssh-access/journal.sqlite"
WATCHED = ("/etc", "/opt", "/usr/lib", "/var/lib", "/home", "/scratch")
# Services of the host write here all the time, and the installer its own log.
RESTLESS = (
    "/var/lib/mysql/",
    "/var/lib/slurm/",
    "/var/lib/sss/",
    "/var/lib/systemd/",
    "/var/lib/ldap/",
    "/var/lib/pharos-installer",
    "/opt/pharos-hpc/controller",
)
LISTING = "%p %y %m %u:%g %s %T@ %l\\n"


def listing(road: Road, *besides: str) -> set[str]:
    """Every path with kind, mode, owner, size and time of change; folders without size and time."""
    found = road.host.exec(
        [
            "find",
            *WATCHED,
            "-xdev",
            "(",
            "-type",
            "d",
            "-printf",
            "%p d %m %u:%g\\n",
            ")",
            "-o",
            "-printf",
            LISTING,
        ]
    )
    ignored = (*RESTLESS, *besides)
    return {line for line in found.stdout.splitlines() if not line.startswith(ignored)}


def unit(road: Road, *properties: str) -> dict[str, str]:
    """Properties of the agent's unit (systemctl(1), show)."""
    shown = road.host.exec(["systemctl", "show", UNIT, "--property", ",".join(properties)]).stdout
    return dict(line.split("=", 1) for line in shown.splitlines())


def main_pid(road: Road) -> int:
    """The agent's main process as the host numbers it; 0 when it does not run."""
    return int(unit(road, "MainPID")["MainPID"])


def linked(road: Road, which: str = "current") -> str:
    """Release id a component link leads to; empty when there is none."""
    link = f"/opt/pharos-hpc/components/ssh-access/{which}"
    shown = road.host.exec(["readlink", link], check=False).stdout.strip()
    return shown.split("/")[3] if shown else ""


def installer_status(road: Road) -> dict[str, Any]:
    """``pharos-installer status --json``: the result, which is its last line."""
    shown = road.admin.installer("status", "--json", check=False).stdout
    result: dict[str, Any] = json.loads(shown.splitlines()[-1])
    return result


def wait_ready(road: Road, release: str, seconds: float = 60.0) -> dict[str, Any]:
    """The agent's status once it is ready as ``release``; AssertionError with what it says instead."""

    def ready() -> bool:
        shown = road.host.exec([road.admin.agent_script(), "status", "--json"], check=False)
        return shown.returncode == 0 and json.loads(shown.stdout)["state"] == "ready"

    came = wait_until(ready, seconds, every=0.3)
    status = road.admin.agent_status()
    assert came, f"not ready within {seconds:g} s: {json.dumps(status)}"
    assert status["release"] == release
    return status


def each_key_once(road: Road, user: str, *keys: str) -> bool:
    """Whether the member's entry holds exactly these keys, each one time."""
    return sorted(directory_keys(road.host, user)) == sorted(keys)


def wait_for_keys(road: Road, user: str, *keys: str, seconds: float = 60.0) -> None:
    """Until the directory holds exactly these keys; AssertionError with those it holds instead."""
    came = wait_until(lambda: each_key_once(road, user, *keys), seconds, every=0.2)
    assert came, f"wanted {sorted(keys)}, the entry of {user} has {directory_keys(road.host, user)}"

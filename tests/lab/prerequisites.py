"""What this machine needs before it can carry a host, and how it gets it.

Packages come from the machine's own apt, with a policy that starts no service (invoke-rc.d(8)):
a developer's machine does not change its behaviour because a test ran.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.errors import CommandFailedError, LabUnavailableError
from tests.lab.limits import LIMITS
from tests.lab.processes import run
from tests.lab.registry import Registry
from tests.lab.slot import cgroup_root

PACKAGE_OF = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "openssl": "openssl",
    "nsenter": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = "#!/bin/sh\n# Placed by the lab while it installs packages: no service starts.\nexit 101\n"
APT = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]


def missing_commands() -> list[str]:
    """Commands the lab uses and PATH does not show."""
    return [command for command in PACKAGE_OF if shutil.which(command) is None]


def obstacles() -> list[str]:
    """Why this machine cannot carry a host whatever is installed; empty when it can."""
    found = []
    if os.geteuid() != 0:
        found.append("not root: run as root (nspawn mounts and makes network namespaces)")
    if not (cgroup_root() / "cgroup.procs").exists():
        found.append("no cgroup v2 hierarchy below /sys/fs/cgroup: boot with one")
    elif not os.access(cgroup_root(), os.W_OK):
        found.append(f"{cgroup_root()} is not writable: this container needs its own cgroup namespace")
    if missing_commands() and shutil.which("apt-get") is None:
        found.append(f"no {', '.join(missing_commands())} and no apt-get: use Debian 12 or 13")
    return found


def require(registry: Registry | None = None) -> None:
    """Make this machine ready, installing what it lacks; raises LabUnavailableError saying why not."""
    if problems := obstacles():
        raise LabUnavailableError("this machine cannot carry a lab host: " + "; ".join(problems))
    if not missing_commands():
        return
    with (registry or Registry()).locked():
        _install(sorted({PACKAGE_OF[command] for command in missing_commands()}))
    if still := missing_commands():
        raise LabUnavailableError(f"still missing after installing their packages: {', '.join(still)}")


def _install(packages: list[str]) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        with _no_service_starts():
            run([*APT, "update"], timeout=LIMITS.packages, env=env)
            command = [*APT, "install", "--no-install-recommends", *packages]
            run(command, timeout=LIMITS.packages, env=env)
    except CommandFailedError as error:
        raise LabUnavailableError(f"apt-get could not install {' '.join(packages)}:\n{error}") from error


@contextmanager
def _no_service_starts() -> Iterator[None]:
    """Place a policy for the time of an installation; one that is there is respected."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text(POLICY_TEXT)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)


def remove_stale_policy() -> None:
    """Remove our policy if a killed installation left it; call under the registry's lock."""
    try:
        ours = POLICY.read_text() == POLICY_TEXT
    except FileNotFoundError:
        return
    if ours:
        POLICY.unlink()

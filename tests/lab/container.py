"""Boot, enter and end one systemd-nspawn host.

Nothing is entered before the host's init has changed its root and opened systemd's socket: an
earlier nsenter would run the command on this machine.
"""

import os
import signal
from pathlib import Path

from tests.lab import cgroup
from tests.lab.errors import LabError
from tests.lab.limits import LIMITS
from tests.lab.processes import ProcessIdentity, children, identify, is_alive, run, wait_until
from tests.lab.registry import HostRecord
from tests.lab.slot import Slot

SUPERVISE = Path(__file__).parent / "supervise.sh"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Joins the visitors' cgroup, then becomes the command.
ENTER = 'echo $$ >"$0" && exec "$@"'


def supervisor(slot: Slot) -> ProcessIdentity | None:
    """The process that keeps the host running; None when it has ended."""
    try:
        pid = int((slot.folder / "supervisor.pid").read_text())
    except FileNotFoundError:
        return None
    identity = identify(pid)
    # The number may be another process's by now; ours is in the host's cgroup.
    return identity if identity is not None and _belongs(slot, pid) else None


def leader(slot: Slot) -> int | None:
    """PID 1 of the host as this machine numbers it; None while there is none to enter."""
    watcher = supervisor(slot)
    if watcher is None:
        return None
    for nspawn in children(watcher.pid):
        for child in children(nspawn):
            root = Path(f"/proc/{child}/root")
            if (root / "etc/lab-tree").exists() and (root / "run/systemd/private").exists():
                return child
    return None


def start(record: HostRecord) -> None:
    """Boot and wait until every service answers; raises LabError with the console's last lines."""
    slot = record.slot
    cgroup.make(slot)
    (slot.folder / "supervisor.pid").unlink(missing_ok=True)
    console = slot.folder / "console"
    argv = [str(SUPERVISE), str(slot.folder), str(slot.cgroup), slot.machine, record.name]
    argv += [f"--bind-ro={bind}" for bind in record.binds]
    run(["setsid", "--fork", "bash", "-c", 'out=$0; exec "$@" </dev/null >>"$out" 2>&1', str(console), *argv])
    if not wait_until(lambda: leader(slot) is not None, LIMITS.boot):
        raise LabError(f"{record.name} did not boot within {LIMITS.boot:g} s:\n{_tail(console)}")
    # "degraded" is an answer too, and lab-ready says what does not work.
    run(enter(slot, ["systemctl", "is-system-running", "--wait"]), check=False, timeout=LIMITS.boot)
    if not record.direct:
        run(enter(slot, ["/usr/local/sbin/lab-ready", f"{LIMITS.boot:.0f}"]), timeout=LIMITS.boot + 10)


def enter(
    slot: Slot, argv: list[str], *, user: str | None = None, env: dict[str, str] | None = None
) -> list[str]:
    """The command of this machine that runs ``argv`` inside; raises LabError when nothing runs there.

    ``env`` shows in this machine's process list: no secret belongs in it (X5).
    """
    pid = leader(slot)
    if pid is None:
        raise LabError(f"the host of {slot.folder} is not running: 'reset' or 'down' it")
    if user is not None:
        argv = ["runuser", "-u", user, "--", *argv]
    home = "/root" if user is None else "/"
    variables = {"HOME": home, "LANG": "C.UTF-8", "TERM": "dumb", "PATH": PATH, **(env or {})}
    namespaces = ["nsenter", "-t", str(pid), "-m", "-u", "-i", "-n", "-p", "-C", "--"]
    inside = ["env", "-i", *(f"{key}={value}" for key, value in variables.items()), *argv]
    return ["sh", "-c", ENTER, str(cgroup.visitors(slot) / "cgroup.procs"), *namespaces, *inside]


def stop(slot: Slot, *, clean: bool) -> None:
    """End the host, politely first when ``clean``, and every process of it in any case."""
    watcher = supervisor(slot)
    if clean and watcher is not None:
        for nspawn in children(watcher.pid):
            os.kill(nspawn, signal.SIGTERM)
        wait_until(lambda: not is_alive(watcher), LIMITS.clean_stop)
    cgroup.end_all(slot)
    (slot.folder / "supervisor.pid").unlink(missing_ok=True)


def _belongs(slot: Slot, pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return any(line.startswith("0::") and f"/{slot.machine}/" in f"{line}/" for line in lines)


def _tail(path: Path) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-20:])
    except FileNotFoundError:
        return "(no console output)"

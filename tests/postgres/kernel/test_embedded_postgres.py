"""Our own PostgreSQL: private, durable, clean to stop, startable by root and by anybody (X8)."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from central.kernel.database import Database, DatabaseOptions
from central.kernel.driver_errors import DatabaseUnavailable
from central.kernel.embedded_postgres import (
    SUPERUSER,
    EmbeddedPostgres,
    EmbeddedPostgresFailed,
    wheel_bin_dir,
)
from central.kernel.queries import parse_queries
from tests.ports import free_port
from tests.postgres.kernel.waiting import until

ROOT = Path(__file__).parents[3]
ONE = parse_queries("-- name: one\nSELECT 1 AS n", source="test")["one"]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop to another uid")


@pytest.fixture
def parent() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pharos-pg-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_it_is_private_durable_and_asks_for_the_password(parent: Path) -> None:
    server = EmbeddedPostgres(parent / "pg")
    with server as urls:
        with psycopg.connect(urls.admin) as connection:
            shown = [
                connection.execute(f"SHOW {name}".encode()).fetchone()
                for name in ("fsync", "listen_addresses", "data_checksums", "password_encryption")
            ]
        assert shown == [("on",), ("",), ("on",), ("scram-sha-256",)]
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(urls.url(SUPERUSER, "wrong", "postgres"))
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(urls.url(SUPERUSER, "", "postgres"))
        assert urls.password not in repr(urls)
        for path, mode in (("", 0o700), ("data", 0o700), ("socket", 0o700), ("password", 0o600)):
            assert stat.S_IMODE((parent / "pg" / path).stat().st_mode) == mode
        pid = server.pid
        assert pid is not None
        assert urls.password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        if os.geteuid() == 0:
            assert Path(f"/proc/{pid}").stat().st_uid != 0
    assert not alive(pid)
    assert "shut down" in (parent / "pg" / "log" / "postgresql.log").read_text()


def test_stopped_and_started_again_it_keeps_its_data_and_its_password(parent: Path) -> None:
    server = EmbeddedPostgres(parent / "pg")
    with server as urls, psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    with server as again, psycopg.connect(again.admin) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    assert again.password == urls.password


def test_f04_a_pool_outlives_a_restart_of_the_server(parent: Path) -> None:
    server = EmbeddedPostgres(parent / "pg")
    urls = server.start()
    try:
        options = DatabaseOptions(urls.admin, pool_size=2, pool_timeout_seconds=1, reconnect_seconds=1)
        with Database(options) as database:
            assert database.run(lambda tx: tx.execute(ONE)) == 1
            server.stop()
            with pytest.raises(DatabaseUnavailable):
                database.check_ready()
            server.start()
            until(lambda: _ready(database))
            assert database.run(lambda tx: tx.execute(ONE)) == 1
    finally:
        server.stop()


def _ready(database: Database) -> bool:
    try:
        database.check_ready()
    except DatabaseUnavailable:
        return False
    return True


def test_a_port_opens_loopback_with_the_password(parent: Path) -> None:
    port = free_port()
    with EmbeddedPostgres(parent / "pg", port=port) as urls:
        with psycopg.connect(
            host="127.0.0.1", port=port, user=SUPERUSER, password=urls.password, dbname="postgres"
        ):
            pass
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(host="127.0.0.1", port=port, user=SUPERUSER, dbname="postgres")
        psycopg.connect(urls.admin).close()


@as_root
def test_binaries_the_unprivileged_uid_cannot_read_are_staged(parent: Path) -> None:
    private = parent / "private-home"
    private.mkdir(mode=0o700)
    package = wheel_bin_dir().parents[1]
    shutil.copytree(package, private / package.name, symlinks=True)
    shutil.copytree(f"{package}.libs", private / f"{package.name}.libs")
    source = private / wheel_bin_dir().relative_to(package.parent)
    with EmbeddedPostgres(parent / "pg", source) as urls:
        psycopg.connect(urls.admin).close()
        assert (parent / "pg" / "staged" / "complete").exists()


@as_root
def test_a_folder_the_unprivileged_uid_cannot_enter_is_refused_with_the_remedy(parent: Path) -> None:
    parent.chmod(0o700)
    with pytest.raises(EmbeddedPostgresFailed, match=r"Permission denied|cannot enter"):
        EmbeddedPostgres(parent / "pg").start()


def readable_interpreter() -> str:
    """An interpreter of this version that another uid can run, or a skip."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            subprocess.run([python, "-c", ""], user=65534, check=True, capture_output=True, cwd="/")
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip("no interpreter of this version can be run by another uid")


@as_root
def test_it_runs_without_root(parent: Path) -> None:
    os.chown(parent, 65534, 65534)
    program = (
        "import os, sys, pathlib, psycopg\n"
        "from central.kernel.embedded_postgres import EmbeddedPostgres\n"
        "with EmbeddedPostgres(pathlib.Path(sys.argv[1])) as urls:\n"
        "    with psycopg.connect(urls.admin) as connection:\n"
        "        print(os.geteuid(), connection.execute('SELECT 41 + 1').fetchone()[0])\n"
    )
    packages = str(Path(psycopg.__file__).parents[1])
    done = subprocess.run(
        [readable_interpreter(), "-c", program, str(parent / "pg")],
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        env={"PYTHONPATH": f"{ROOT}:{packages}", "PATH": os.environ["PATH"]},
    )
    assert (done.stdout, done.stderr) == ("65534 42\n", "")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (util-linux) is not installed")
def test_the_server_ends_with_an_owner_that_is_killed(parent: Path) -> None:
    program = (
        "import os, pathlib, signal, sys\n"
        "from central.kernel.embedded_postgres import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(pathlib.Path(sys.argv[1]))\n"
        "server.start()\n"
        "print(server.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(parent / "pg")],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
    )
    assert done.returncode == -signal.SIGKILL
    until(lambda: not alive(int(done.stdout)))
    assert "shut down" in (parent / "pg" / "log" / "postgresql.log").read_text()


def test_a_leftover_of_a_killed_owner_is_stopped_first(parent: Path) -> None:
    first = EmbeddedPostgres(parent / "pg")
    first.start()
    pid = first.pid
    assert pid is not None
    second = EmbeddedPostgres(parent / "pg")
    try:
        with psycopg.connect(second.start().admin) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert first._process is not None
        assert first._process.wait(60) == 0
    finally:
        second.stop()
        first.stop()


def test_a_pid_file_that_names_a_stranger_kills_nobody(parent: Path) -> None:
    server = EmbeddedPostgres(parent / "pg")
    server.start()
    server.stop()
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        pid_file = parent / "pg" / "data" / "postmaster.pid"
        pid_file.write_text(f"{stranger.pid}\n")
        if os.geteuid() == 0:
            os.chown(pid_file, 65534, 65534)
        with EmbeddedPostgres(parent / "pg") as urls:
            psycopg.connect(urls.admin).close()
        assert stranger.poll() is None
    finally:
        stranger.send_signal(signal.SIGKILL)
        stranger.wait()


def test_a_path_too_long_for_a_socket_is_refused(parent: Path) -> None:
    with pytest.raises(EmbeddedPostgresFailed, match="Unix socket"):
        EmbeddedPostgres(parent / ("x" * 90)).start()


def test_a_server_that_cannot_start_tells_why(parent: Path) -> None:
    with pytest.raises(EmbeddedPostgresFailed, match="unrecognized configuration parameter"):
        EmbeddedPostgres(parent / "pg", options={"no_such_setting": "1"}).start()

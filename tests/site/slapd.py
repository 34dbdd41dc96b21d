"""A real slapd in a temporary folder, with the lab's own policy: schema, overlays, access rules, people.

The test's own uid is the agent. As root that would be the rootdn, which no access rule binds, so the rootdn
here is a named administrator with a password, and uid 0 is mapped like any other: the rules apply to the
tests as on a host.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ldap3

from site_bundle.directory.names import ldapi_url
from tests.ports import free_port
from tests.simulators.site_api.history import Target

SEED = Path(__file__).parents[1] / "lab" / "seed"
SUFFIX = "dc=icarus,dc=example"
PEOPLE = f"ou=people,ou=pharos,{SUFFIX}"
STAFF = f"ou=staff,{SUFFIX}"
IDENTITY = f"cn=pharos-ssh-access,ou=services,{SUFFIX}"
PROBE = f"uid=pharos-probe,{PEOPLE}"
ADMIN, PASSWORD = f"cn=administrator,{SUFFIX}", "administrator"
SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/bin:/sbin")
ROOT_DN = "olcRootDN: gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth"


class Slapd:
    """One server; `template` is built once and copied, which takes some ten milliseconds."""

    def __init__(self, template: Path) -> None:
        # Short: a socket's path has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="slapd-"))
        shutil.copytree(template, self.folder, dirs_exist_ok=True)
        _replace(self.folder / "conf", str(template), str(self.folder))
        self.socket = self.folder / "ldapi"
        self.url = f"ldap://127.0.0.1:{free_port()}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert SLAPD is not None
        self.socket.unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [SLAPD, "-d", "stats", "-F", str(self.folder / "conf"), "-h", self._urls()],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 60
        while not _answers(self.socket):
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, "slapd does not answer"
            time.sleep(0.01)

    def _urls(self) -> str:
        return f"{ldapi_url(self.socket)} {self.url}/"

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    @contextmanager
    def away(self) -> Iterator[None]:
        """The directory is down inside the block."""
        self.stop()
        yield
        self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The directory takes connections and never answers inside the block."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        yield
        self.process.send_signal(signal.SIGCONT)

    def destroy(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    @contextmanager
    def administrator(self) -> Iterator[Any]:
        """An ldap3 connection that no access rule binds."""
        server = ldap3.Server(ldapi_url(self.socket), get_info=ldap3.NONE)
        connection = ldap3.Connection(
            server, ADMIN, PASSWORD, auto_bind=True, check_names=False, raise_exceptions=True
        )
        try:
            yield connection
        finally:
            connection.unbind()

    def values(self, name: str, base: str = PEOPLE) -> list[bytes]:
        """Stored keys of `uid=name`, sorted; empty when the entry has none."""
        with self.administrator() as connection:
            connection.search(
                f"uid={name},{base}", "(objectClass=*)", ldap3.BASE, attributes=["sshPublicKey"]
            )
            return sorted(connection.response[0]["raw_attributes"].get("sshPublicKey", []))

    def put(self, name: str, *values: bytes) -> None:
        """An administrator adds values by hand."""
        with self.administrator() as connection:
            connection.modify(f"uid={name},{PEOPLE}", {"sshPublicKey": [(ldap3.MODIFY_ADD, list(values))]})

    def take(self, name: str, *values: bytes) -> None:
        """An administrator deletes values by hand."""
        with self.administrator() as connection:
            connection.modify(f"uid={name},{PEOPLE}", {"sshPublicKey": [(ldap3.MODIFY_DELETE, list(values))]})

    def add_person(
        self, name: str, number: int, base: str = PEOPLE, dn: str | None = None, **more: Any
    ) -> Target:
        """An administrator makes an account; it as a target."""
        attributes = {"uid": name, "cn": name, "sn": name, "uidNumber": number, "gidNumber": 5500000}
        attributes |= {"homeDirectory": f"/home/{name}"} | more
        classes = ["inetOrgPerson", "posixAccount", "ldapPublicKey"]
        with self.administrator() as connection:
            connection.add(dn or f"uid={name},{base}", classes, attributes)
        return self.target(name, base, dn=dn)

    def delete_person(self, name: str) -> None:
        with self.administrator() as connection:
            connection.delete(f"uid={name},{PEOPLE}")

    def target(self, name: str, base: str = PEOPLE, dn: str | None = None) -> Target:
        """An account as the platform saved it."""
        with self.administrator() as connection:
            connection.search(
                dn or f"uid={name},{base}",
                "(objectClass=*)",
                ldap3.BASE,
                attributes=["uidNumber", "entryUUID"],
            )
            found = connection.response[0]["raw_attributes"]
        return Target(name, int(found["uidNumber"][0]), found["entryUUID"][0].decode())

    def searches(self) -> int:
        """How many searches the server was asked so far (its own log)."""
        return (self.folder / "log").read_text(errors="replace").count(" SRCH base=")

    def binds(self, dn: str) -> int:
        """How many binds with a right password it took as `dn` so far (its own log)."""
        return (self.folder / "log").read_text(errors="replace").count(f' BIND dn="{dn}" mech=SIMPLE')

    def set_access(self, *rules: str) -> None:
        """An administrator replaces the database's access rules while slapd is down."""
        added = [f"olcAccess: {{{number}}}{rule}" for number, rule in enumerate(rules)]
        self._configure("olcAccess:", added)

    def set_limit(self, limit: str) -> None:
        """An administrator gives an identity limits of its own (olcLimits) while slapd is down."""
        self._configure("olcLimits:", [f"olcLimits: {{0}}{limit}"])

    def set_read_only(self) -> None:
        """An administrator lets nobody change the database (olcReadOnly) while slapd is down."""
        self._configure("olcReadOnly:", ["olcReadOnly: TRUE"])

    def _configure(self, attribute: str, added: list[str]) -> None:
        assert self.process is None
        path = next((self.folder / "conf" / "cn=config").glob("olcDatabase={1}mdb.ldif"))
        lines = path.read_text().replace("\n ", "").splitlines()
        kept = [line for line in lines if not line.startswith((attribute, "# CRC32"))]
        path.write_text("\n".join([*kept, *added]) + "\n")


def build_template(folder: Path) -> None:
    """The lab's configuration and content, loaded offline below `folder`."""
    (folder / "conf").mkdir(parents=True)
    (folder / "db").mkdir()
    config = (SEED / "slapd-config.ldif").read_text()
    config = config.replace("@SSH_UID@", str(os.getuid())).replace("/var/lib/ldap", str(folder / "db"))
    config = config.replace("/run/slapd/", f"{folder}/")
    # The second database takes the administrator of the tests; the first keeps its rootdn.
    head, mark, tail = config.partition("dn: olcDatabase={1}mdb,cn=config")
    assert mark and ROOT_DN in tail
    config = head + mark + tail.replace(ROOT_DN, f"olcRootDN: {ADMIN}\nolcRootPW: {PASSWORD}")
    (folder / "config.ldif").write_text(config)
    content = (SEED / "base.ldif").read_text().replace("@AGENTPW@", "agentpw")
    (folder / "base.ldif").write_text(content)
    for number, name in ((0, "config.ldif"), (1, "base.ldif")):
        command = [
            "/usr/sbin/slapadd",
            "-n",
            str(number),
            "-F",
            str(folder / "conf"),
            "-l",
            str(folder / name),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr


def _replace(folder: Path, old: str, new: str) -> None:
    """Paths in the copied configuration; slapd checks a CRC only to warn, so its line goes."""
    for path in folder.rglob("*.ldif"):
        text = path.read_text().replace("\n ", "")
        if old in text:
            path.write_text(
                "".join(f"{x}\n" for x in text.replace(old, new).splitlines() if x[:7] != "# CRC32")
            )


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        try:
            channel.connect(str(path))
        except OSError:
            return False
        return True

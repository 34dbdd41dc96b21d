"""A directory under a policy of docs/policy, over its own socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.architecture.sources import ROOT
from tests.ports import free_port

NEEDS = [
    pytest.mark.slapd,
    pytest.mark.skipif(os.geteuid() != 0, reason="root plays the administrators, another user the agent"),
    pytest.mark.skipif(shutil.which("slapd", path="/usr/sbin") is None, reason="slapd is not installed"),
]
"""The marks of every test over it."""
POLICY = ROOT / "docs" / "policy"
SUFFIX = "dc=icarus,dc=example"
PROBE = f"uid=pharos-probe,ou=people,ou=pharos,{SUFFIX}"
AGENT = f"cn=pharos-ssh-access,ou=services,{SUFFIX}"
ROOT_DN = "gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth"
PLAIN = """dn: cn=config
objectClass: olcGlobal
cn: config

dn: cn=module{{0}},cn=config
objectClass: olcModuleList
cn: module{{0}}
olcModulePath: /usr/lib/ldap
olcModuleLoad: back_mdb

dn: cn=schema,cn=config
objectClass: olcSchemaConfig
cn: schema

include: file:///etc/ldap/schema/core.ldif
include: file:///etc/ldap/schema/cosine.ldif
include: file:///etc/ldap/schema/nis.ldif
include: file:///etc/ldap/schema/inetorgperson.ldif

dn: olcDatabase={{0}}config,cn=config
objectClass: olcDatabaseConfig
olcDatabase: {{0}}config
olcRootDN: {root}

dn: olcDatabase={{1}}mdb,cn=config
objectClass: olcDatabaseConfig
objectClass: olcMdbConfig
olcDatabase: {{1}}mdb
olcDbDirectory: {folder}/db
olcSuffix: {suffix}
olcRootDN: {root}
olcAccess: {{0}}to * by * read
"""
TREE = f"""dn: {SUFFIX}
objectClass: dcObject
objectClass: organization
o: Icarus HPC
dc: icarus

dn: ou=pharos,{SUFFIX}
objectClass: organizationalUnit
ou: pharos

dn: ou=people,ou=pharos,{SUFFIX}
objectClass: organizationalUnit
ou: people

dn: ou=staff,{SUFFIX}
objectClass: organizationalUnit
ou: staff
"""


class Directory:
    """A slapd on one socket and on loopback; `root` is its administrator by EXTERNAL, as on a host."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"ldapi://{quote(str(folder / 'ldapi'), safe='')}"
        self.loopback = f"ldap://127.0.0.1:{free_port()}"

    def tool(
        self, name: str, *words: str, text: str = "", user: str = "root"
    ) -> subprocess.CompletedProcess[str]:
        """Run an LDAP tool as a system user; `text` is its standard input."""
        account = pwd.getpwnam(user)
        ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        command = ["setpriv", *ids, name, "-Q", "-Y", "EXTERNAL", "-H", self.url, *words]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)

    def apply(self, name: str, text: str) -> None:
        """Apply LDIF as the administrator."""
        done = self.tool(name, text=text)
        assert done.returncode == 0, done.stderr

    def agent_modifies(self, dn: str, *lines: str) -> int:
        """The LDAP result of a modify by the agent."""
        text = "\n".join([f"dn: {dn}", "changetype: modify", *lines, ""])
        return self.tool("ldapmodify", text=text, user="nobody").returncode


def policy(name: str, uid: int) -> str:
    """A file of docs/policy with the user's number filled in."""
    return (POLICY / name).read_text(encoding="utf-8").replace("@SSH_UID@", str(uid))


@pytest.fixture(scope="module")
def plain() -> Iterator[Directory]:
    """A directory before any of our policy, with people and staff."""
    folder = Path(tempfile.mkdtemp(prefix="policy-"))
    folder.chmod(0o755)
    (folder / "conf").mkdir()
    (folder / "db").mkdir()
    (folder / "config.ldif").write_text(PLAIN.format(folder=folder, suffix=SUFFIX, root=ROOT_DN))
    load = ["slapadd", "-n", "0", "-F", str(folder / "conf"), "-l", str(folder / "config.ldif")]
    environment = {"PATH": "/usr/sbin:/usr/bin"}
    subprocess.run(load, check=True, capture_output=True, timeout=60, env=environment)
    directory = Directory(folder)
    serve = ["slapd", "-d", "0", "-F", str(folder / "conf"), "-h", f"{directory.url} {directory.loopback}"]
    process = subprocess.Popen(serve, stderr=subprocess.DEVNULL, env=environment)
    try:
        deadline = time.monotonic() + 60
        while directory.tool("ldapwhoami").returncode != 0:
            assert time.monotonic() < deadline, "slapd does not answer"
            time.sleep(0.05)
        directory.apply("ldapadd", TREE)
        yield directory
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)

"""The policy for the reporter makes exactly the right rights on a plain slapd (I7, I8, I9, S8): over loopback
with a password, accounts and groups alone, whole lists, no number outside the ranges.
"""

from __future__ import annotations

import pwd
import subprocess

import pytest

from tests.architecture.policy_directory import NEEDS, POLICY, PROBE, SUFFIX, Directory, plain, policy

__all__ = ["plain"]

pytestmark = NEEDS

AGENT = f"cn=pharos-agent,ou=services,{SUFFIX}"
GROUPS = f"ou=groups,ou=pharos,{SUFFIX}"
GROUP = f"""dn: cn=project-1,{GROUPS}
objectClass: posixGroup
cn: project-1
gidNumber: 5500001
"""


@pytest.fixture(scope="module")
def directory(plain: Directory) -> Directory:
    """docs/policy applied in its order, with the agent's password."""
    plain.apply("ldapadd", f"dn: {GROUPS}\nobjectClass: organizationalUnit\nou: groups\n")
    plain.apply("ldapadd", policy("1-schema.ldif", 0))
    plain.apply("ldapmodify", policy("2-access.ldif", pwd.getpwnam("nobody").pw_uid))
    plain.apply("ldapadd", policy("3-probe.ldif", 0))
    hashed = subprocess.run(
        ["/usr/sbin/slappasswd", "-s", "agentpw"], capture_output=True, text=True, check=True
    ).stdout.strip()
    plain.apply("ldapadd", policy("4-agent.ldif", 0).replace("@AGENT_PASSWORD_HASH@", hashed))
    plain.apply("ldapmodify", policy("5-agent-access.ldif", 0))
    plain.apply("ldapmodify", policy("6-ranges.ldif", 0))
    return plain


def agent(
    directory: Directory, tool: str, *words: str, text: str = "", url: str = "", password: str = "agentpw"
) -> subprocess.CompletedProcess[str]:
    command = [tool, "-x", "-H", url or directory.loopback, "-D", AGENT, "-w", password, *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=False)


def modify(directory: Directory, dn: str, *lines: str, url: str = "") -> int:
    text = "\n".join([f"dn: {dn}", "changetype: modify", *lines, ""])
    return agent(directory, "ldapmodify", text=text, url=url).returncode


def test_i8_the_agent_binds_over_loopback_with_its_password(directory: Directory) -> None:
    assert agent(directory, "ldapwhoami").stdout.strip() == f"dn:{AGENT}"
    assert agent(directory, "ldapwhoami", password="wrong").returncode == 49


def test_x1_the_agent_tells_an_entry_that_is_there_from_one_that_is_not(directory: Directory) -> None:
    """The reporter's question (ADR 0014): assertionFailed, noSuchObject; the entry stays as it is."""
    asked = []
    for dn in (PROBE, PROBE.replace("pharos-probe", "nobody")):
        text = f"dn: {dn}\nchangetype: modify\nadd: objectClass\nobjectClass: top\n"
        asked.append(agent(directory, "ldapmodify", "-e", "!assert=(!(objectClass=*))", text=text).returncode)
    assert asked == [122, 32]


def test_i7_accounts_and_groups_are_its_work(directory: Directory) -> None:
    assert modify(directory, PROBE, "replace: loginShell", "loginShell: /bin/false") == 0
    assert agent(directory, "ldapadd", text=GROUP).returncode == 0
    assert modify(directory, f"cn=project-1,{GROUPS}", "add: memberUid", "memberUid: alice") == 0
    account = policy("3-probe.ldif", 0).replace("pharos-probe", "carol").replace("5499999", "5000003")
    assert agent(directory, "ldapadd", text=account).returncode == 0
    assert agent(directory, "ldapdelete", PROBE.replace("pharos-probe", "carol")).returncode == 0


@pytest.mark.parametrize(
    ("dn", "lines", "result"),
    [
        (PROBE, ("add: sshPublicKey", "sshPublicKey: ssh-ed25519 AAAA"), 50),
        (PROBE, ("add: userPassword", "userPassword: secret"), 50),
        (PROBE, ("replace: uidNumber", "uidNumber: 0"), 19),
        (PROBE, ("replace: uidNumber", "uidNumber: 1000"), 19),
        (AGENT, ("replace: userPassword", "userPassword: another"), 50),
        (f"ou=people,ou=pharos,{SUFFIX}", ("add: description", "description: x"), 50),
        (f"ou=staff,{SUFFIX}", ("add: description", "description: x"), 50),
    ],
)
def test_i7_i9_and_nothing_else(directory: Directory, dn: str, lines: tuple[str, str], result: int) -> None:
    assert modify(directory, dn, *lines) == result


def test_i8_its_rights_end_with_the_loopback(directory: Directory) -> None:
    shell = ("replace: loginShell", "loginShell: /bin/bash")
    assert modify(directory, PROBE, *shell, url=directory.url) == 50


def test_i7_an_account_with_a_key_or_a_password_is_refused_whole(directory: Directory) -> None:
    plain_account = policy("3-probe.ldif", 0).replace("pharos-probe", "dave").replace("5499999", "5000004")
    for line in ("sshPublicKey: ssh-ed25519 AAAA", "userPassword: secret"):
        assert agent(directory, "ldapadd", text=f"{plain_account.rstrip()}\n{line}\n").returncode == 50


def test_s8_its_lists_are_whole_where_others_are_cut(directory: Directory) -> None:
    directory.apply(
        "ldapmodify",
        "dn: olcDatabase={1}mdb,cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: 1\n",
    )
    words = ("-LLL", "-b", f"ou=pharos,{SUFFIX}", "1.1")
    assert agent(directory, "ldapsearch", *words).returncode == 0
    assert directory.tool("ldapsearch", *words, user="nobody").returncode == 4


def test_the_slurm_policy_names_what_validate_checks() -> None:
    text = (POLICY / "slurm.md").read_text(encoding="utf-8")
    for word in (
        "add coordinator",
        "maxsubmitjobs=0",
        "DisableCoordDBD",
        "AllowNoDefAcct",
        "job_env",
        "24.11.5",
    ):
        assert word in text

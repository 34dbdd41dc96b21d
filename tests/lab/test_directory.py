"""What the site's directory allows each identity, tried with real writes (lab.md §1; I7, I8, I9).

The numbers are LDAP result codes (RFC 4511, 4.1.9), which ldapmodify(1) exits with.
"""

import pytest

from tests.lab.host import LabHost
from tests.lab.sshlogin import PEOPLE

pytestmark = pytest.mark.lab

BASE = "ou=pharos,dc=icarus,dc=example"
ALICE = f"uid=alice,{PEOPLE}"
PROBE = f"uid=pharos-probe,{PEOPLE}"
CAROL = f"uid=carol,{PEOPLE}"
OPERATOR = "uid=operator,ou=staff,dc=icarus,dc=example"
GROUP = f"cn=pharos-users,ou=groups,{BASE}"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0000000000000000000000000000000000000000000"
EXTERNAL = ["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"]
SIMPLE = [
    "ldapmodify",
    "-x",
    "-H",
    "ldap://127.0.0.1",
    "-D",
    "cn=pharos-agent,ou=services,dc=icarus,dc=example",
]

SUCCESS, NO_SUCH_ATTRIBUTE, CONSTRAINT, INVALID_CREDENTIALS, DENIED = 0, 16, 19, 49, 50


def modify(dn: str, act: str, attribute: str, *values: str) -> str:
    lines = "".join(f"{attribute}: {value}\n" for value in values)
    return f"dn: {dn}\nchangetype: modify\n{act}: {attribute}\n{lines}"


def account(uid: str, *more: str, number: int = 5000003) -> str:
    fields = [
        f"uid: {uid}",
        "cn: c",
        "sn: c",
        f"uidNumber: {number}",
        "gidNumber: 5500000",
        f"homeDirectory: /h/{uid}",
    ]
    classes = "objectClass: inetOrgPerson\nobjectClass: posixAccount\nobjectClass: ldapPublicKey\n"
    return f"dn: uid={uid},{PEOPLE}\nchangetype: add\n{classes}" + "\n".join([*fields, *more]) + "\n"


def by_socket(host: LabHost, user: str, ldif: str) -> int:
    return host.exec(EXTERNAL, user=user, input=ldif, check=False).returncode


def by_password(host: LabHost, ldif: str, password: str = "agentpw") -> int:
    return host.exec([*SIMPLE, "-w", password], user="nobody", input=ldif, check=False).returncode


def test_the_access_agent_is_who_the_administrators_say(lab_host: LabHost) -> None:
    who = lab_host.exec(["ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", "ldapi:///"], user="pharos-ssh-access")
    assert who.stdout.strip() == "dn:cn=pharos-ssh-access,ou=services,dc=icarus,dc=example"


@pytest.mark.parametrize(
    ("ldif", "result"),
    [
        (modify(ALICE, "replace", "sshPublicKey", KEY), SUCCESS),
        (modify(ALICE, "add", "sshPublicKey", f"{KEY} second"), SUCCESS),
        (modify(ALICE, "delete", "sshPublicKey", f"{KEY} second"), SUCCESS),
        (modify(ALICE, "replace", "sshPublicKey"), SUCCESS),
        (modify(ALICE, "replace", "sshPublicKey"), SUCCESS),
        (modify(ALICE, "delete", "sshPublicKey"), NO_SUCH_ATTRIBUTE),
        (modify(PROBE, "replace", "loginShell", "/bin/sh"), DENIED),
        (modify(PROBE, "replace", "uidNumber", "5000009"), DENIED),
        (modify(PROBE, "add", "userPassword", "x"), DENIED),
        (modify(PROBE, "add", "objectClass", "shadowAccount"), DENIED),
        (modify(GROUP, "add", "memberUid", "mallory"), DENIED),
        (modify(PEOPLE, "replace", "description", "x"), DENIED),
        (modify(OPERATOR, "replace", "sshPublicKey", KEY), DENIED),
        (account("eve", f"sshPublicKey: {KEY}"), DENIED),
        (f"dn: {PROBE}\nchangetype: delete\n", DENIED),
        (f"dn: {PROBE}\nchangetype: modrdn\nnewrdn: uid=al\ndeleteoldrdn: 1\n", DENIED),
        (
            f"{modify(PROBE, 'replace', 'sshPublicKey', KEY)}-\nreplace: loginShell\nloginShell: /bin/sh\n",
            DENIED,
        ),
    ],
)
def test_what_the_access_agent_may_write(lab_host: LabHost, ldif: str, result: int) -> None:
    assert by_socket(lab_host, "pharos-ssh-access", ldif) == result


def test_a_refused_modify_wrote_nothing(lab_host: LabHost) -> None:
    both = f"{modify(PROBE, 'replace', 'sshPublicKey', KEY)}-\nreplace: loginShell\nloginShell: /bin/sh\n"
    assert by_socket(lab_host, "pharos-ssh-access", both) == DENIED
    probe = lab_host.exec(
        ["ldapsearch", "-Q", "-LLL", "-Y", "EXTERNAL", "-H", "ldapi:///", "-b", PROBE]
    ).stdout
    assert "sshPublicKey" not in probe
    assert "loginShell: /usr/sbin/nologin" in probe
    assert "uidNumber: 5499999" in probe


@pytest.mark.parametrize("user", ["pharos-agent", "pharos-runtime", "alice"])
def test_the_socket_alone_gives_nobody_else_a_right(lab_host: LabHost, user: str) -> None:
    for ldif in (
        modify(PROBE, "replace", "sshPublicKey", KEY),
        modify(PROBE, "replace", "loginShell", "/bin/sh"),
    ):
        assert by_socket(lab_host, user, ldif) == DENIED


@pytest.mark.parametrize(
    ("ldif", "result"),
    [
        (account("carol"), SUCCESS),
        (modify(CAROL, "replace", "loginShell", "/bin/sh"), SUCCESS),
        (modify(CAROL, "replace", "uidNumber", "1000"), CONSTRAINT),
        (modify(CAROL, "replace", "uidNumber", "5000001"), CONSTRAINT),
        (modify(CAROL, "replace", "sshPublicKey", KEY), DENIED),
        (modify(CAROL, "replace", "userPassword", "x"), DENIED),
        (account("dave", f"sshPublicKey: {KEY}", number=5000004), DENIED),
        (account("dave", "userPassword: x", number=5000004), DENIED),
        (modify(OPERATOR, "replace", "loginShell", "/bin/sh"), DENIED),
        (f"dn: {PEOPLE}\nchangetype: delete\n", DENIED),
        (f"dn: {CAROL}\nchangetype: delete\n", SUCCESS),
    ],
)
def test_what_the_account_agent_may_write(lab_host: LabHost, ldif: str, result: int) -> None:
    assert by_password(lab_host, ldif) == result


def test_a_wrong_password_is_refused(lab_host: LabHost) -> None:
    assert (
        by_password(lab_host, modify(ALICE, "replace", "loginShell", "/bin/sh"), "wrong")
        == INVALID_CREDENTIALS
    )


def test_directory_reset_brings_the_content_back(lab_host: LabHost) -> None:
    assert by_password(lab_host, account("carol")) == SUCCESS
    lab_host.exec(["directory-reset"])
    gone = lab_host.exec(
        ["ldapsearch", "-Q", "-LLL", "-Y", "EXTERNAL", "-H", "ldapi:///", "-b", CAROL], check=False
    )
    assert gone.returncode == 32

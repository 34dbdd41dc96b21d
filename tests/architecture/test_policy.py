"""The policy that administrators are handed makes exactly the right rights on a plain slapd (I7, I8, I9).

The files of docs/policy are applied as their README says; then the system user `nobody` plays the agent.
"""

from __future__ import annotations

import pwd

import pytest

from tests.architecture.policy_directory import (
    AGENT,
    NEEDS,
    PROBE,
    SUFFIX,
    Directory,
    plain,
    policy,
)

__all__ = ["plain"]

pytestmark = NEEDS
OUTSIDER = f"uid=operator,ou=staff,{SUFFIX}"


@pytest.fixture(scope="module")
def directory(plain: Directory) -> Directory:
    """The same with docs/policy applied, in its order."""
    assert plain.tool("ldapwhoami", user="nobody").stdout.strip() != f"dn:{AGENT}"
    plain.apply("ldapadd", policy("1-schema.ldif", 0))
    plain.apply("ldapmodify", policy("2-access.ldif", pwd.getpwnam("nobody").pw_uid))
    probe = policy("3-probe.ldif", 0)
    plain.apply("ldapadd", probe)
    plain.apply("ldapadd", probe.replace(PROBE, OUTSIDER).replace("uid: pharos-probe", "uid: operator"))
    return plain


def test_agent_is_known_by_its_socket_peer(directory: Directory) -> None:
    assert directory.tool("ldapwhoami", user="nobody").stdout.strip() == f"dn:{AGENT}"


def test_agent_adds_and_takes_single_keys(directory: Directory) -> None:
    assert directory.agent_modifies(PROBE, "add: sshPublicKey", "sshPublicKey: ssh-ed25519 AAAA") == 0
    assert directory.agent_modifies(PROBE, "delete: sshPublicKey", "sshPublicKey: ssh-ed25519 AAAA") == 0


@pytest.mark.parametrize(
    "lines",
    [
        ("replace: uidNumber", "uidNumber: 0"),
        ("replace: loginShell", "loginShell: /bin/bash"),
        ("add: userPassword", "userPassword: secret"),
        ("add: description", "description: x"),
        ("delete: objectClass", "objectClass: ldapPublicKey"),
    ],
)
def test_agent_writes_nothing_else(directory: Directory, lines: tuple[str, str]) -> None:
    assert directory.agent_modifies(PROBE, *lines) == 50  # insufficientAccessRights


def test_agent_writes_nowhere_else(directory: Directory) -> None:
    key = ("add: sshPublicKey", "sshPublicKey: ssh-ed25519 AAAA")
    assert directory.agent_modifies(OUTSIDER, *key) == 50
    assert directory.tool("ldapdelete", PROBE, user="nobody").returncode == 50
    added = policy("3-probe.ldif", 0).replace("pharos-probe", "made-by-agent")
    assert directory.tool("ldapadd", text=added, user="nobody").returncode == 50


def test_other_users_of_the_host_write_nothing(directory: Directory) -> None:
    text = f"dn: {PROBE}\nchangetype: modify\nadd: sshPublicKey\nsshPublicKey: ssh-ed25519 AAAA\n"
    assert directory.tool("ldapmodify", text=text, user="daemon").returncode == 50
    assert directory.tool("ldapsearch", "-b", PROBE, "-s", "base", user="daemon").returncode == 0

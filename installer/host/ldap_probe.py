"""Who the directory says a component is, and what it lets it write: asked by a child with the component's
identity.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from installer.domain.profile import LdapAccess
from installer.host.commands import CommandError, RunAs, Runner

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeStep:
    """One attempted operation: its outcome wanted and found, in LDAP's words."""

    name: str
    wanted: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """What the child saw; ``identity`` as who-am-I gave it, for instance ``dn:cn=…`` (RFC 4532)."""

    identity: str
    steps: tuple[ProbeStep, ...]


def ask_directory(
    run: Runner, access: LdapAccess, *, socket: str, run_as: RunAs, writes: bool, timeout: float
) -> ProbeAnswer | str:
    """The child's answer, or why there is none."""
    request = {"socket": socket, "probe_entry": access.probe_entry, "writes": writes}
    return ask_child(run, "installer.host.ldap_child", request, ProbeAnswer, run_as=run_as, timeout=timeout)


def ask_child(
    run: Runner, program: str, request: Mapping[str, object], kind: type[T], *, run_as: RunAs, timeout: float
) -> T | str:
    """What the module ``program``, run with that identity, answers to ``request``, or why there is no answer.

    The request goes to its stdin, which nobody else can read: it may hold a password (X5).
    """
    argv = [sys.executable, "-I", "-B", "-W", "ignore", "-m", program]
    try:
        done = run(argv, timeout=timeout, stdin=json.dumps(request).encode("utf-8"), run_as=run_as)
    except CommandError as error:
        return str(error)
    if done.code != 0:
        return (done.stderr.strip().splitlines() or [f"the probe exits {done.code}"])[-1][:300]
    try:
        return msgspec.json.decode(done.stdout.encode("utf-8"), type=kind)
    except msgspec.DecodeError as error:
        return f"the probe's answer cannot be read: {error}"


def same_identity(found: str, wanted: str) -> bool:
    """Whether who-am-I's ``dn:…`` names the wanted entry, case and blanks around parts aside (RFC 4514)."""
    kind, _, name = found.partition(":")
    return kind == "dn" and _plain(name) == _plain(wanted)


def _plain(name: str) -> list[tuple[str, str]]:
    parts = [part.partition("=") for part in name.split(",")]
    return [(key.strip().casefold(), value.strip().casefold()) for key, _, value in parts]

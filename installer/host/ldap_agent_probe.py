"""What the directory says to ``pharos-agent``: who it is, how much of its bases it lists, what it may not
write; asked by a child with that identity (I7, I8, I9).
"""

from dataclasses import dataclass
from typing import Literal

from installer.domain.profile_reporter import LdapAgent
from installer.host.commands import RunAs, Runner
from installer.host.ldap_probe import ProbeStep, ask_child


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBase:
    """One base: accounts or groups ``listed`` by one search, and ``held`` in all (None: not countable)."""

    name: str
    outcome: Literal["complete", "cut", "absent"]
    listed: int
    held: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """What the child saw; ``identity`` as who-am-I gave it (RFC 4532). ``steps``: writes tried on the probe
    entry; ``absence``: whether what is hidden can be told from what is not there.

    ``credentials_refused``: the bind is answered with invalidCredentials (RFC 4511, 49); the rest is empty.
    """

    identity: str
    bases: tuple[ListedBase, ...]
    steps: tuple[ProbeStep, ...]
    absence: tuple[ProbeStep, ...]
    credentials_refused: bool = False


def ask_agent_directory(
    run: Runner, agent: LdapAgent, *, password: bytes, probe_entry: str, run_as: RunAs, timeout: float
) -> AgentAnswer | str:
    """The child's answer, or why there is none. The password goes to its stdin alone (X5)."""
    bases = ((agent.people_base, "posixAccount"), (agent.groups_base, "posixGroup"))
    request = {
        "url": agent.url,
        "bind_dn": agent.bind_dn,
        "password": password.decode("ascii"),
        "bases": bases,
        "probe_entry": probe_entry,
    }
    program = "installer.host.ldap_agent_child"
    return ask_child(run, program, request, AgentAnswer, run_as=run_as, timeout=timeout)

"""The identity of what asks for a change (ledger X7), and the ids that follow from it.

Ids are derived, not drawn: the same command gives the same key and the same changes however often it is run,
on whichever process.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from central.kernel.site_names import Site
from central.ssh_access.domain.member_key import Act, MemberId

_NAMESPACE: Final = UUID("6a0b3a86-37f4-4c56-9f62-5d0f5b3c1f0e")


@dataclass(frozen=True, slots=True)
class Command:
    """`digest` is SHA-256 over everything the command asks for: the same id with another one is refused."""

    id: UUID
    digest: bytes


def member_command(member: MemberId, idempotency_key: UUID) -> UUID:
    """A member's own name space of ids: nobody meets another member's receipt."""
    return uuid5(_NAMESPACE, f"member {idempotency_key} {member}")


def report_command(site: Site, report_id: UUID) -> UUID:
    """A Site's own name space of ids."""
    return uuid5(_NAMESPACE, f"report {report_id} {site}")


def report_aggregate(site: Site) -> UUID:
    """What a Site's reports are receipts of."""
    return uuid5(_NAMESPACE, f"site {site}")


def key_id_of(command_id: UUID) -> UUID:
    """The key a command adds."""
    return uuid5(_NAMESPACE, f"key {command_id}")


def change_id_of(key_id: UUID, act: Act) -> UUID:
    """The change that asks for `act` of a key: a key is added once and removed at most once."""
    return uuid5(_NAMESPACE, f"change {key_id} {act.value}")

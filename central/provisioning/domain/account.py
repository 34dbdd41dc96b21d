"""A native account as a Site's complete report tells of it (P21, P22, P23)."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

ACCOUNTS_MAX: Final = 10_000
"""Accounts in one complete set."""

_POSIX_NAME: Final = re.compile(r"[a-z_][a-z0-9._-]{0,31}", re.ASCII)


class AccountState(StrEnum):
    """Whether the Site has finished making the account."""

    READY = "ready"
    INCOMPLETE = "incomplete"


class Naming(StrEnum):
    """Who chooses the name of an account."""

    KUBERNETES = "kubernetes"
    """The Party: `member-<Party>`."""
    POSIX = "posix"
    """The Site: a POSIX login name, which the Party does not determine."""


@dataclass(frozen=True, slots=True)
class Account:
    """One account of one member at one allocation.

    `native_uid` is the Site's immutable name of this very incarnation: made again, it is another one (P23).
    `uid_number` is the numeric UID where the Site told it, and is never inferred (P30).
    """

    party_id: UUID
    name: str
    native_uid: str
    uid_number: int | None
    binding_id: UUID
    generation: int
    state: AccountState


def name_fault(naming: Naming, party_id: UUID, name: str) -> str | None:
    """What was wanted where a name is not the Site's kind of name (P22, E21, E23); None where it is."""
    if naming is Naming.KUBERNETES:
        wanted = f"member-{party_id}"
        return None if name == wanted else f"wanted {wanted} at a Kubernetes Site"
    return posix_name_fault(name)


def posix_name_fault(name: str) -> str | None:
    """What was wanted where a name is no POSIX login name; None where it is one."""
    if _POSIX_NAME.fullmatch(name) is None:
        return "wanted a POSIX login name, [a-z_][a-z0-9._-]{0,31} in ASCII"
    return None

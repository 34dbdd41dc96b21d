"""What the use cases of member keys need from outside. What cannot be read raises `Unavailable` (X1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from central.kernel.site_names import Site
from central.ssh_access.domain.account import AccountAnswer
from central.ssh_access.domain.command import Command
from central.ssh_access.domain.feed import ChangePage
from central.ssh_access.domain.member_key import MemberId, MemberKey, Receipt, Result


class MemberAccounts(Protocol):
    """Knows a member's account at a Site (P30 later; a development stand-in today)."""

    def account_for(self, subject: MemberId, site: Site, now: datetime) -> AccountAnswer:
        """The account a key of `subject` would go to. Called outside any transaction (F08)."""
        ...


@dataclass(frozen=True, slots=True)
class Saved:
    """A key as it stands after a command. `repeated`: the command had been recorded before."""

    key: MemberKey
    repeated: bool


@dataclass(frozen=True, slots=True)
class SiteResult:
    """One result of a report, with what names its change."""

    sequence: int
    key_id: UUID
    result: Result


class KeyUnknown(Exception):
    """This member has no such key."""


class MemberKeys(Protocol):
    """Members' keys and the feeds of Sites, kept together in one database."""

    def recorded(self, command: Command) -> MemberKey | None:
        """The key of a recorded command, as it is now. Raises if its id was used for something else."""
        ...

    def of_member(self, member: MemberId) -> Sequence[MemberKey]:
        """Every key of a member, removed ones included, by `added_at`, then `key_id`."""
        ...

    def add(
        self,
        command: Command,
        member: MemberId,
        site: Site,
        decide: Callable[[Sequence[MemberKey]], MemberKey],
        now: datetime,
    ) -> Saved:
        """Saves the key that `decide` makes beside the member's keys there, with its change and receipt."""
        ...

    def remove(
        self,
        command: Command,
        member: MemberId,
        key_id: UUID,
        decide: Callable[[MemberKey], MemberKey],
        now: datetime,
    ) -> Saved:
        """Saves what `decide` makes of the key, with its change and receipt. Raises `KeyUnknown`."""
        ...

    def changes(self, site: Site, after: int, limit: int) -> ChangePage:
        """Reads a page of the Site's feed. Raises `PositionUnknown` for an `after` above its head."""
        ...

    def record(
        self,
        command: Command,
        site: Site,
        results: Sequence[SiteResult],
        decide: Callable[[MemberKey, Result], tuple[Receipt, MemberKey]],
        now: datetime,
    ) -> Sequence[Receipt]:
        """Saves what `decide` makes of each result in one transaction; one receipt a result, in order.

        A result whose change, sequence and key do not name one change of this Site is `unknown`.
        """
        ...

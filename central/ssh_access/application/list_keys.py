"""A member lists their own keys (ledger E6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from central.ssh_access.application.ports import MemberKeys
from central.ssh_access.domain.member_key import MemberId, MemberKey


@dataclass(frozen=True, slots=True)
class ListKeys:
    """The use case."""

    keys: MemberKeys

    def __call__(self, member: MemberId) -> Sequence[MemberKey]:
        """Every key, removed ones included."""
        return self.keys.of_member(member)

"""A member removes a key, also after they left: the saved target names the account (ledger E6)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from central.ssh_access.application.ports import MemberKeys, Saved
from central.ssh_access.domain.command import Command, change_id_of
from central.ssh_access.domain.member_key import Act, MemberId, MemberKey, remove


@dataclass(frozen=True, slots=True)
class RemoveKey:
    """The use case. No account is looked up."""

    keys: MemberKeys

    def __call__(self, command: Command, member: MemberId, key_id: UUID, now: datetime) -> Saved:
        """The key, `removing` or `removed`. Raises `KeyUnknown`."""

        def decide(key: MemberKey) -> MemberKey:
            return remove(key, change_id_of(key_id, Act.ABSENT), now)

        return self.keys.remove(command, member, key_id, decide, now)

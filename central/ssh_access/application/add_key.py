"""A member adds a key (ledger E6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from central.kernel.site_names import Site
from central.ssh_access.application.ports import MemberAccounts, MemberKeys, Saved
from central.ssh_access.domain.account import Absence, AccountUnavailable, NoAccount
from central.ssh_access.domain.command import Command, change_id_of, key_id_of
from central.ssh_access.domain.member_key import Act, MemberId, MemberKey, NewKey, add
from central.ssh_access.domain.public_key import parse_public_key


@dataclass(frozen=True, slots=True)
class AddRequest:
    """What a member asks for. `line` is what was pasted; its comment goes no further than this value."""

    command: Command
    member: MemberId
    site: Site
    name: str
    line: str


class NoAccountHere(Exception):
    """The member provably has no account at the Site."""

    def __init__(self, reason: Absence) -> None:
        super().__init__(reason.value)
        self.reason = reason


class AccountEvidenceUnavailable(Exception):
    """Whether the member has an account cannot be known now. `awaits_site`: see `AccountUnavailable`."""

    def __init__(self, reason: str, *, awaits_site: bool) -> None:
        super().__init__(reason)
        self.awaits_site = awaits_site


@dataclass(frozen=True, slots=True)
class AddKey:
    """The use case: grammar, receipt of an earlier try, account (outside the transaction), decision."""

    accounts: MemberAccounts
    keys: MemberKeys

    def __call__(self, request: AddRequest, now: datetime) -> Saved:
        """The saved key. Raises `KeyRefused`, `NoAccountHere`, `AccountEvidenceUnavailable`, `KeyExists`,
        `KeyLimitReached`."""
        public_key = parse_public_key(request.line)
        earlier = self.keys.recorded(request.command)
        if earlier is not None:
            return Saved(earlier, repeated=True)
        target = self.accounts.account_for(request.member, request.site, now)
        if isinstance(target, NoAccount):
            raise NoAccountHere(target.reason)
        if isinstance(target, AccountUnavailable):
            raise AccountEvidenceUnavailable(target.reason, awaits_site=target.awaits_site)
        key_id = key_id_of(request.command.id)
        wish = NewKey(
            key_id=key_id,
            change_id=change_id_of(key_id, Act.PRESENT),
            member=request.member,
            site=request.site,
            name=request.name,
            public_key=public_key,
            target=target,
        )

        def decide(existing: Sequence[MemberKey]) -> MemberKey:
            return add(existing, wish, now)

        return self.keys.add(request.command, request.member, request.site, decide, now)

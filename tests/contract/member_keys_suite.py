"""What every `MemberKeys` must do, whatever keeps it (E3, E6, X7): subclasses give the `keys` fixture."""

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from central.kernel.errors import ObservedInFuture
from central.kernel.problems import Problem
from central.kernel.site_names import Site
from central.ssh_access.application.add_key import AddKey, AddRequest, NoAccountHere
from central.ssh_access.application.ports import KeyUnknown, MemberKeys, SiteResult
from central.ssh_access.application.record_results import RecordResults
from central.ssh_access.application.remove_key import RemoveKey
from central.ssh_access.domain.account import Absence, AccountAnswer, AccountUnavailable, NoAccount
from central.ssh_access.domain.command import Command
from central.ssh_access.domain.feed import Change
from central.ssh_access.domain.member_key import (
    Act,
    KeyExists,
    MemberId,
    MemberKey,
    Outcome,
    Receipt,
    Result,
    State,
    Target,
)

NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)
ALICE, BOB, SLURM = MemberId("alice"), MemberId("bob"), Site("slurm")
K1 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBERERERERERERERERERERERERERERERERERERERERER"
K2 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi"


class Accounts:
    """Alice and Bob have accounts at `slurm`; Dave may not have one; of Erin nothing certain is known,
    and Frank waits for the Site.
    """

    def account_for(self, subject: MemberId, site: Site, now: datetime) -> AccountAnswer:
        if site != SLURM:
            return NoAccount(Absence.SITE_UNKNOWN)
        if subject == "dave":
            return NoAccount(Absence.NOT_ELIGIBLE)
        if subject == "erin":
            return AccountUnavailable("two reports contradict each other")
        if subject == "frank":
            return AccountUnavailable("its account was not reported lately", awaits_site=True)
        number = {"alice": 1, "bob": 2}.get(subject)
        if number is None:
            return NoAccount(Absence.ACCOUNT_ABSENT)
        return Target(subject, 5_000_000 + number, UUID(int=number))


def ed25519(number: int) -> str:
    """A distinct key line a number."""
    blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 " + number.to_bytes(32, "big")
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


def command(digest: bytes = b"d" * 32) -> Command:
    return Command(uuid4(), digest)


class MemberKeysSuite:
    """The suite."""

    @pytest.fixture
    def keys(self) -> MemberKeys:
        """The store under test."""
        raise NotImplementedError

    def add(
        self, keys: MemberKeys, line: str = K1, member: MemberId = ALICE, given: Command | None = None
    ) -> MemberKey:
        request = AddRequest(given or command(), member, SLURM, "laptop", line)
        return AddKey(Accounts(), keys)(request, NOW).key

    def remove(self, keys: MemberKeys, key: MemberKey, given: Command | None = None) -> MemberKey:
        return RemoveKey(keys)(given or command(), key.member, key.key_id, NOW).key

    def report(
        self,
        keys: MemberKeys,
        *entries: tuple[Change, Outcome],
        seconds: int = 1,
        given: Command | None = None,
        site: Site = SLURM,
    ) -> list[Receipt]:
        at = NOW + timedelta(seconds=seconds)
        results = [
            SiteResult(
                change.sequence,
                change.key_id,
                Result(change.change_id, outcome, "why" if outcome is Outcome.REFUSED else None, at),
            )
            for change, outcome in entries
        ]
        return list(RecordResults(keys)(given or command(), site, at, results, NOW + timedelta(hours=1)))

    def listed(self, keys: MemberKeys, after: int = 0) -> tuple[Change, ...]:
        return keys.changes(SLURM, after, 500).entries

    def test_an_added_key_is_listed_for_its_site(self, keys: MemberKeys) -> None:
        key = self.add(keys)
        (change,) = self.listed(keys)
        assert (change.sequence, change.act, change.key_id) == (1, Act.PRESENT, key.key_id)
        assert (change.target.username, change.public_key.line) == ("alice", K1)
        assert list(keys.of_member(ALICE)) == [key]
        assert keys.changes(Site("k8s"), 0, 500).entries == ()

    def test_x7_the_same_command_again_is_the_same_key(self, keys: MemberKeys) -> None:
        given = command()
        first = self.add(keys, given=given)
        request = AddRequest(given, ALICE, SLURM, "laptop", K1)
        again = AddKey(Accounts(), keys)(request, NOW + timedelta(days=1))
        assert (again.repeated, again.key) == (True, first)
        assert len(self.listed(keys)) == 1

    def test_x7_the_same_id_with_other_content_is_refused(self, keys: MemberKeys) -> None:
        given = command()
        self.add(keys, given=given)
        with pytest.raises(Problem) as refused:
            self.add(keys, K2, given=Command(given.id, b"e" * 32))
        assert refused.value.code == "command_reused"

    def test_a_refused_command_leaves_no_trace(self, keys: MemberKeys) -> None:
        self.add(keys)
        given = command()
        with pytest.raises(KeyExists):
            self.add(keys, K1, given=given)
        assert keys.recorded(given) is None
        assert len(self.listed(keys)) == 1

    def test_members_may_have_the_same_key_each_for_their_own_account(self, keys: MemberKeys) -> None:
        self.add(keys)
        self.add(keys, K1, BOB)
        assert [change.target.username for change in self.listed(keys)] == ["alice", "bob"]

    def test_a_member_without_account_gets_a_reason(self, keys: MemberKeys) -> None:
        with pytest.raises(NoAccountHere) as refused:
            self.add(keys, K1, MemberId("carol"))
        assert refused.value.reason is Absence.ACCOUNT_ABSENT

    def test_removal_takes_the_place_of_the_addition(self, keys: MemberKeys) -> None:
        key = self.add(keys)
        self.add(keys, K2)
        self.remove(keys, key)
        assert [(c.sequence, c.act) for c in self.listed(keys)] == [(2, Act.PRESENT), (3, Act.ABSENT)]
        assert [c.sequence for c in self.listed(keys, after=2)] == [3]

    def test_removing_again_is_another_receipt_and_no_change(self, keys: MemberKeys) -> None:
        key = self.add(keys)
        first = self.remove(keys, key)
        assert self.remove(keys, key) == first
        assert [c.sequence for c in self.listed(keys)] == [2]

    def test_nobody_removes_another_members_key(self, keys: MemberKeys) -> None:
        key = self.add(keys)
        with pytest.raises(KeyUnknown):
            RemoveKey(keys)(command(), BOB, key.key_id, NOW)
        with pytest.raises(KeyUnknown):
            RemoveKey(keys)(command(), ALICE, uuid4(), NOW)

    def test_results_have_one_receipt_each_in_order(self, keys: MemberKeys) -> None:
        self.add(keys)
        self.add(keys, K2)
        first, second = self.listed(keys)
        unknown = Change(9, uuid4(), Act.PRESENT, uuid4(), first.public_key, first.target)
        receipts = self.report(
            keys, (second, Outcome.APPLIED), (unknown, Outcome.APPLIED), (first, Outcome.REFUSED)
        )
        assert receipts == [Receipt.RECORDED, Receipt.UNKNOWN, Receipt.RECORDED]
        assert [key.state for key in keys.of_member(ALICE)].count(State.ACTIVE) == 1

    def test_a_report_again_gets_the_same_receipts(self, keys: MemberKeys) -> None:
        key = self.add(keys)
        (change,) = self.listed(keys)
        given = command()
        first = self.report(keys, (change, Outcome.APPLIED), given=given)
        self.remove(keys, key)
        assert self.report(keys, (change, Outcome.APPLIED), given=given) == first == [Receipt.RECORDED]
        assert self.report(keys, (change, Outcome.APPLIED)) == [Receipt.STALE]

    def test_a_change_of_another_site_or_with_another_sequence_is_unknown(self, keys: MemberKeys) -> None:
        self.add(keys)
        (change,) = self.listed(keys)
        assert self.report(keys, (change, Outcome.APPLIED), site=Site("k8s")) == [Receipt.UNKNOWN]
        moved = Change(8, change.change_id, change.act, change.key_id, change.public_key, change.target)
        assert self.report(keys, (moved, Outcome.APPLIED)) == [Receipt.UNKNOWN]
        assert keys.of_member(ALICE)[0].state is State.PENDING

    def test_e13_a_report_from_the_future_is_refused_whole(self, keys: MemberKeys) -> None:
        self.add(keys)
        (change,) = self.listed(keys)
        with pytest.raises(ObservedInFuture):
            RecordResults(keys)(command(), SLURM, NOW + timedelta(seconds=6), [], NOW)
        assert self.report(keys, (change, Outcome.APPLIED)) == [Receipt.RECORDED]

    def test_a_key_added_again_after_removal_hides_its_old_tombstone(self, keys: MemberKeys) -> None:
        """A Site that starts from nothing must never take the new key away for the old one's sake (B16)."""
        key = self.add(keys)
        self.remove(keys, key)
        with pytest.raises(KeyExists):
            self.add(keys)
        (tombstone,) = self.listed(keys)
        assert self.report(keys, (tombstone, Outcome.REMOVED_FROM_DIRECTORY)) == [Receipt.RECORDED]
        assert [c.act for c in self.listed(keys)] == [Act.ABSENT]
        again = self.add(keys)
        assert [(c.sequence, c.act, c.key_id) for c in self.listed(keys)] == [(3, Act.PRESENT, again.key_id)]

    def test_pages_cover_everything_once(self, keys: MemberKeys) -> None:
        added = [self.add(keys), self.add(keys, K2), self.add(keys, K1, BOB), self.add(keys, K2, BOB)]
        self.remove(keys, added[0])
        after, seen = 0, []
        while True:
            found = keys.changes(SLURM, after, 2)
            seen += [change.sequence for change in found.entries]
            after = found.next
            if not found.more:
                break
        assert (seen, after) == ([2, 3, 4, 5], 5)
        assert keys.changes(SLURM, after, 2).entries == ()

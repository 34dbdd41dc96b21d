"""Pages of a feed, and ids that follow from a command (E3, X7)."""

from uuid import UUID

import pytest

from central.kernel.site_feed import PositionUnknown
from central.kernel.site_names import Site
from central.ssh_access.domain.command import change_id_of, key_id_of, member_command, report_command
from central.ssh_access.domain.feed import Change, page
from central.ssh_access.domain.key_name import NameRefused, check_name
from central.ssh_access.domain.member_key import Act, MemberId, Target
from central.ssh_access.domain.public_key import PublicKey

FEED = UUID(int=1)


def change(sequence: int) -> Change:
    return Change(
        sequence=sequence,
        change_id=UUID(int=sequence),
        act=Act.PRESENT,
        key_id=UUID(int=100 + sequence),
        public_key=PublicKey("ssh-ed25519", b"x", 256),
        target=Target("u1", 5_000_001, UUID(int=7)),
    )


def test_a_page_that_is_cut_says_more_and_covers_its_last_change() -> None:
    found = page(FEED, head=9, after=0, limit=2, found=(change(3), change(5), change(9)))
    assert ([c.sequence for c in found.entries], found.next, found.more) == ([3, 5], 5, True)


def test_the_last_page_covers_the_head_though_its_changes_are_superseded() -> None:
    found = page(FEED, head=9, after=0, limit=2, found=(change(3),))
    assert (found.next, found.more) == (9, False)


def test_next_is_the_head_for_who_has_read_it_all() -> None:
    assert page(FEED, head=7, after=7, limit=2, found=()).next == 7


def test_e3_a_position_above_the_head_is_of_another_history() -> None:
    """Covered up to 7, the changes 5 to 7 of a restored history would never be read."""
    with pytest.raises(PositionUnknown) as unknown:
        page(FEED, head=4, after=7, limit=2, found=())
    assert (unknown.value.feed, unknown.value.head) == (FEED, 4)


def test_ids_are_the_commands_own() -> None:
    key, other = UUID(int=5), UUID(int=6)
    alice, bob = (member_command(MemberId(name), key) for name in ("alice", "bob"))
    ids = {alice, bob, member_command(MemberId("alice"), other), report_command(Site("slurm"), key)}
    assert len(ids) == 4
    assert key_id_of(alice) == key_id_of(member_command(MemberId("alice"), key))
    assert change_id_of(key, Act.PRESENT) != change_id_of(key, Act.ABSENT)


@pytest.mark.parametrize("name", ["laptop", "Büro-Rechner 2", "x" * 64, "鍵"])
def test_names_people_use(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "x" * 65, " a", "a ", "a\nb", "a\tb", "a\u202egpj", "zoe\u0308", "a\u2028b", "a\ufeff", "a\ue000"],
)
def test_c18_e23_names_that_deceive(name: str) -> None:
    with pytest.raises(NameRefused):
        check_name(name)

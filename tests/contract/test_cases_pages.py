"""One member's keys, added and removed for long, do not make a page of changes nobody reads (X10, E3)."""

from __future__ import annotations

import base64
from uuid import UUID, uuid5

from central.kernel.site_feed import FeedPage, cut
from central.kernel.strict_json import encode
from central.ssh_access.domain.feed import Change
from central.ssh_access.domain.member_key import Act, Target
from central.ssh_access.domain.public_key import parse_public_key
from central.ssh_access.entrypoints.wire import changes_body
from site_bundle.kernel.https import HttpsLimits
from site_bundle.kernel.strict_json import decode_object
from site_bundle.ssh_access.adapters.wire import ChangesBody
from tests.contract.ssh_key_vectors import rsa

SPACE = UUID(int=1)
LIMIT = 500


def page(changes: list[Change], after: int) -> FeedPage[Change]:
    """As the database finds them."""
    found = tuple(change for change in changes if change.sequence > after)[: LIMIT + 1]
    return cut((UUID(int=7), len(changes)), after, LIMIT, found, lambda change: change.sequence)


def test_x10_e3_the_longest_keys_fit_into_pages_a_site_reads() -> None:
    """Tombstones stay listed, so nothing but the size of a page bounds what one member can put into it."""
    key = parse_public_key("ssh-rsa " + base64.b64encode(rsa(16384)).decode())
    target = Target("alice", 5000001, UUID(int=2))
    changes = [
        Change(number, uuid5(SPACE, f"c{number}"), Act.ABSENT, uuid5(SPACE, f"k{number}"), key, target)
        for number in range(1, 701)
    ]
    limit, after, seen = HttpsLimits().answer_bytes, 0, []
    while True:
        raw = encode(changes_body("slurm", page(changes, after)))
        assert len(raw) <= limit, (
            "the agent gives up on a longer answer, and nobody's key is removed any more"
        )
        read = decode_object(raw, ChangesBody, max_bytes=limit).page()
        seen += [change.sequence for change in read.changes]
        assert read.reach == seen[-1]
        if not read.more:
            break
        after = read.reach
    assert seen == list(range(1, 701))

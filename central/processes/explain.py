"""Why a member's key is in its state: each link of evidence with its age (O1)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from central.grants.adapters.postgres_grants import PostgresGrants
from central.grants.domain.grant import Grant, Scope
from central.kernel.database import Database
from central.kernel.times import utc_now
from central.processes.links import Link, link
from central.processes.operator import opened
from central.settings import Settings
from central.ssh_access.adapters.key_evidence import KeyEvidence, key_evidence
from central.ssh_access.domain.member_key import Act, MemberKey


def explain_key(settings: Settings, key_id: UUID) -> Sequence[Link]:
    """See `key_links`."""
    with opened(settings) as database:
        return key_links(database, key_id, utc_now())


def key_links(database: Database, key_id: UUID, now: datetime) -> Sequence[Link]:
    """The links from what the member asked for to what the Site did. Raises `KeyUnknown`."""
    evidence = key_evidence(database, key_id)
    grants = PostgresGrants(database).everything()
    key = evidence.key
    return [
        link("state", _state(key), key.changed_at, now),
        link(
            "wish",
            f"{key.act.value} {key.public_key.fingerprint} for {key.target.username}",
            key.added_at,
            now,
        ),
        link("change", _change(evidence), evidence.recorded_at, now),
        _asking(key, grants, now),
        link("report", _report(key), key.answered_at, now),
    ]


def _state(key: MemberKey) -> str:
    reason = f", because {key.reason}" if key.reason else ""
    return f"{key.state.value}{reason} (revision {key.revision})"


def _change(evidence: KeyEvidence) -> str:
    head = f"sequence {evidence.sequence} of the feed, whose head is {evidence.head}"
    return head if evidence.listed else f"{head}; no longer listed, a later change of the same key stands"


def _asking(key: MemberKey, grants: Sequence[Grant], now: datetime) -> Link:
    """Whether the Site can have asked at all, by the use of its grants."""
    valid = [
        grant
        for grant in grants
        if grant.site == key.site and Scope.SSH_ACCESS in grant.scopes and grant.valid(now)
    ]
    if not valid:
        return Link("site", f"{key.site} has no valid ssh-access grant: it cannot ask", None, None)
    used = max((grant.last_used_at for grant in valid if grant.last_used_at), default=None)
    text = f"{key.site} last asked (to the minute)" if used else f"{key.site} has a grant and never used it"
    return link("site", text, used, now)


def _report(key: MemberKey) -> str:
    if key.answered_at is None:
        return (
            f"{key.site} has said nothing of this {'addition' if key.act is Act.PRESENT else 'removal'} yet"
        )
    return f"{key.site} observed it by its own clock"

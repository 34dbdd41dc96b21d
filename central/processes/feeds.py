"""Identities of Sites' feeds, as the role `pharos_operator` (E3)."""

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import uuid4

from central.grants.domain.grant import Scope
from central.kernel.database import Database
from central.kernel.postgres_feeds import PostgresFeeds
from central.kernel.site_feed import FeedHead, FeedUnknown
from central.kernel.site_names import Site
from central.processes.operator import opened
from central.settings import Settings

PACKAGES: Final = {Scope.SSH_ACCESS: "central.ssh_access", Scope.COMMANDS: "central.execution"}
"""Who keeps the feed a grant's scope lets a Site read."""

Feed = tuple[str, FeedHead]


def list_feeds(settings: Settings) -> Sequence[Feed]:
    """Every Site's histories, by Site, then scope."""
    with opened(settings) as database:
        found = [(scope.value, feed) for scope, feeds in _kept(database) for feed in feeds.everything()]
    return sorted(found, key=lambda each: (each[1].site, each[0]))


def renew_feeds(settings: Settings, site: str, scope: str | None) -> Sequence[Feed]:
    """Draws new identities after a restore, of one scope or of each the Site has. Raises `FeedUnknown`."""
    renewed: list[Feed] = []
    with opened(settings) as database:
        for each, feeds in _kept(database):
            if scope not in (None, each.value):
                continue
            try:
                renewed.append((each.value, feeds.renew(Site(site), uuid4())))
            except FeedUnknown:
                continue
    if not renewed:
        raise FeedUnknown(site if scope is None else f"{site} ({scope})")
    return renewed


def feed_document(scope: str, feed: FeedHead) -> dict[str, object]:
    """A feed for people and programs."""
    return {"site": feed.site, "scope": scope, "feed": str(feed.feed), "head": feed.head}


def _kept(database: Database) -> Iterator[tuple[Scope, PostgresFeeds]]:
    for scope, package in PACKAGES.items():
        yield scope, PostgresFeeds(database, package)

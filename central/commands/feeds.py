"""`pharos-central feeds`: the histories Sites' components follow (E3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from central.commands.told import print_list, settings_of, told

_FEED = f"{'SITE':<12} {'SCOPE':<11} {'FEED':<36}  LAST SEQUENCE"
_SCOPE = click.Choice(["ssh-access", "commands"])


@click.group()
def feeds() -> None:
    """The histories each Site's components follow, and their identities.

    `ssh-access` is the history of members' keys, `commands` that of Runs' commands: as the scopes of grants.
    """


@feeds.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def feeds_list(as_json: bool) -> None:
    """List each Site's feeds with their last sequences."""
    with told():
        from central.processes.feeds import feed_document, list_feeds

        found = [feed_document(scope, feed) for scope, feed in list_feeds(settings_of("operator"))]
        print_list("feeds", found, _feed, _FEED, as_json=as_json)


@feeds.command("renew")
@click.option("--site", required=True, help="The Site's environment name, such as slurm.")
@click.option("--scope", type=_SCOPE, help="One of the Site's feeds; default: each it has.")
def feeds_renew(site: str, scope: str | None) -> None:
    """Draw a new identity for a Site's feeds: a step of every restore, before the Site API starts.

    The Site's agent then removes no key, and its Runtime begins nothing, until its administrator accepts the
    feed there (`pharos-ssh-access accept-feed`, `pharos-runtime accept-feed`).
    """
    with told():
        from central.processes.feeds import renew_feeds

        for renewed, feed in renew_feeds(settings_of("operator"), site, scope):
            click.echo(f"{feed.site} has {renewed} feed {feed.feed} at {feed.head}")


def _feed(feed: Mapping[str, Any]) -> str:
    return f"{feed['site']:<12} {feed['scope']:<11} {feed['feed']}  {feed['head']}"

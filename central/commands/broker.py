"""`pharos-central broker`: queues and identities, what waits, what was buried (P29, X12)."""

from __future__ import annotations

import json

import click

from central.commands.told import settings_of, told

_DRY = click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
_POSITION = click.IntRange(min=1)


@click.group()
def broker() -> None:
    """The broker's administration: queues, identities, buried messages.

    PHAROS_DATABASE_URL (or its direct twin) names the migrator's role in the broker's database.
    """


@broker.command("administer")
@_DRY
@_JSON
def administer(dry_run: bool, as_json: bool) -> None:
    """Declare every queue central needs and enrol its identities; again, it changes nothing."""
    with told():
        from central.processes.broker import administer as apply

        done = apply(settings_of("migrate"), dry_run=dry_run)
        if as_json:
            click.echo(json.dumps({"schema": 1, "dryRun": dry_run, **done.document()}))
            return
        would = "would " if dry_run else ""
        for line in done.lines():
            click.echo(f"{would}{line}")
        if not done.lines():
            click.echo("nothing to do", err=True)


@broker.command("queues")
@_JSON
def queues(as_json: bool) -> None:
    """List every queue: its topics, what waits, what was buried."""
    with told():
        from central.processes.broker import list_queues

        found = list_queues(settings_of("migrate"))
        if as_json:
            click.echo(json.dumps({"schema": 1, "queues": found}))
            return
        for queue in found:
            click.echo(f"{queue['queue']:<52} waiting {queue['waiting']:<6} buried {queue['buried']}")


@broker.group("dead-letters")
def dead_letters() -> None:
    """Messages no attempt could apply, kept with the reason until somebody decides."""


@dead_letters.command("list")
@click.option("--queue", help="Of this queue only.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True)
@_JSON
def dead_list(queue: str | None, limit: int, as_json: bool) -> None:
    """List buried messages, oldest first; never their bodies, which may speak of persons."""
    with told():
        from central.processes.broker import list_buried

        found = list_buried(settings_of("migrate"), queue, limit)
        if as_json:
            click.echo(json.dumps({"schema": 1, "deadLetters": found}))
            return
        for one in found:
            click.echo(f"{one['queue']} {one['position']}  {one['topic']}  {one['diedAt']}  {one['reason']}")


def _chosen(
    replay: bool, queue: str, positions: tuple[int, ...], *, every: bool, dry: bool, as_json: bool
) -> None:
    if every == bool(positions):
        raise click.UsageError("name positions as `dead-letters list` shows them, or --all; one of the two")
    with told():
        from central.processes.broker import take_out

        count = take_out(
            settings_of("migrate"), queue, None if every else positions, replay=replay, dry_run=dry
        )
        verb = "replay" if replay else "discard"
        if as_json:
            click.echo(json.dumps({"schema": 1, "dryRun": dry, "act": verb, "queue": queue, "count": count}))
        else:
            click.echo(f"{'would ' if dry else ''}{verb} {count} of {queue}")


@dead_letters.command("replay")
@click.option("--queue", required=True, help="Whose messages.")
@click.option("--all", "every", is_flag=True, help="Every buried message of the queue.")
@click.argument("positions", nargs=-1, type=_POSITION)
@_DRY
@_JSON
def dead_replay(*, queue: str, every: bool, positions: tuple[int, ...], dry_run: bool, as_json: bool) -> None:
    """Put messages back into their queue, with every attempt before them.

    Do it once what buried them is mended. Consumers keep receipts, so one applied twice changes nothing.
    """
    _chosen(True, queue, positions, every=every, dry=dry_run, as_json=as_json)


@dead_letters.command("discard")
@click.option("--queue", required=True, help="Whose messages.")
@click.option("--all", "every", is_flag=True, help="Every buried message of the queue.")
@click.argument("positions", nargs=-1, type=_POSITION)
@_DRY
@_JSON
def dead_discard(
    *, queue: str, every: bool, positions: tuple[int, ...], dry_run: bool, as_json: bool
) -> None:
    """Forget messages for good. What they said is found again by the next comparison with its owner."""
    _chosen(False, queue, positions, every=every, dry=dry_run, as_json=as_json)

"""`pharos-central view`: the view kept from Beto (P14)."""

from __future__ import annotations

import json

import click

from central.commands.told import settings_of, told

_SCOPE = click.Choice(["projects", "parties", "authorities"])


@click.group()
def view() -> None:
    """The Projects, Parties and authorities as they are viewed from Beto.

    RESOURCE_PROVISIONING_DATABASE_URL names the owner's role.
    """


@view.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def view_list(as_json: bool) -> None:
    """List the scopes: the state of each, when it last matched Beto, why it does not answer."""
    with told():
        from central.processes.view import list_scopes

        found = list_scopes(settings_of("view_operator"))
        if as_json:
            click.echo(json.dumps({"schema": 1, "scopes": found}))
            return
        for scope in found:
            why = f"  does not answer: {scope['unusable']}" if scope["unusable"] else ""
            back = scope["refusedPosition"]
            waits = f"  Beto went back to {back}: accept-restored waits" if back is not None else ""
            checked = scope["checkedAt"] or "never"
            click.echo(f"{scope['scope']:<12} {scope['phase']:<14} checked {checked}{why}{waits}")


@view.command("accept-restored")
@click.argument("scope", type=_SCOPE)
@click.option("--dry-run", is_flag=True, help="Show the scope; change nothing.")
def accept_restored(scope: str, dry_run: bool) -> None:
    """Accept that Beto was restored from a copy: the scope is then repaired from what Beto says now.

    A Beto that speaks of an earlier moment than the one that last matched is refused until then: it could be
    a replica that lags. Do it only once Beto's operators say that their state was restored. Refused unless
    Beto went back since the scope last matched (`view list` says so).

    The scope then does not answer until the provisioning worker has repaired it from Beto, at its next pass.
    """
    with told():
        from central.processes.view import accept_restored as accept

        found = accept(settings_of("view_operator"), scope, dry_run=dry_run)
        if dry_run:
            click.echo(
                f"would accept: {scope} {found['phase']} at {found['position']}, Beto at"
                f" {found['refusedPosition']}; it would not answer until it is repaired"
            )
            return
        click.echo(
            f"{scope} {found['phase']}: accepted. It does not answer until the provisioning worker has"
            " repaired it from Beto, at its next pass; `pharos-central view list` shows when"
        )

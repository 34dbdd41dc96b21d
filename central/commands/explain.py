"""`pharos-central explain`: why something is in its state (O1)."""

from __future__ import annotations

from uuid import UUID

import click

from central.commands.told import operator_settings, told

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


@click.group()
def explain() -> None:
    """Why something is in its state: each link of evidence with its age."""


@explain.command("key")
@click.argument("key_id", type=click.UUID)
@_JSON
def explain_key(key_id: UUID, as_json: bool) -> None:
    """Explain a member's key: wish, change, Site, result."""
    with told():
        from central.processes.explain import explain_key as explanation
        from central.processes.links import render

        click.echo(render(explanation(operator_settings(), key_id), as_json=as_json))


@explain.command("allocation")
@click.argument("allocation_id", type=click.UUID)
@_JSON
def explain_allocation(allocation_id: UUID, as_json: bool) -> None:
    """Explain an allocation: report, last sighting, Project, view, authority, accounts."""
    with told():
        from central.processes.explain_provisioning import explain_allocation as explanation
        from central.processes.links import render

        click.echo(render(explanation(operator_settings(), allocation_id), as_json=as_json))


@explain.command("retained")
@click.argument("member", metavar="PARTY-OR-USERNAME")
@click.option("--site", required=True, help="The Site's environment name, such as slurm.")
@_JSON
def explain_retained(member: str, site: str, as_json: bool) -> None:
    """Explain why a Site keeps a member's accounts, or does not: the standing of recovery, the view, and each
    item of accepted work with what fences it.
    """
    with told():
        from central.processes.links import render
        from central.processes.show_retained import explain_retained as explanation

        click.echo(render(explanation(operator_settings(site), site, member), as_json=as_json))


@explain.command("run")
@click.argument("run_id", type=click.UUID)
@_JSON
def explain_run(run_id: UUID, as_json: bool) -> None:
    """Explain a Run: wish, account, allocation, consent, maintenance, stages, output, cleanup."""
    with told():
        from central.processes.explain_execution import explain_run as explanation
        from central.processes.links import render

        click.echo(render(explanation(operator_settings(), run_id), as_json=as_json))


@explain.command("account")
@click.argument("member", metavar="PARTY-OR-USERNAME")
@click.option("--site", required=True, help="The Site's environment name, such as slurm.")
@_JSON
def explain_account(member: str, site: str, as_json: bool) -> None:
    """Explain a member's account at a Site: view, binding, and for each allocation its age, membership,
    authority, set of accounts, and the generation applied beside the current one.
    """
    with told():
        from central.processes.explain_provisioning import explain_account as explanation
        from central.processes.links import render

        click.echo(render(explanation(operator_settings(site), site, member), as_json=as_json))

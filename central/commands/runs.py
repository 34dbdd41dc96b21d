"""`pharos-central runs`: what an operator does about a Run (P28, S11)."""

from __future__ import annotations

from uuid import UUID

import click

from central.commands.told import settings_of, told


@click.group()
def runs() -> None:
    """What an operator does about Runs; `show runs` and `explain run` show them."""


@runs.command("settle")
@click.argument("run_id", type=click.UUID)
@click.option("--by", required=True, help="Who looked at the Site: a name others can ask. Kept.")
@click.option("--reason", required=True, help="Why nothing of it is left there. Kept, and shown to members.")
def runs_settle(run_id: UUID, by: str, reason: str) -> None:
    """Settle a Run whose cleanup its Site refused, or about which the Site will never answer.

    The member's account is then released: the Site may remove it. Do it only after looking at the Site:
    nothing of the Run may run there. A member with `run.cleanup` can have a refused cleanup asked for again
    first (POST …/runs/{runId}/cleanup). A Run that is `cancelling` ends by this as it was asked to end, with
    the reason `settled_by_operator`, after no word of the Site for PHAROS_EXECUTION_SILENCE_SECONDS.
    A Run whose end nobody asked for is not settled: have it cancelled first.
    """
    with told():
        from central.processes.settling import settle_run

        run = settle_run(settings_of("operator"), run_id, by=by, reason=reason)
        click.echo(f"{run.run_id} {run.state.value}: settled by {by}, its account is released")

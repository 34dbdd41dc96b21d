"""``python -m tests.bench [--only KEY…]``: measure, print the table, write ``build/bench.json``.

Exit 0 when every measured key reaches what it must, 3 when one does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tests.bench import intake, provisioning, reporter, site, upstream
from tests.bench.measure import Result, holds, table, write
from tests.bench.targets import TARGETS

REPORT = Path(__file__).parents[2] / "build" / "bench.json"
ON_HOST = {measure.__name__: measure for measure in site.MEASURES}
BY_ITSELF = {measure.__name__: measure for measure in reporter.MEASURES}
ON_UPSTREAM = upstream.MEASURES
ON_INTAKE = {measure.__name__: measure for measure in provisioning.MEASURES}


@click.command()
@click.option(
    "--only", "keys", multiple=True, type=click.Choice(sorted(TARGETS)), help="This key; again for more."
)
def main(keys: tuple[str, ...]) -> None:
    """Measure ratios against limits of the same run."""
    wanted = keys or tuple(TARGETS)
    results: dict[str, Result] = {}
    if any(key in ON_HOST for key in wanted):
        click.echo("a lab host with two releases ...", err=True)
        with site.installed() as installed:
            for key in (key for key in ON_HOST if key in wanted):
                click.echo(f"{key} ...", err=True)
                results[key] = ON_HOST[key](installed)
    if any(key in ON_INTAKE for key in wanted):
        click.echo("a served intake ...", err=True)
        with intake.running() as served:
            for key in (key for key in ON_INTAKE if key in wanted):
                click.echo(f"{key} ...", err=True)
                results[key] = ON_INTAKE[key](served)
    for key in (key for key in BY_ITSELF if key in wanted):
        click.echo(f"{key} ...", err=True)
        results[key] = BY_ITSELF[key]()
    if any(key in ON_UPSTREAM for key in wanted):
        click.echo("two lab hosts in turn, with 1,000 accounts and the upstream agent ...", err=True)
        results |= upstream.measured([key for key in ON_UPSTREAM if key in wanted])
    write(REPORT, results, TARGETS)
    click.echo(table(results, TARGETS))
    sys.exit(0 if all(holds(TARGETS[key], result.ratio) for key, result in results.items()) else 3)


if __name__ == "__main__":
    main()

"""`pharos-central dev consent` and `dev repository`: what a member and a Git host's owner do before a Run."""

from __future__ import annotations

from pathlib import Path

import click

from central.dev.told import told

_FOLDER = click.Path(path_type=Path, file_okay=False)
_STATE = click.option(
    "--state", type=_FOLDER, required=True, help="The state folder of the running stack (`--runs`)."
)


@click.command()
@_STATE
@click.option("--member", "username", required=True, help="A username Beto knows.")
def consent(state: Path, username: str) -> None:
    """Have a member consent to Runs, as its browser would; print what stands."""
    with told():
        from central.dev.run_helpers import give_consent

        click.echo(give_consent(state, username))


@click.group()
def repository() -> None:
    """Repositories of the Git host's stand-in."""


@repository.command("new")
@_STATE
@click.option("--name", required=True, metavar="GROUP/NAME.git", help="Its path at the Git host.")
@click.option("--from", "source", type=_FOLDER, help="A folder whose files are its first commit.")
def repository_new(state: Path, name: str, source: Path | None) -> None:
    """Make a repository with one commit on main; print its URL and the commit."""
    with told():
        from central.dev.run_helpers import new_repository

        url, commit = new_repository(state, name, source)
        click.echo(f"{url} {commit}")


@repository.command("refs")
@_STATE
@click.option("--name", required=True, metavar="GROUP/NAME.git", help="Its path at the Git host.")
def repository_refs(state: Path, name: str) -> None:
    """Print each ref with its commit."""
    with told():
        from central.dev.run_helpers import refs_of

        for ref, commit in refs_of(state, name).items():
            click.echo(f"{commit} {ref}")

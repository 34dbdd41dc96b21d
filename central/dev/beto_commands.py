"""`pharos-central dev project` and `dev member`: what becomes so in Beto's stand-in."""

from __future__ import annotations

from pathlib import Path

import click

from central.dev.told import told

_STATE = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The state folder of the running stack.",
)
_PROJECT = click.option("--project", help="The Project's id or ref; may be left out where there is only one.")
_SITE = click.option(
    "--site", default="slurm", show_default=True, help="Where the member is known by a name."
)
_USERNAME = click.option("--username", required=True, help="The member's login name at the Site.")


@click.group()
def project() -> None:
    """Projects in Beto's stand-in."""


@project.command("new")
@_STATE
@click.option("--ref", required=True, help="Waldur's Project (its UUID), as reports name it.")
def project_new(state: Path, ref: str) -> None:
    """Found a Project held at Waldur under --ref, with authority; print its id."""
    with told():
        from central.dev.steer import steer

        click.echo(steer(state, "found", ref=ref)["project"])


@project.command("list")
@_STATE
def project_list(state: Path) -> None:
    """Print everything that is so in Beto's stand-in, as one JSON document."""
    with told():
        import json

        from central.dev.steer import steer

        click.echo(json.dumps(steer(state, "truth"), indent=1))


@project.command("close")
@_STATE
@_PROJECT
def project_close(state: Path, project: str | None) -> None:
    """Close a Project for good: its members are retired at Sites."""
    with told():
        from central.dev.steer import steer, the_project

        steer(state, "close_project", project=the_project(state, project))


@click.group()
def member() -> None:
    """Members in Beto's stand-in."""


@member.command("add")
@_STATE
@_PROJECT
@_SITE
@_USERNAME
def member_add(state: Path, project: str | None, site: str, username: str) -> None:
    """Let somebody join a Project, known at the Site by this name; print their Party.

    Their tokens: `dev token --member USERNAME`.
    """
    with told():
        from central.dev.steer import join

        click.echo(join(state, project, site, username, again=False))


@member.command("remove")
@_STATE
@_PROJECT
@_SITE
@_USERNAME
def member_remove(state: Path, project: str | None, site: str, username: str) -> None:
    """Let a member leave: personal access ends at once, a new generation begins with a return."""
    with told():
        from central.dev.steer import steer, the_project

        steer(state, "leave", project=the_project(state, project), site=site, username=username)


@member.command("readd")
@_STATE
@_PROJECT
@_SITE
@_USERNAME
def member_readd(state: Path, project: str | None, site: str, username: str) -> None:
    """Let a member join once more, present or gone: the next generation (P17)."""
    with told():
        from central.dev.steer import join

        click.echo(join(state, project, site, username, again=True))

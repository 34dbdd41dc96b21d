"""The command line of `pharos-central dev`. It imports click alone; the rest comes when a command runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from central.dev.beto_commands import member, project
from central.dev.run_commands import consent, repository
from central.dev.told import told

_STATE = click.Path(path_type=Path, file_okay=False)
_NEW_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group(invoke_without_command=True)
@click.option("--state", type=_STATE, help="Folder of everything it makes; kept between starts.")
@click.option(
    "--site-listen", metavar="ADDRESS:PORT", help="Where the Site API listens; needs --tls-name then."
)
@click.option(
    "--intake-listen", metavar="ADDRESS:PORT", help="Where the Site intake listens; needs --tls-name then."
)
@click.option(
    "--tls-name", help="The DNS name of both for Sites: served over TLS by a CA made in the state folder."
)
@click.option("--site", "sites", multiple=True, help="A Site's environment name [slurm]; may be repeated.")
@click.option(
    "--pollers", type=click.IntRange(1, 64), default=4, show_default=True, help="Long polls a Site."
)
@click.option(
    "--accounts",
    type=click.Choice(["file", "reported"]),
    default="file",
    show_default=True,
    help="Whose account a key goes to: DIR/accounts.json, or what Beto and the Sites' reports say (P30).",
)
@click.option("--runs", is_flag=True, help="Accept Runs too, beside a Git host; needs --accounts reported.")
@click.option("--git-listen", metavar="ADDRESS:PORT", help="Where the Git host listens; TLS in any case.")
@click.option("--supervise", is_flag=True, help="Start a process of central's again that ends on its own.")
@click.pass_context
def dev(
    context: click.Context,
    *,
    state: Path | None,
    site_listen: str | None,
    intake_listen: str | None,
    tls_name: str | None,
    sites: tuple[str, ...],
    pollers: int,
    accounts: str,
    runs: bool,
    git_listen: str | None,
    supervise: bool,
) -> None:
    """Run central with its stand-ins until stopped: PostgreSQL, an OIDC issuer, Beto, and every process.

    Needs a source checkout with the extra `dev`, and no root. DIR/dev.json says where everything is;
    DIR/accounts.json, which you edit, says whose account a member's key goes to.
    """
    if context.invoked_subcommand is not None:
        return
    with told():
        from central.dev.plan import DevPlan
        from central.dev.stack import run

        plan = DevPlan.of(
            state=_required(state),
            site_listen=site_listen,
            intake_listen=intake_listen,
            tls_name=tls_name,
            sites=sites or ("slurm",),
            pollers=pollers,
            reported=accounts == "reported",
            runs=runs,
            git_listen=git_listen,
            supervised=supervise,
        )
        sys.exit(run(plan))


@dev.command("token")
@click.option("--state", type=_STATE, required=True, help="The state folder of the running stack.")
@click.option("--member", required=True, help="Whose token: its subject, or a username Beto knows.")
@click.option("--lifetime", type=click.IntRange(1, 86_400), default=3600, show_default=True, help="Seconds.")
@click.option("--output", type=_NEW_FILE, help="A file for the token (0600); without it, stdout.")
def dev_token(state: Path, member: str, lifetime: int, output: Path | None) -> None:
    """Have the development issuer mint a member's access token."""
    with told():
        from central.dev.helpers import mint_token, write_private

        token = mint_token(state, member, lifetime)
        if output is None:
            click.echo(token)
        else:
            write_private(output, f"{token}\n")


@dev.command("grant")
@click.option("--state", type=_STATE, required=True, help="The state folder of the running stack.")
@click.option("--site", default="slurm", show_default=True, help="The Site's environment name.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["ssh-access", "commands"]),
    help="What it opens [ssh-access].",
)
@click.option("--expires", help="An RFC 3339 time, or a span such as 90d.")
@click.option("--output", type=_NEW_FILE, help="A new file for the token (0600); without it, stdout.")
def dev_grant(
    state: Path, site: str, scopes: tuple[str, ...], expires: str | None, output: Path | None
) -> None:
    """Issue a Site grant in the running stack."""
    with told():
        from central.dev.helpers import operator_settings
        from central.processes.operator import issue_grant

        _, token = issue_grant(
            operator_settings(state),
            site=site,
            scopes=scopes or ("ssh-access",),
            expires=expires,
            output=output,
        )
        if output is None:
            click.echo(token)


@dev.command("env")
@click.option("--state", type=_STATE, required=True, help="The state folder of the running stack.")
@click.option(
    "--role",
    type=click.Choice(["operator", "migrator", "owner"]),
    default="operator",
    show_default=True,
    help="`migrator` for `broker`, `owner` for `view`.",
)
def dev_env(state: Path, role: str) -> None:
    """Print the operator's settings as shell assignments: `eval "$(pharos-central dev env --state DIR)"`."""
    with told():
        import shlex

        from central.dev.helpers import operator_environment

        for name, value in operator_environment(state, role).items():
            click.echo(f"export {name}={shlex.quote(value)}")


def _required(state: Path | None) -> Path:
    if state is None:
        raise click.UsageError("name the folder to keep everything in: --state DIR")
    return state


dev.add_command(consent)
dev.add_command(repository)
dev.add_command(project)
dev.add_command(member)

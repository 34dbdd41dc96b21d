"""`pharos-central`: serve, work, migrate, check, broker, view, show, explain, grants, evidence,
dev.

Exit codes: 0 done; 1 a fault of ours; 2 usage or settings; 3 refused by a rule; 4 unavailable, try again.
What a command prints to stdout is its result; everything else goes to stderr. Imports stand inside the
commands, so that `--version` and `--help` answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from central.commands.broker import broker
from central.commands.explain import explain
from central.commands.feeds import feeds
from central.commands.runs import runs
from central.commands.show import show
from central.commands.told import REFUSED, print_list, settings_of, told
from central.commands.view import view
from central.dev.commands import dev

if TYPE_CHECKING:
    from central.settings import Process

_GRANT = f"{'GRANT':<36}  {'SITE':<12} {'SCOPES':<22} {'STATE':<8} LAST USED"
_FOLDER = click.Path(path_type=Path, file_okay=False)
_NEW_FILE = click.Path(path_type=Path, dir_okay=False)


def main() -> None:
    """The console script."""
    cli(prog_name="pharos-central")


def _version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"pharos-central {version('pharos-hpc')}")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show it."
)
def cli() -> None:
    """Pharos HPC, central: members' keys, Site grants, and the APIs Sites and members speak.

    Settings are environment variables (docs/settings.md). Try it all on this machine with
    `pharos-central dev --state ./state`.
    """


@cli.command()
@click.argument(
    "process", type=click.Choice(["site-api", "member-api", "project-api", "provisioning-intake", "overview"])
)
def serve(process: str) -> None:
    """Run one HTTP process until it is stopped.

    `overview` is the operators' page of what is known and how fresh: on loopback alone, without a login.
    """
    with told():
        if process == "overview":
            from central.processes import overview

            sys.exit(overview.run(settings_of("overview")))
        if process == "site-api":
            from central.processes import site_api

            sys.exit(site_api.run(settings_of("site_api")))
        if process == "provisioning-intake":
            from central.processes import provisioning_intake

            sys.exit(provisioning_intake.run(settings_of("provisioning_intake")))
        if process == "project-api":
            from central.processes import project_api

            sys.exit(project_api.run(settings_of("project_api")))
        from central.processes import member_api

        sys.exit(member_api.run(settings_of("member_api")))


@cli.command()
@click.argument("what", type=click.Choice(["provisioning", "execution"]))
def work(what: str) -> None:
    """Run one worker until it is stopped: `provisioning` keeps Beto's view, `execution` minds Runs.

    It serves /healthz, /readyz and /metrics at PHAROS_PROVISIONING_WORKER_LISTEN or
    PHAROS_EXECUTION_WORKER_LISTEN. Run as many as you like: queues are shared, and each periodic pass is one
    worker's at a time.
    """
    with told():
        if what == "execution":
            from central.processes import work_execution

            sys.exit(work_execution.run(settings_of("execution_worker")))
        from central.processes import work_provisioning

        sys.exit(work_provisioning.run(settings_of("provisioning_worker")))


@cli.command()
@click.option(
    "--phase",
    type=click.Choice(["pre", "post", "both"]),
    default="both",
    show_default=True,
    help="`pre` before new code runs, `post` once no old code runs.",
)
def migrate(phase: str) -> None:
    """Bring the database's schema up to date; PHAROS_DATABASE_URL names the migrator's role."""
    with told():
        from central.kernel.migrations import migrate as apply
        from central.processes.schema import CONTEXTS

        settings = settings_of("migrate")
        phases = {"pre": ("pre",), "post": ("post",), "both": ("pre", "post")}
        applied = apply(settings.database_direct_url, CONTEXTS, phases=phases[phase])  # type: ignore[arg-type]
        for title in applied:
            click.echo(title)
        if not applied:
            click.echo("nothing to do: the schema is what this code knows", err=True)


@cli.command()
@click.argument(
    "process",
    type=click.Choice(
        [
            "site-api",
            "member-api",
            "project-api",
            "provisioning-intake",
            "provisioning-worker",
            "execution-worker",
            "overview",
            "operator",
        ]
    ),
)
def check(process: str) -> None:
    """Say whether a process could start now: settings, database, schema, broker, issuer.

    Give it that process's own environment: its settings and its role. `provisioning-worker` and
    `execution-worker` are what `work provisioning` and `work execution` run.
    """
    with told():
        from central.processes.checks import run_checks

        names: dict[str, Process] = {
            "site-api": "site_api",
            "member-api": "member_api",
            "project-api": "project_api",
            "provisioning-intake": "provisioning_intake",
            "provisioning-worker": "provisioning_worker",
            "execution-worker": "execution_worker",
            "overview": "overview",
            "operator": "operator",
        }
        settings = settings_of(names[process])
        failed = False
        for finding in run_checks(settings):
            failed = failed or not finding.passed
            click.echo(f"{'pass' if finding.passed else 'FAIL'}  {finding.name}: {finding.text}")
        if failed:
            sys.exit(REFUSED)


@cli.group()
def grants() -> None:
    """What lets a Site's agent speak to the Site API."""


@grants.command("issue")
@click.option("--site", required=True, help="The Site's environment name, such as slurm.")
@click.option(
    "--scope",
    "scopes",
    required=True,
    multiple=True,
    type=click.Choice(["ssh-access", "commands"]),
    help="What it opens; may be given twice.",
)
@click.option("--expires", help="An RFC 3339 time, or a span such as 90d. Without it: until revoked.")
@click.option("--output", type=_NEW_FILE, help="A new file for the token, made with mode 0600.")
@click.option("--show", is_flag=True, help="Print the token to stdout instead; it may stay in your terminal.")
def grants_issue(
    site: str, scopes: tuple[str, ...], expires: str | None, output: Path | None, show: bool
) -> None:
    """Issue a grant. Its token is shown once: central keeps a digest of it only."""
    if (output is None) == (not show):
        raise click.UsageError("name --output FILE for the token, or --show to print it; one of the two")
    with told():
        from central.processes.operator import issue_grant

        settings = settings_of("operator")
        grant, token = issue_grant(settings, site=site, scopes=scopes, expires=expires, output=output)
        click.echo(f"grant {grant.grant_id} for {grant.site}: {', '.join(grant.scopes)}", err=True)
        click.echo(token if show else str(output))


@grants.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def grants_list(as_json: bool) -> None:
    """List every grant with its state and last use; no secret."""
    with told():
        from central.kernel.times import utc_now
        from central.processes.operator import grant_document, list_grants

        now = utc_now()
        found = [grant_document(grant, now) for grant in list_grants(settings_of("operator"))]
        print_list("grants", found, _grant, _GRANT, as_json=as_json)


def _grant(grant: Mapping[str, Any]) -> str:
    scopes, used = ",".join(grant["scopes"]), grant["lastUsedAt"] or "never"
    return f"{grant['grantId']}  {grant['site']:<12} {scopes:<22} {grant['state']:<8} {used}"


@grants.command("revoke")
@click.argument("grant_id", type=click.UUID)
def grants_revoke(grant_id: object) -> None:
    """Revoke a grant: its token is refused from the next request on."""
    with told():
        from uuid import UUID

        from central.processes.operator import revoke_grant

        grant = revoke_grant(settings_of("operator"), UUID(str(grant_id)))
        click.echo(f"revoked {grant.grant_id} of {grant.site}")


@cli.group()
def evidence() -> None:
    """Signed evidence that a contract was accepted, for a Site's installer (I12)."""


@evidence.command("issue")
@click.option("--contract", required=True, help="Such as central-bootstrap.")
@click.option("--revision", required=True, help="The accepted revision, from the release's manifest.")
@click.option("--component", required=True, help="Such as ssh-access.")
@click.option("--site", required=True, help="The Site's environment name, one of PHAROS_SITES.")
@click.option("--issued-by", required=True, help="Who accepted it.")
@click.option("--until", required=True, help="An RFC 3339 time, or a span such as 90d.")
@click.option("--key", "key", required=True, type=_NEW_FILE, help="Path of the SSH private key that signs.")
@click.option("--output", required=True, type=_NEW_FILE, help="A new .yaml file; FILE.sig is made beside it.")
@click.option(
    "--token-key",
    "token_keys",
    multiple=True,
    metavar="KID",
    help="With member-credential-delegation: id of a key that signs for this Site's Slurm alone; repeatable.",
)
@click.option(
    "--user-claim", default="", help="With member-credential-delegation: the claim that names the member."
)
@click.option("--laboratory", is_flag=True, help="Mark it as a laboratory's: production profiles refuse it.")
def evidence_issue(
    *,
    contract: str,
    revision: str,
    component: str,
    site: str,
    issued_by: str,
    until: str,
    key: Path,
    output: Path,
    laboratory: bool,
    token_keys: tuple[str, ...],
    user_claim: str,
) -> None:
    """Issue and sign one piece of evidence.

    It reads one setting, PHAROS_SITES: evidence is for a Site of the platform, and for a contract that its
    component needs (docs/administrator.md, "Evidence").
    """
    with told():
        import os

        from central.processes.evidence import issue
        from central.settings import load_sites

        signature = issue(
            contract=contract,
            revision=revision,
            component=component,
            site=site,
            issued_by=issued_by,
            until=until,
            key=key,
            output=output,
            laboratory=laboratory,
            sites=load_sites(os.environ),
            token_keys=token_keys,
            user_claim=user_claim,
        )
        if laboratory:
            click.echo("LABORATORY evidence: it proves nothing for production", err=True)
        click.echo(f"{output}\n{signature}")


for group in (dev, broker, feeds, runs, view, show, explain):
    cli.add_command(group)

if __name__ == "__main__":
    main()

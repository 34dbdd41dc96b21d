"""``pharos-installer``: the phases on one command line. Parses, builds, maps every outcome to an exit code;
decides nothing.
"""

import os
import sys
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from installer.composition import Ports, RunOptions, own_release
from installer.domain.contracts import NEEDS
from installer.domain.refusal import DONE, USAGE, Refusal
from installer.domain.releases import choose_release
from installer.host.context import Host
from installer.host.offer import offer_of, opened
from installer.host.paths import SITE_CONFIG
from installer.host.site_inputs import Site
from installer.phases.activate import ActivateRequest, activate, plan_activate
from installer.phases.install import install, plan_install
from installer.phases.outcome import Outcome
from installer.phases.preflight import plan_preflight, preflight
from installer.phases.recover import plan_recover, recover
from installer.phases.rollback import RollbackRequest, plan_rollback, rollback
from installer.phases.status import status
from installer.phases.validate import plan_validate, validate
from installer.running import run_phase

HELP = """Puts a verified release of the site bundle on this host, in four phases, and can take it back.

\b
  preflight  look at host, inputs, services      leaves its verified controller and a lock
  install    lay down and seal the release       starts nothing, switches nothing
  validate   try the directory's rights, the grant, the unit
             writes on the administrators' probe entry and in the runtime's own folder
             alone, and undoes both
  activate   switch chosen components, with signed evidence
             stops, links, starts, watches; restores everything on failure
  rollback   back to the last good release       keeps all application data
  recover    undo what a crash interrupted
  status     wanted, linked, running, healthy

\b
Reads   /etc/pharos-hpc/site.yaml and what it names (profile, credentials, signers)
Writes  /opt/pharos-hpc, /etc/pharos-hpc/<component>.env, /etc/systemd/system/pharos-*.service,
        /usr/lib/{sysusers,tmpfiles}.d/pharos-hpc.conf, /var/lib/pharos-installer

\b
Exit codes
  0  done, or nothing to do          7  activation failed, prior state restored
  1  a fault of the installer        8  activation failed, restore incomplete
  2  usage or configuration          9  unfinished journal: run recover
  3  refused before any change      10  unsupported host
  4  verification failed           130, 143  signalled, prior state restored
  5  another installer is running
  6  install failed, host unchanged

Progress goes to stderr, the result to stdout; --json writes one event a line, the last one the result."""


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every phase."""
    options = (
        click.option("--config", default=SITE_CONFIG, show_default=True, help="Site configuration file."),
        click.option("--plan", is_flag=True, help="Print what would be done; the phase writes nothing."),
        click.option("--json", "as_json", is_flag=True, help="One JSON event a line on stdout."),
        click.option(
            "--quiet",
            is_flag=True,
            help="No progress; warnings, checks that warned or failed, refusals and the result only.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


components_option = click.option(
    "--components", required=True, metavar="NAME[,NAME…]", help=f"Which components: {', '.join(NEEDS)}."
)
release_option = click.option(
    "--release", metavar="ID", help="An installed release; default: the one this installer came with."
)
accept_option = click.option(
    "--accept-edited-unit",
    "accepted",
    multiple=True,
    metavar="UNIT",
    help="Replace this unit's file and settings although another hand changed them.",
)


def switch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a switch accepts, and how long a started component is watched."""
    retry = click.option(
        "--retry-bad", is_flag=True, help="Try a release again that is known to be bad here."
    )
    inputs = click.option(
        "--accept-changed-inputs",
        "accept_inputs",
        is_flag=True,
        help="Take interpreter, endpoints and identities that differ from those recorded.",
    )
    window = click.option("--health-window", type=click.FloatRange(1, 600), help="Seconds without a restart.")
    deadline = click.option("--health-deadline", type=click.FloatRange(2, 3600), help="Seconds to get there.")
    return accept_option(inputs(retry(window(deadline(command)))))


@click.group(help=HELP, context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]})
def cli() -> None:
    """The group; its help is the text above."""


@cli.command("preflight")
@common
@click.pass_obj
def preflight_command(ports: Ports, /, **options: Any) -> int:
    """Check the host, the inputs, the credentials and what they open.

    Leaves the installer's own environment (the controller, in /opt/pharos-hpc) and the lock file, also with
    --plan: install.sh makes both before any phase runs. Nothing else is changed.

    Every check has a name, what was found, what was wanted and a remedy. All of them run before the phase
    refuses.
    Exit 3 when a check failed, 10 when this host can never run the release.
    """

    chosen = _options(options)

    def work(host: Host, site: Site) -> Outcome:
        if chosen.plan:
            return plan_preflight(host, site)
        with opened(host.paths, site, offer_of(ports.environment)) as archive:
            return preflight(host, site, archive)

    return run_phase(ports, "preflight", chosen, work)


@cli.command("install")
@common
@click.pass_obj
def install_command(ports: Ports, /, **options: Any) -> int:
    """Lay down, build and seal the release; make identities and folders.

    Starts nothing and switches nothing. Run again it says "no change"; a release that was damaged is built
    anew.
    Exit 6 when it failed: the unfinished folder is gone, nothing else was touched.
    """
    chosen = _options(options)

    def work(host: Host, site: Site) -> Outcome:
        with opened(host.paths, site, offer_of(ports.environment)) as archive:
            return plan_install(host, site, archive) if chosen.plan else install(host, site, archive)

    return run_phase(ports, "install", chosen, work)


@cli.command("validate")
@common
@release_option
@click.option("--components", metavar="NAME[,NAME…]", help="Default: the profile's.")
@click.option("--evidence", metavar="DIR", help="Judge signed evidence too, and Slurm's signing keys by it.")
@click.pass_obj
def validate_command(
    ports: Ports, /, release: str | None, components: str | None, evidence: str | None, **options: Any
) -> int:
    """Check that the installed release would work here.

    Compares the release with its seal, asks directory and Slurm as the component's user, tries allowed and
    forbidden writes on the administrators' probe entry and a folder in the runtime's own (each undone), asks
    Site API, intake and Waldur with the credentials, lets systemd judge the unit. Starts nothing, submits
    no job.
    """

    chosen = _options(options)

    def work(host: Host, site: Site) -> Outcome:
        names = _components(components) if components else site.profile.components
        if chosen.plan:
            return plan_validate(host, site)
        folder = host.paths.at(str(Path(evidence).absolute())) if evidence else None
        return validate(host, site, _release(host, ports, release), names, folder)

    return run_phase(ports, "validate", chosen, work)


@cli.command("activate")
@common
@components_option
@click.option("--evidence", required=True, metavar="DIR", help="Folder of signed evidence.")
@release_option
@switch_options
@click.pass_obj
def activate_command(ports: Ports, /, components: str, evidence: str, **options: Any) -> int:
    """Switch components to an installed release, with accepted evidence.

    Saves prior links, unit text, settings, enabled and running state and the success record; stops, links,
    starts, and
    watches the component by what it does. Success is recorded only then. On any failure or signal
    everything saved comes
    back before the phase answers: exit 7, or 8 with the commands that are left.
    """
    release = options.pop("release")
    accepted = _accepted(options)
    ports = _with_health(ports, options)
    chosen = _options(options)

    def work(host: Host, site: Site) -> Outcome:
        names = _components(components)
        request = ActivateRequest(
            release=_release(host, ports, release),
            components=names,
            named=release is not None,
            evidence=host.paths.at(str(Path(evidence).absolute())),
            operation=str(uuid.uuid4()),
            **accepted,
        )
        return plan_activate(host, site, request) if chosen.plan else activate(host, site, request)

    return run_phase(ports, "activate", chosen, work)


@cli.command("rollback")
@common
@click.option("--components", metavar="NAME[,NAME…]", help="Default: the profile's.")
@click.option("--to", metavar="ID", help="A retained release; default: the last good one before the current.")
@switch_options
@click.pass_obj
def rollback_command(ports: Ports, /, components: str | None, to: str | None, **options: Any) -> int:
    """Go back to a retained release that was good.

    Compares it with its seal and asks whether it reads the component's journal on disk before anything
    stops. Application
    data is never deleted and never migrated back. Watches and restores like `activate`.
    """
    accepted = _accepted(options)
    ports = _with_health(ports, options)
    chosen = _options(options)

    def work(host: Host, site: Site) -> Outcome:
        request = RollbackRequest(
            components=_components(components) if components else site.profile.components,
            operation=str(uuid.uuid4()),
            to=to,
            **accepted,
        )
        return plan_rollback(host, site, request) if chosen.plan else rollback(host, site, request)

    return run_phase(ports, "rollback", chosen, work)


@cli.command("recover")
@common
@click.option("--quarantine-journal", is_flag=True, help="Move an unreadable journal aside.")
@click.option("--adopt-links", is_flag=True, help="Let records follow links to sealed releases.")
@click.pass_obj
def recover_command(ports: Ports, /, quarantine_journal: bool, adopt_links: bool, **options: Any) -> int:
    """Undo what a crash interrupted: always back to the state from before that operation.

    May itself be interrupted and run again. Also rebuilds a broken state.json from links and seals, the old
    one kept.
    """
    chosen = _options(options)

    def work(host: Host, _site: Site | None) -> Outcome:
        if chosen.plan:
            return plan_recover(host)
        return recover(host, quarantine_journal=quarantine_journal, adopt_links=adopt_links)

    return run_phase(ports, "recover", chosen, work)


@cli.command("status")
@common
@click.option("--components", metavar="NAME[,NAME…]", help="Default: all.")
@click.pass_obj
def status_command(ports: Ports, /, components: str | None, **options: Any) -> int:
    """Tell for each component what is wanted, linked, running and healthy; and releases, bad ones, open
    operations.

    Reads only; works with a broken journal or state, and says so. What cannot be read (only root may read the
    installer's memory) is told as <unreadable>.

    Exit 0 all is as wanted, 3 a component is NOT AS WANTED, 4 something cannot be read, 9 recover is due: an
    operation is UNFINISHED, or journal or state are broken.
    """

    def work(host: Host, _site: Site | None) -> Outcome:
        return status(host, _components(components) if components else tuple(NEEDS))

    return run_phase(ports, "status", _options(options), work)


def main() -> None:
    """The console script."""
    os.umask(0o022)
    ports = Ports(environment=dict(os.environ), own_release=own_release(Path(sys.prefix)))
    code = run(sys.argv[1:], ports)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: list[str], ports: Ports) -> int:
    """Parse and run; the exit code."""
    try:
        code = cli.main(arguments, prog_name="pharos-installer", standalone_mode=False, obj=ports)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        error.show(file=ports.stderr)
        return USAGE
    return code if isinstance(code, int) else DONE


def _options(values: dict[str, Any]) -> RunOptions:
    return RunOptions(**values)


def _with_health(ports: Ports, options: dict[str, Any]) -> Ports:
    """The ports with the health limits the options ask for, which are taken out of ``options``."""
    window, deadline = options.pop("health_window"), options.pop("health_deadline")
    limits = ports.limits
    return replace(
        ports,
        limits=replace(
            limits,
            health_window_seconds=window or limits.health_window_seconds,
            health_deadline_seconds=deadline or limits.health_deadline_seconds,
        ),
    )


def _accepted(options: dict[str, Any]) -> dict[str, Any]:
    """What the administrator accepts, as the requests name it; taken out of ``options``."""
    return {
        "accepted_units": options.pop("accepted"),
        "accept_inputs": options.pop("accept_inputs"),
        "retry_bad": options.pop("retry_bad"),
    }


def _components(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in NEEDS]
    if unknown or len(set(names)) != len(names):
        raise Refusal(
            "components_invalid",
            found=f"components {text!a}",
            wanted=f"each once, of {', '.join(NEEDS)}; there is no word for all",
            remedy="Name the components.",
            exit_code=USAGE,
        )
    return names


def _release(host: Host, ports: Ports, asked: str | None) -> str:
    sealed = host.releases.sealed()
    return choose_release(sealed, asked=asked, offered=ports.own_release)

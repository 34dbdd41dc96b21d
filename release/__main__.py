"""``python -m release``: builds, signs and verifies releases. Progress on stderr, the result on stdout."""

import dataclasses
import json
import os
import sys
import tomllib
from pathlib import Path

import click

from installer.bootstrap.inputs import Trust
from installer.domain.manifest import DependencyMode, is_version
from installer.domain.refusal import VERIFICATION_FAILED, Refusal
from release.build import BuildRequest, build
from release.compare import compare
from release.components import read_plan
from release.errors import ReleaseError
from release.locking import lock
from release.signing import ALLOWED_SIGNERS, Keys, development_folder, keys_in, make_keys, make_keys_once
from release.source import EPOCH_VARIABLE, check_epoch, uncommitted
from release.verify import verify
from release.wheelhouse import default_cache

REPOSITORY = Path(__file__).resolve().parent.parent
_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def cli() -> None:
    """Build, sign, verify and compare release archives of Pharos HPC.

    A release is built from the commit HEAD in a clean tree, from locked wheels, for Python 3.13 on x86-64.
    The usual order: lock (when dependencies change; commit the result), build, verify.
    """


@cli.command("build")
@click.option("--version", required=True, help="MAJOR.MINOR.PATCH; it reaches the wheel and the manifest.")
@click.option(
    "--dist", type=_FOLDER, default=REPOSITORY / "dist", help="Where the files go.  [default: dist/]"
)
@click.option("--key", "ed25519", type=_FILE, help="Ed25519 private key (ssh-keygen's format).")
@click.option("--ecdsa-key", "ecdsa", type=_FILE, help="ECDSA P-256 private key, for hosts in FIPS mode.")
@click.option("--repository", type=_FOLDER, default=REPOSITORY, help="The checkout.  [default: this one]")
@click.option(
    "--cache", type=_FOLDER, help="Fetched wheels.  [default: pharos-hpc/wheels in the user's cache]"
)
@click.option(
    "--allow-dirty",
    is_flag=True,
    help="Take the working tree; the manifest says dirty, production refuses it.",
)
@click.option(
    "--dependency-mode",
    type=click.Choice(["wheelhouse", "index"]),
    default="wheelhouse",
    show_default=True,
    help="wheelhouse packs every wheel; index packs ours and pip's, the approved index has the others.",
)
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object.")
def build_command(
    *,
    version: str,
    dist: Path,
    ed25519: Path | None,
    ecdsa: Path | None,
    repository: Path,
    cache: Path | None,
    allow_dirty: bool,
    dependency_mode: DependencyMode,
    as_json: bool,
) -> None:
    """Build the archive, its signatures and its provenance.

    Without a key, development keys of this user are made once and used, and said so: their allowed signers
    are put beside the archive as allowed_signers.development.
    """
    if not is_version(version):
        raise click.UsageError(f"--version {version}: wanted MAJOR.MINOR.PATCH")
    check_epoch(os.environ.get(EPOCH_VARIABLE))
    changed = uncommitted(repository)
    if changed and not allow_dirty:
        _say(f"note: {changed} uncommitted paths are not in the release; it is built from HEAD")
    keys = Keys(ed25519, ecdsa)
    if not keys.items():
        keys = _development_keys(dist)
    request = BuildRequest(
        repository=repository, version=version, dist=dist, cache=cache or default_cache(), keys=keys,
        dirty=allow_dirty and changed > 0, dependency_mode=dependency_mode,
    )  # fmt: skip
    _result(dataclasses.asdict(build(request, _say)), as_json)


@cli.command("lock")
def lock_command() -> None:
    """Resolve the newest dependencies for the target and write release/locks. Commit what changed."""
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    for path in lock(REPOSITORY, read_plan(REPOSITORY), pyproject):
        click.echo(path.relative_to(REPOSITORY))


@cli.command("keygen")
@click.argument("folder", type=_FOLDER)
def keygen_command(folder: Path) -> None:
    """Make development keys (Ed25519, ECDSA P-256) in FOLDER, with their allowed signers."""
    _say("these keys have no passphrase: for development and laboratories only")
    click.echo(make_keys(folder))


@cli.command("verify")
@click.argument("archive", type=_FILE)
@click.option("--allowed-signers", type=_FILE, required=True, help="Who may sign, in ssh-keygen's format.")
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object.")
def verify_command(archive: Path, allowed_signers: Path, as_json: bool) -> None:
    """Check signatures, members, digests, closure, SBOM and provenance of ARCHIVE. Exit 4 when one does not
    hold.
    """
    trust = Trust(owners=frozenset({0, os.geteuid()}), sticky_parents=True)
    try:
        found = verify(archive.absolute(), allowed_signers.absolute(), trust)
    except ReleaseError as error:
        error.exit_code = VERIFICATION_FAILED
        raise
    _result(dataclasses.asdict(found), as_json)


@cli.command("compare")
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
def compare_command(first: Path, second: Path) -> None:
    """List how two archives differ, file by file. Exit 1 when they do."""
    lines = compare(first, second)
    for line in lines:
        click.echo(line)
    if lines:
        sys.exit(1)
    _say("same files, modes, times and content")


def _development_keys(dist: Path) -> Keys:
    folder = development_folder()
    signers = folder / ALLOWED_SIGNERS
    if not signers.exists():
        make_keys_once(folder)
    dist.mkdir(parents=True, exist_ok=True)
    (dist / "allowed_signers.development").write_bytes(signers.read_bytes())
    _say("no --key: signed with DEVELOPMENT keys; never put their allowed signers on a production host")
    return keys_in(folder)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _result(fields: dict[str, object], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(fields, default=_plain))
        return
    for name, value in fields.items():
        shown = ", ".join(str(item) for item in value) if isinstance(value, list | tuple) else value
        click.echo(f"{name.replace('_', ' '):<12} {shown}")


def _plain(value: object) -> str | list[str]:
    return str(value)


def main() -> None:
    """The entry point: refusals become a text on stderr and an exit code (1 build, 4 verification)."""
    try:
        cli()
    except (ReleaseError, Refusal) as error:
        _say(f"refused: {error}")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()

"""Builds one run of the installer: environment, reporter, host. The only place where ports meet
(composition root).
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from installer.domain.limits import Limits
from installer.domain.profile import Dependencies
from installer.domain.refusal import USAGE, Refusal
from installer.domain.times import format_time
from installer.host.checkpoints import VARIABLE, checkpoints
from installer.host.clock import Clock, SystemClock
from installer.host.commands import Runner, run_command
from installer.host.context import Host, make_host
from installer.host.offer import ARCHIVE, DIGEST
from installer.host.paths import SITE_CONFIG, HostPaths
from installer.host.reporting import JsonSink, LogSink, Report, TextSink
from installer.host.signals import Signals
from installer.host.site_inputs import Site, load_site

_RELEASE_FILE = "pharos-release"
INDEX = "PHAROS_INDEX_URL"
_KNOWN = frozenset({ARCHIVE, DIGEST, INDEX, VARIABLE, "PHAROS_PYTHON"})
_SERVICE_LINK = re.compile(r"PHAROS_.*(_SERVICE_HOST|_SERVICE_PORT.*|_PORT(_.*)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a run is built from; tests give other ones."""

    environment: Mapping[str, str]
    paths: HostPaths = field(default_factory=HostPaths)
    limits: Limits = field(default_factory=Limits)
    clock: Clock = field(default_factory=SystemClock)
    run: Runner = run_command
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    own_release: str | None = None
    user: int = field(default_factory=os.geteuid)
    """Effective user id of this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options every phase has."""

    config: str = SITE_CONFIG
    as_json: bool = False
    quiet: bool = False
    plan: bool = False


def own_release(prefix: Path) -> str | None:
    """The release this installer was built from, by the file in its own environment; None in a development
    tree.
    """
    try:
        return (prefix / _RELEASE_FILE).read_text("ascii").strip() or None
    except OSError:
        return None


def build_host(ports: Ports, options: RunOptions, *, phase: str, writes_log: bool) -> Host:
    """The host over its ports, with the reporter the options ask for."""
    report = Report(ports.clock, [])
    if options.as_json:
        report.add(JsonSink(ports.stdout))
    else:
        report.add(TextSink(ports.stderr, ports.stdout, quiet=options.quiet))
    if writes_log:
        stamp = format_time(ports.clock.now()).replace(":", "").replace("-", "")
        report.add(LogSink(ports.paths.log / f"{stamp}-{phase}.jsonl"))
    return make_host(
        paths=ports.paths,
        limits=ports.limits,
        clock=ports.clock,
        run=ports.run,
        report=report,
        signals=Signals(),
    )


def site_of(host: Host, ports: Ports, options: RunOptions) -> tuple[Host, Site]:
    """The hand-off, and the host with the checkpoints its profile allows. Raises Refusal."""
    refuse_unknown_variables(ports.environment)
    site = load_site(host.paths, host.paths.at(options.config), host.limits)
    _refuse_other_index(ports.environment.get(INDEX), site.profile.dependencies)
    scoped = checkpoints(ports.environment.get(VARIABLE, ""), laboratory=site.profile.laboratory)
    return replace(host, checkpoints=scoped), site


def _refuse_other_index(named: str | None, dependencies: Dependencies) -> None:
    """What install.sh was told must be what the profile says (I4); the URL itself is not told."""
    if named is not None and named != dependencies.index_url:
        raise Refusal(
            "index_other",
            found="another index in install.sh --index-url than in the profile",
            wanted="dependencies.index_url of the profile",
            remedy="Name the profile's, or correct the profile.",
            exit_code=USAGE,
        )


def refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    """Raise Refusal for a PHAROS_ variable the installer does not have; orchestrators' service links are
    ignored (X6).
    """
    unknown = sorted(
        name
        for name in environment
        if name.startswith("PHAROS_") and name not in _KNOWN and not _SERVICE_LINK.fullmatch(name)
    )
    if unknown:
        raise Refusal(
            "variable_unknown",
            found=f"the variable {unknown[0]}",
            wanted=f"of PHAROS_ names only {', '.join(sorted(_KNOWN))}",
            remedy="Unset it; settings of the components come from the profile.",
            exit_code=USAGE,
        )

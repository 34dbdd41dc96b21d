"""Runs one phase: signals, hand-off, log; tells every error in one place and turns it into the exit code."""

import contextlib
import traceback
from collections.abc import Callable

from installer.bootstrap.host import check_root
from installer.composition import Ports, RunOptions, build_host, site_of
from installer.domain.refusal import BUG, DONE, INSTALL_FAILED, Refusal
from installer.host.context import Host
from installer.host.files import make_folder
from installer.host.pruning import prune
from installer.host.signals import InterruptedRunError
from installer.host.site_inputs import Site
from installer.phases.outcome import Outcome

_NO_SITE = frozenset({"status", "recover"})
_SWITCHES = frozenset({"activate", "rollback"})
_NO_LOG = frozenset({"status"})


def run_phase(ports: Ports, phase: str, options: RunOptions, work: Callable[..., Outcome]) -> int:
    """Run ``work`` under the signal handlers and answer its exit code; every error is told here and nowhere
    else.
    """
    writes_log = phase not in _NO_LOG and not options.plan
    try:
        check_root(ports.user, phase)
    except Refusal as refusal:
        return _refused(build_host(ports, options, phase=phase, writes_log=False), refusal)
    host = build_host(ports, options, phase=phase, writes_log=writes_log)
    if writes_log and phase != "preflight":
        with contextlib.suppress(OSError):
            make_folder(host.paths.memory, 0o700)
            make_folder(host.paths.log, 0o700)
    if writes_log:
        # One less than may stay: this run's own log comes after it.
        limits = host.limits
        prune(host.paths.log, files=limits.log_files - 1, size=limits.log_bytes)
    try:
        with host.signals.handled():
            host, site = _site(host, ports, options, phase)
            outcome = work(host, site)
    except Refusal as refusal:
        return _refused(host, refusal)
    except OSError as error:
        return _refused(host, _storage(host, error))
    except InterruptedRunError as interrupted:
        code = interrupted.exit_code
        text = _interrupted(phase, interrupted)
        host.report.say("result", text, phase=phase, ok=False, exitCode=code, signal=str(interrupted))
        return code
    except Exception as error:  # noqa: BLE001 - the last line: told as a bug, with its place in the log
        words = "".join(traceback.format_exception(error))
        host.report.say("refusal", f"internal error: {type(error).__name__}", code="bug", traceback=words)
        host.report.say("result", "internal error", ok=False, exitCode=BUG)
        return BUG
    code = outcome.exit_code
    fields = {"ok": code == DONE, "exitCode": code, "changed": outcome.changed, **outcome.fields}
    if site is not None:
        fields["laboratory"] = site.profile.laboratory
    host.report.say("result", outcome.text, phase=phase, **fields)
    return code


def _site(host: Host, ports: Ports, options: RunOptions, phase: str) -> tuple[Host, Site | None]:
    """The hand-off; ``status`` and ``recover`` do without one that cannot be read (B22: other verbs still
    work).
    """
    try:
        return site_of(host, ports, options)
    except Refusal as refusal:
        if phase not in _NO_SITE or refusal.code in {"variable_unknown", "checkpoint_refused"}:
            raise
        host.report.say("warning", f"working without the site configuration: {refusal}")
        return host, None


def _interrupted(phase: str, interrupted: InterruptedRunError) -> str:
    """The last line: what a signal left behind; a way back that stayed incomplete is exit 8 instead."""
    if phase in _SWITCHES:
        return f"interrupted by {interrupted}; the prior state is back; run it again"
    return f"interrupted by {interrupted}; run it again"


def _storage(host: Host, error: OSError) -> Refusal:
    """An operation on the host's files failed outside of any step; a step's own failure was restored and
    told as such.
    """
    found = f"{error.filename or 'a file of the installer'}: {error.strerror or error}"
    return Refusal(
        "host_io_failed",
        found=f"{found}; a switch is not finished, its journal is kept" if _unfinished(host) else found,
        wanted="to read and write the installer's own files",
        remedy="Free space or mend the mount. Where a switch is not finished run `pharos-installer recover`"
        " next, else the phase again.",
        exit_code=INSTALL_FAILED,
    )


def _unfinished(host: Host) -> bool:
    """Whether an operation is open, or may be: a journal that cannot be read counts as open (X1)."""
    try:
        journal = host.journal.read()
    except Refusal:
        return True
    return journal is not None and not journal.closed


def _refused(host: Host, refusal: Refusal) -> int:
    fields = {
        "code": refusal.code,
        "found": refusal.found,
        "wanted": refusal.wanted,
        "remedy": refusal.remedy,
    }
    host.report.say("refusal", str(refusal), exitCode=refusal.exit_code, **fields)
    host.report.say("result", str(refusal), ok=False, exitCode=refusal.exit_code, **fields)
    return refusal.exit_code

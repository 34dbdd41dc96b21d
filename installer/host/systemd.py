"""systemd through ``systemctl``: every change is proven by reading the unit's properties again, not by a
return code.
"""

from installer.domain.limits import Limits
from installer.domain.units import PROPERTIES, UnitState, UnitUnreadableError, parse_show
from installer.host.commands import CommandError, Runner


class ServiceError(Exception):
    """systemd refused, did not answer, or did not do what it said; the text names the command."""


class Systemctl:
    """The service manager. Every method raises ServiceError."""

    def __init__(self, run: Runner, limits: Limits) -> None:
        self._run = run
        self._limits = limits

    def show(self, unit: str) -> UnitState:
        """The unit's properties now."""
        answer = self._call("show", unit, f"--property={','.join(PROPERTIES)}")
        try:
            return parse_show(answer)
        except UnitUnreadableError as error:
            raise ServiceError(f"systemctl show {unit}: {error}") from error

    def stop(self, unit: str) -> None:
        """Stop the unit; proven by its state, also when systemctl complained."""
        failure = self._try("stop", unit, timeout=self._limits.stop_seconds)
        state = self.show(unit)
        if state.runs:
            raise ServiceError(
                f"systemctl stop {unit}: still {state.active} ({state.sub}) {failure}".rstrip()
            )

    def start(self, unit: str) -> None:
        """Ask for the unit's start without waiting: whether it runs is for the health window to say (row
        29).
        """
        self._call("reset-failed", unit, may_fail=True)
        self._call("start", "--no-block", unit)

    def set_enabled(self, unit: str, enabled: bool) -> None:
        """Enable or disable the unit at boot; proven by UnitFileState."""
        verb = "enable" if enabled else "disable"
        failure = self._try(verb, unit, timeout=self._limits.command_seconds)
        state = self.show(unit)
        if (state.file_state in {"enabled", "enabled-runtime"}) != enabled:
            raise ServiceError(
                f"systemctl {verb} {unit}: it is {state.file_state or 'unknown'} {failure}".rstrip()
            )

    def reload(self, expected: dict[str, str | None]) -> None:
        """daemon-reload, proven for each unit: read again, from the file expected (None: no unit file)
        (B20).
        """
        failure = self._try("daemon-reload", timeout=self._limits.command_seconds)
        for unit, fragment in expected.items():
            state = self.show(unit)
            if state.need_reload:
                raise ServiceError(f"systemctl daemon-reload: {unit} still needs it {failure}".rstrip())
            if fragment is not None and state.fragment != fragment:
                found = state.fragment or "no file"
                raise ServiceError(f"systemctl daemon-reload: {unit} comes from {found}, not {fragment}")
            if fragment is None and state.fragment:
                raise ServiceError(f"systemctl daemon-reload: {unit} still comes from {state.fragment}")

    def running(self) -> bool:
        """Whether systemd is this host's init system and answers."""
        try:
            answer = self._run(["systemctl", "is-system-running"], timeout=self._limits.command_seconds)
        except CommandError:
            return False
        words = answer.stdout.split()
        return bool(words) and words[0] in {"running", "degraded", "starting", "initializing", "maintenance"}

    def _try(self, *arguments: str, timeout: float) -> str:
        try:
            done = self._run(["systemctl", *arguments], timeout=timeout)
        except CommandError as error:
            return f"({error})"
        return "" if done.code == 0 else f"({_last_line(done.stderr)})"

    def _call(self, *arguments: str, may_fail: bool = False) -> str:
        try:
            done = self._run(["systemctl", *arguments], timeout=self._limits.command_seconds)
        except CommandError as error:
            raise ServiceError(str(error)) from error
        if done.code != 0 and not may_fail:
            why = _last_line(done.stderr) or f"exit {done.code}"
            words = " ".join(argument for argument in arguments if not argument.startswith("--"))
            raise ServiceError(f"systemctl {words}: {why}")
        return done.stdout


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""

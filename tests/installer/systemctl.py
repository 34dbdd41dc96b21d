"""A systemd as small as the installer needs: ``systemctl``, its units and the processes behind them, in
memory.

It obeys systemd's rules for what the installer relies on: unit files are read at ``daemon-reload`` alone, a
start begins a
new invocation, ``enable`` needs a unit file, masking wins. How a started component behaves is a script of
``Behaviour``,
and a running one writes its status file like the real agent: with the release its link led to *when it
started*.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from installer.host.commands import CommandError, Completed, RunAs, run_command


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the component of one release does once it is started."""

    ready_after: float = 0.5
    """Seconds until it is active and ready; negative: never."""
    dies_after: float | None = None
    """Seconds after which the process ends."""
    restarts: bool = True
    """Restart= brings it back."""
    heals: bool = False
    """After the first death it stays up."""
    state: str = "ready"
    status_code: int = 0
    """Exit code of its own ``status`` verb."""
    reports: str | None = None
    """Another release than its own is reported."""


@dataclass(slots=True)
class Unit:
    """One unit as systemd has it in memory."""

    loaded: str | None = None
    """Text read at the last daemon-reload."""
    active: str = "inactive"
    enabled: bool = False
    masked: bool = False
    invocation: int = 0
    restarts: int = 0
    started_at: float = 0.0
    release: str = ""
    drop_ins: list[str] = field(default_factory=list)


class FakeClock:
    """Time that moves only when somebody waits."""

    def __init__(self, start: float = 0.0) -> None:
        self.elapsed = start
        self._zero = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self._zero + timedelta(seconds=self.elapsed)

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        self.elapsed += seconds


class FakeHost:
    """Answers the installer's native commands for a host below ``root``."""

    def __init__(
        self, root: Path, clock: FakeClock, behaviours: Mapping[str, Behaviour] | None = None
    ) -> None:
        self.root = root
        self.clock = clock
        self.behaviours = dict(behaviours or {})
        self.units: dict[str, Unit] = {}
        self.calls: list[list[str]] = []
        self.faults: dict[str, Callable[[], Completed | None]] = {}
        """By ``systemctl`` verb: an answer instead of the deed, or None to do the deed."""
        self.programs: dict[str, Completed | Callable[[Sequence[str]], Completed]] = {}
        """Answers of other programs by their name: one for any words, or by what is asked."""
        self.reload_lies = False
        self.no_systemd = False
        self.after_call: Callable[[], object] = lambda: None

    def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        run_as: RunAs | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        self.calls.append(list(argv))
        program = Path(argv[0]).name
        if program in self.programs:
            answer = self.programs[program]
            return answer if isinstance(answer, Completed) else answer(argv[1:])
        if program == "systemctl":
            if self.no_systemd:
                raise CommandError("systemctl: No such file or directory")
            done = self._systemctl(list(argv[1:]))
            self.after_call()
            return done
        if program in {"pharos-ssh-access", "pharos-reporter", "pharos-runtime"} and argv[1] == "status":
            return Completed(code=self._behaviour_of_path(argv[0]).status_code, stdout="{}", stderr="")
        if program in {"systemd-sysusers", "systemd-tmpfiles"}:
            return self._host_file(program)
        if program == "systemd-analyze":
            return Completed(code=0, stdout="", stderr="")
        if program == "journalctl":
            return _ok("last words\n")
        if program == "sudo":
            raise CommandError("sudo: No such file or directory")
        # The test's own user: the folders of a test are not another user's to enter.
        return run_command(argv, timeout=timeout, stdin=stdin, environment=environment)

    # -- systemctl

    def _systemctl(self, arguments: list[str]) -> Completed:
        words = [argument for argument in arguments if not argument.startswith("--")]
        verb, unit = words[0], self.units.setdefault(words[1], Unit()) if len(words) > 1 else None
        fault = self.faults.get(verb)
        if fault is not None and (answer := fault()) is not None:
            return answer
        if verb == "is-system-running":
            return _ok("running\n")
        if verb == "daemon-reload":
            if not self.reload_lies:
                for name, entry in self.units.items():
                    entry.loaded = self._text(name)
            return _ok()
        assert unit is not None
        self.tick(words[1])
        if verb == "show":
            return _ok(self._show(words[1], unit))
        if verb in {"start", "restart"}:
            return self._start(words[1], unit)
        if verb == "stop":
            self._end(words[1], unit, "inactive")
            return _ok()
        if verb == "reset-failed":
            if unit.active == "failed":
                unit.active = "inactive"
            return _ok()
        if verb in {"enable", "disable"}:
            if self._text(words[1]) is None:
                return _fail(f"Unit {words[1]} does not exist")
            unit.enabled = verb == "enable"
            return _ok()
        raise AssertionError(f"unknown verb {verb}")

    def _start(self, name: str, unit: Unit) -> Completed:
        if unit.masked:
            return _fail(f"Unit {name} is masked.")
        if unit.loaded is None:
            return _fail(f"Unit {name} not found.")
        if unit.active == "inactive":
            unit.active, unit.restarts = "activating", 0
            self._launch(name, unit)
        return _ok()

    def _launch(self, name: str, unit: Unit) -> None:
        unit.invocation += 1
        unit.started_at = self.clock.elapsed
        component = name.removeprefix("pharos-").removesuffix(".service")
        link = self.root / f"opt/pharos-hpc/components/{component}/current"
        unit.release = link.resolve().parent.parent.name if link.is_symlink() else ""

    def tick(self, name: str) -> None:
        """Let time that passed show on the unit."""
        unit = self.units[name]
        if unit.active not in {"activating", "active"}:
            return
        does = self._behaviour(unit.release, name)
        age = self.clock.elapsed - unit.started_at
        mortal = does.dies_after is not None and not (does.heals and unit.restarts)
        if mortal and does.dies_after is not None and age >= does.dies_after:
            if does.restarts:
                unit.active = "activating"
                unit.restarts += 1
                self._launch(name, unit)
            else:
                self._end(name, unit, "failed")
        elif does.ready_after >= 0 and age >= does.ready_after:
            unit.active = "active"
            self._write_status(name, unit, does)

    def _end(self, name: str, unit: Unit, state: str) -> None:
        unit.active = state
        self._status_path(name).unlink(missing_ok=True)

    def _status_path(self, name: str) -> Path:
        return self.root / "run" / name.removesuffix(".service") / "status.json"

    def _write_status(self, name: str, unit: Unit, does: Behaviour) -> None:
        path = self._status_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        release = does.reports or unit.release
        body = {"schema": 1, "release": release, "pid": 1000 + unit.invocation, "state": does.state}
        path.write_text(json.dumps(body))

    def _show(self, name: str, unit: Unit) -> str:
        text = self._text(name)
        loaded = unit.loaded is not None
        values = {
            "LoadState": "masked" if unit.masked else "loaded" if loaded else "not-found",
            "ActiveState": unit.active,
            "SubState": {"active": "running", "activating": "start", "failed": "failed"}.get(
                unit.active, "dead"
            ),
            "UnitFileState": self._file_state(unit, text),
            "FragmentPath": f"/etc/systemd/system/{name}" if loaded else "",
            "DropInPaths": " ".join(unit.drop_ins),
            "NeedDaemonReload": "yes" if unit.loaded != text and loaded else "no",
            "MainPID": str(1000 + unit.invocation) if unit.active in {"active", "activating"} else "0",
            "InvocationID": f"{unit.invocation:032x}" if unit.invocation else "",
            "NRestarts": str(unit.restarts),
            "Result": "exit-code" if unit.active == "failed" else "success",
        }
        return "".join(f"{key}={value}\n" for key, value in values.items())

    @staticmethod
    def _file_state(unit: Unit, text: str | None) -> str:
        if unit.masked:
            return "masked"
        if text is None:
            return ""
        return "enabled" if unit.enabled else "disabled"

    def _text(self, name: str) -> str | None:
        path = self.root / "etc/systemd/system" / name
        return path.read_bytes().decode("latin-1") if path.exists() else None

    def _behaviour(self, release: str, unit: str) -> Behaviour:
        """What a release does, or what one unit of it does (key ``RELEASE/UNIT``)."""
        return self.behaviours.get(f"{release}/{unit}", self.behaviours.get(release, Behaviour()))

    def _behaviour_of_path(self, path: str) -> Behaviour:
        parts = Path(path).parts
        return self._behaviour(parts[parts.index("releases") + 1], f"{Path(path).name}.service")

    def _host_file(self, program: str) -> Completed:
        if program == "systemd-sysusers":
            passwd = self.root / "etc/passwd"
            if "pharos-ssh-access" not in passwd.read_text():
                with passwd.open("a") as file:
                    file.write("pharos-ssh-access:x:990:990::/:/usr/sbin/nologin\n")
        return _ok()

    # -- JSON state, so that a process that was killed finds its host again

    def save(self) -> str:
        """Everything systemd has in memory."""
        units = {name: asdict(unit) for name, unit in self.units.items()}
        return json.dumps({"units": units, "elapsed": self.clock.elapsed})

    def load(self, text: str) -> None:
        """The state ``save`` gave."""
        document = json.loads(text)
        self.clock.elapsed = document["elapsed"]
        self.units = {name: Unit(**entry) for name, entry in document["units"].items()}


def _ok(stdout: str = "") -> Completed:
    return Completed(code=0, stdout=stdout, stderr="")


def _fail(stderr: str) -> Completed:
    return Completed(code=1, stdout="", stderr=stderr)


__all__ = ["Behaviour", "FakeClock", "FakeHost", "Unit", "replace"]

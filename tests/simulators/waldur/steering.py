"""The world, the faults and the clock of one simulator, and the acts of its control channel.

A command is `{"act": name, …arguments}`; the answer is `{"ok": result}` or `{"error": text}`. Besides the
acts of `staging.Stage`:

| act | arguments | result |
|---|---|---|
| `fault` | those of `faults.Fault` | how many are to come |
| `clear` | – | forgets every fault still to come |
| `log` | `writes` (bool) | the requests answered so far, oldest first |
| `forget` | – | empties the log |
| `mark` | – | remembers the world as it is |
| `back` | – | the marked world again, no faults, an empty log, the marked clock |
| `clock` | `now` (a time to stand at, or null for the machine's) or `advance` (seconds) | the time now |
| `rows` | `table` | the rows of a table |
| `busy` | – | the seconds the rules took for the requests in the log |
| `save` | – | keeps the world in its file now; it is kept at the end anyway |
| `setting` | `name` (`version`, `version_restricted`), `value` | – |
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests.simulators.waldur.faults import Fault, Plan
from tests.simulators.waldur.model import World
from tests.simulators.waldur.staging import ACTS, Stage

SETTINGS = frozenset({"version", "version_restricted"})


class Steering:
    """Everything one simulator holds. Whoever touches it holds `lock`."""

    def __init__(self, state: Path | None = None, now: datetime | None = None) -> None:
        self.lock = threading.RLock()
        self.plan = Plan()
        self.log: list[dict[str, Any]] = []
        self.busy = 0.0
        self._state = state
        self._stands_at = now
        self._ahead = timedelta(0)
        self._marked: tuple[bytes, datetime | None, timedelta] | None = None
        known = state is not None and state.exists()
        self.world = msgspec.json.decode(state.read_bytes(), type=World) if state and known else World()

    def now(self) -> datetime:
        """The machine's time, or the one it stands at; either with what it was put forward by."""
        return (self._stands_at or datetime.now(UTC)) + self._ahead

    def save(self) -> None:
        """Keeps the world, whole or not at all."""
        if self._state is None:
            return
        draft = self._state.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode(self.world))
        draft.replace(self._state)

    def obey(self, command: Any) -> dict[str, Any]:
        """Does one command."""
        try:
            if not isinstance(command, dict):
                raise TypeError("a command is an object")
            with self.lock:
                done = self.act(dict(command))
        except (ValueError, KeyError, TypeError, msgspec.ValidationError) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        return {"ok": done}

    def act(self, command: dict[str, Any]) -> Any:
        """Does one act; raises what is wrong with it."""
        name = command.pop("act", None)
        if name in ACTS:
            return getattr(Stage(self.world, self.now()), name)(**command)
        own: dict[str, Callable[..., Any]] = {
            "fault": self._fault,
            "clear": self._clear,
            "log": self._log,
            "forget": self._forget,
            "mark": self._mark,
            "back": self._back,
            "clock": self._clock,
            "busy": lambda: self.busy,
            "save": self.save,
            "rows": self._rows,
            "setting": self._setting,
        }
        if name not in own:
            raise ValueError(f"no act {name!r}; there are {', '.join(sorted(ACTS | set(own)))}")
        return own[name](**command)

    def _fault(self, **given: Any) -> int:
        self.plan.coming.append(msgspec.convert(given, Fault))
        return len(self.plan.coming)

    def _clear(self) -> None:
        self.plan.coming.clear()

    def _log(self, writes: bool = False) -> list[dict[str, Any]]:
        return [each for each in self.log if not writes or each["method"] not in ("GET", "HEAD")]

    def _forget(self) -> None:
        self.log.clear()
        self.busy = 0.0

    def _mark(self) -> None:
        self._marked = (msgspec.json.encode(self.world), self._stands_at, self._ahead)

    def _back(self) -> None:
        if self._marked is None:
            raise ValueError("nothing is marked")
        encoded, self._stands_at, self._ahead = self._marked
        self.world = msgspec.json.decode(encoded, type=World)
        self.plan.coming.clear()
        self._forget()

    def _clock(self, now: str | None = None, advance: float | None = None) -> str:
        if advance is not None:
            self._ahead += timedelta(seconds=advance)
        else:
            stands_at = None if now is None else datetime.fromisoformat(now)
            if stands_at is not None and stands_at.tzinfo is None:
                raise ValueError("a time has an offset")
            self._stands_at, self._ahead = stands_at, timedelta(0)
        return self.now().isoformat()

    def _rows(self, table: str) -> list[dict[str, Any]]:
        if table not in World.TABLES:
            raise ValueError(f"no table {table!r}; there are {', '.join(World.TABLES)}")
        rows: list[dict[str, Any]] = msgspec.to_builtins(list(getattr(self.world, table).values()))
        return rows

    def _setting(self, name: str, value: Any) -> None:
        if name not in SETTINGS:
            raise ValueError(f"no setting {name!r}; there are {', '.join(sorted(SETTINGS))}")
        setattr(self.world, name, value)

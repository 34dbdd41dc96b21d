"""The simulator as a test holds it: starts the process, steers it, ends it.

    with WaldurProcess(folder) as waldur:
        made = waldur.stand()
        project = waldur.act("add_project", name="Lattice", customer=made["customer"])
        waldur.fault("status", call="GET /api/users/me/")
        ...  # the caller under test talks to waldur.api, trusting waldur.ca_file, with made["manager"]
        assert waldur.writes() == []

`act` takes every act of `steering.py` and `staging.py`. The class needs only the standard library besides the
development certificates, so that benchmarks and the demo can hold it too.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from central.dev.certificates import ensure_authority, issue_leaf

REPOSITORY = Path(__file__).parents[3]
ANSWERS_WITHIN = 30.0


class ActRefused(Exception):
    """An act that the simulator could not do; the message is its own."""


@dataclass(slots=True)
class WaldurProcess:
    """A running simulator. `address` is where it listens, `name` what its certificate says besides.

    `folder` holds authority, certificate and state; a second process on the same folder goes on where the
    first one ended. `beside` makes the command that runs another so that it ends with something else than
    this process, which it then outlives; its control socket lies in `folder`, whose path must be short.
    """

    folder: Path
    address: str = "127.0.0.1"
    port: int = 0
    name: str = "localhost"
    now: datetime | None = None
    beside: Callable[[Sequence[str]], list[str]] | None = None
    api: str = field(init=False, default="")
    _process: subprocess.Popen[str] | None = field(init=False, default=None)
    _control: socket.socket | None = field(init=False, default=None)
    _sockets: str = field(init=False, default="")

    @property
    def ca_file(self) -> Path:
        """The authority a caller must trust."""
        return self.folder / "ca.crt"

    def start(self) -> None:
        """Starts it and waits until it listens. Raises `RuntimeError` with what it said instead."""
        self.folder.mkdir(parents=True, exist_ok=True)
        moment = datetime.now(UTC)
        ensure_authority(self.folder, moment)
        certificate, key = issue_leaf(self.folder, self.name, self.address, moment)
        control = self.folder / "control"
        if self.beside is None:
            # A socket's path may have about 100 characters; a test's folder can be longer.
            self._sockets = tempfile.mkdtemp(prefix="waldur-", dir="/tmp")
            control = Path(self._sockets) / "control"
        argv = [
            sys.executable, "-m", "tests.simulators.waldur", "--listen", f"{self.address}:{self.port}",
            "--cert", str(certificate), "--key", str(key), "--state", str(self.folder / "state.json"),
            "--control", str(control), "--name", self.name,
        ]  # fmt: skip
        argv = [*argv, "--parent", str(os.getpid())] if self.beside is None else self.beside(argv)
        if self.now is not None:
            argv += ["--now", self.now.isoformat()]
        with (self.folder / "stderr").open("w") as said:
            self._process = subprocess.Popen(
                argv,
                cwd=REPOSITORY,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=self.beside is not None,
            )
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self.stop()
            raise RuntimeError(f"the Waldur simulator did not start: {(self.folder / 'stderr').read_text()}")
        self.api = json.loads(line)["api"]
        self.port = int(self.api.split(":")[2].partition("/")[0])
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control.settimeout(ANSWERS_WITHIN)
        self._control.connect(str(control))

    def stop(self) -> None:
        """Ends it; its world stays in the folder."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
        if self._sockets:
            shutil.rmtree(self._sockets, ignore_errors=True)

    def act(self, act: str, /, **arguments: Any) -> Any:
        """Does one act and returns its result. Raises `ActRefused`."""
        return self.obey({"act": act} | arguments)

    def obey(self, command: dict[str, Any]) -> Any:
        """The same for a command as it goes over the channel."""
        if self._control is None:
            raise RuntimeError("the simulator is not running")
        self._control.sendall(json.dumps(command).encode() + b"\n")
        answer = bytearray()
        while not answer.endswith(b"\n"):
            piece = self._control.recv(1 << 20)
            if not piece:
                raise RuntimeError("the simulator ended the conversation")
            answer += piece
        said = json.loads(answer)
        if "error" in said:
            raise ActRefused(f"{command.get('act')}: {said['error']}")
        return said["ok"]

    def stand(self, **plugin_options: Any) -> dict[str, str]:
        """A node-hour offering with provider, customer and tokens (`Stage.stand`)."""
        made: dict[str, str] = self.act("stand", **plugin_options)
        return made

    def fault(self, kind: str, **arguments: Any) -> None:
        """A fault to come (`faults.py`)."""
        self.act("fault", kind=kind, **arguments)

    def clear(self) -> None:
        """Forgets the faults still to come."""
        self.act("clear")

    def mark(self) -> None:
        """Remembers the world as it is, for `back`."""
        self.act("mark")

    def back(self) -> None:
        """The marked world again, without faults and with an empty log."""
        self.act("back")

    def requests(self) -> list[dict[str, Any]]:
        """The requests it met: `method`, `path`, `query`, `status` (0: a fault's), `body`."""
        met: list[dict[str, Any]] = self.act("log")
        return met

    def writes(self) -> list[dict[str, Any]]:
        """Those that were not GET or HEAD."""
        met: list[dict[str, Any]] = self.act("log", writes=True)
        return met

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

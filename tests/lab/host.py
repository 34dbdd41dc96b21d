"""``LabHost``: one disposable HPC host, as a test or the demo uses it."""

import dataclasses
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab import container
from tests.lab.disk import disk_down, disk_up
from tests.lab.erase import erase
from tests.lab.errors import LabError
from tests.lab.limits import LIMITS
from tests.lab.network import network_up
from tests.lab.prerequisites import require
from tests.lab.processes import ProcessIdentity, myself, run
from tests.lab.registry import HostRecord, Registry
from tests.lab.tree import HostTree, ensure_tree

Completed = subprocess.CompletedProcess[str]


class LabHost:
    """A host that runs; made by ``up`` or ``attach``, removed by ``down``, ``kill`` or ``with``."""

    def __init__(self, record: HostRecord, registry: Registry) -> None:
        self.record = record
        self._registry = registry

    @classmethod
    def up(
        cls,
        name: str | None = None,
        *,
        binds: Sequence[str] = (),
        detached: bool = False,
        tree: HostTree | None = None,
    ) -> Self:
        """Boot a fresh host and return when all its services answer, in about two seconds.

        ``binds``: ``/here:/there``, read-only. ``detached``: it outlives this process. Raises
        LabError; then nothing of the host is left.
        """
        require()
        booted = tree or ensure_tree()
        registry = Registry()
        with registry.locked():
            record = registry.claim(
                name=name, owner=myself(), tree=booted.root, binds=tuple(binds), detached=detached
            )
        host = cls(record, registry)
        try:
            network_up(record.slot)
            host._boot()
        except BaseException:
            host.kill()
            raise
        return host

    @classmethod
    def attach(cls, name: str) -> Self:
        """The running host of that name, whoever started it."""
        registry = Registry()
        return cls(registry.find(name), registry)

    @property
    def name(self) -> str:
        """Its host name."""
        return self.record.name

    @property
    def addr(self) -> str:
        """Its address, for this machine."""
        return self.record.slot.addr

    @property
    def host_side_addr(self) -> str:
        """This machine's address, for the host (there it is called ``vm.lab.test``; ``intake.lab.test`` and
        ``waldur.lab.test`` too, since each origin has a host name of its own)."""
        return self.record.slot.host_side_addr

    @property
    def ports(self) -> range:
        """Ports of this machine that nobody but this host's test or demo uses."""
        return self.record.slot.ports

    @property
    def rootfs(self) -> Path:
        """Its root directory, to look at; absolute links in it point into this machine."""
        return self.record.slot.root

    @property
    def keys(self) -> Path:
        """The site's keys that tests may play with (``HostTree.keys``)."""
        return self.record.tree.parent / "keys"

    @property
    def running(self) -> bool:
        """Whether it can be entered."""
        return container.leader(self.record.slot) is not None

    def exec(
        self,
        argv: Sequence[str],
        *,
        user: str | None = None,
        input: str | bytes | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        timeout: float = LIMITS.command,
    ) -> Completed:
        """Run ``argv`` inside as root or ``user`` and return its output.

        Raises CommandFailedError when ``check`` and the status is not 0. What is in ``argv`` and
        ``env`` shows in process lists; a secret goes through ``input`` (X5).
        """
        given = input.encode() if isinstance(input, str) else input
        return run(self.command(argv, user=user, env=env), input=given, check=check, timeout=timeout)

    def command(
        self, argv: Sequence[str], *, user: str | None = None, env: Mapping[str, str] | None = None
    ) -> list[str]:
        """The command of this machine that runs ``argv`` inside, for a caller's own Popen."""
        return container.enter(self.record.slot, list(argv), user=user, env=dict(env or {}))

    def beside(self, argv: Sequence[str]) -> list[str]:
        """The command that runs ``argv`` on this machine so that it ends with the host, whoever is killed.

        A reset or reboot of the host leaves it alone.
        """
        companions = self.record.slot.companions
        companions.mkdir(exist_ok=True)
        return ["sh", "-c", container.ENTER, str(companions / "cgroup.procs"), *argv]

    @property
    def scratch(self) -> Path:
        """A folder of this machine that is removed with the host; another user may pass through it."""
        folder = self.record.scratch
        if folder is None:
            raise LabError(f"{self.name} was made by an older lab: 'down' it and begin anew")
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
            folder.chmod(0o711)
        return folder

    def shell(self, user: str | None = None) -> int:
        """A login shell on this terminal; returns its status."""
        env = {"TERM": os.environ.get("TERM", "dumb")}
        return subprocess.call(self.command(["bash", "-l"], user=user, env=env))

    def put(self, path: str, content: bytes, mode: int = 0o644, owner: str = "root:root") -> None:
        """Write a file inside in one step, making its folders (0755 root)."""
        user, _, group = owner.partition(":")
        fresh = f"{path}.put"
        install = ["install", "-D", "-m", f"{mode:04o}", "-o", user, "-g", group or user, "/dev/stdin", fresh]
        self.exec(install, input=content)
        self.exec(["mv", "-fT", fresh, path])

    def read(self, path: str) -> str:
        """Content of a text file inside."""
        return self.exec(["cat", "--", path]).stdout

    def detach(self) -> None:
        """From now on it is its own owner and outlives this process."""
        self.record = dataclasses.replace(self.record, detached=True)
        self._hand_to(self._watcher())

    def reset(self) -> None:
        """Throw its disk away and boot again, in about two seconds."""
        container.stop(self.record.slot, clean=False)
        disk_down(self.record.slot)
        self._boot()

    def reboot(self) -> None:
        """Restart it as an administrator would, keeping its disk."""
        container.stop(self.record.slot, clean=True)
        self._start()

    def down(self) -> None:
        """Stop it cleanly and remove every trace."""
        container.stop(self.record.slot, clean=True)
        self.kill()

    def kill(self) -> None:
        """End it at once and remove every trace; done twice is no error."""
        with self._registry.locked():
            standing = self._registry.read(self.record.slot)
            if standing is not None and standing.created == self.record.created:
                erase(self.record.slot, self.record.scratch)

    def _boot(self) -> None:
        disk_up(self.record)
        self._start()

    def _start(self) -> None:
        if self.record.detached:
            # While it boots, whoever boots it answers for it.
            self._hand_to(myself())
        container.start(self.record)
        if self.record.detached:
            self._hand_to(self._watcher())

    def _watcher(self) -> ProcessIdentity:
        watcher = container.supervisor(self.record.slot)
        if watcher is None:
            raise LabError(f"{self.name} has ended: read {self.record.slot.folder}/console")
        return watcher

    def _hand_to(self, owner: ProcessIdentity) -> None:
        with self._registry.locked():
            self.record = self._registry.give_to(self.record, owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

"""Every process a Run depends on is killed once, in an order and at times that a seed repeats (S1, X7)."""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.journeys.executing import Executing
from tests.lab.processes import children, wait_until

CENTRAL = (
    "serve project-api",
    "serve site-api",
    "serve member-api",
    "serve provisioning-intake",
    "work provisioning",
    "work execution",
)
UNITS = ("pharos-runtime", "pharos-reporter", "slurmctld")
BACK_WITHIN = 60.0


class Killing:
    """Kills while a block runs; ``killed`` tells what, in order, ``fault`` what went wrong in doing so."""

    def __init__(self, executing: Executing, seed: int) -> None:
        self.executing = executing
        self.chance = random.Random(seed)
        self.killed: list[str] = []
        self.fault: BaseException | None = None
        self.stop = threading.Event()

    def run(self) -> None:
        """Each once."""
        victims: dict[str, Callable[[], None]] = {
            **{words: partial(self._of_central, words) for words in CENTRAL},
            **{unit: partial(self._of_host, unit) for unit in UNITS},
        }
        names = list(victims)
        self.chance.shuffle(names)
        try:
            for name in names:
                if self.stop.wait(self.chance.uniform(0.5, 2.5)):
                    return
                victims[name]()
                self.killed.append(name)
        except BaseException as error:
            self.fault = error

    def _of_central(self, words: str) -> None:
        """The process and its workers; the stack starts it again."""
        pid = self._pid(words)
        assert pid is not None, f"no process of central: {words}"
        os.killpg(pid, signal.SIGKILL)
        assert wait_until(lambda: self._pid(words) not in (None, pid), BACK_WITHIN, every=0.2), words

    def _pid(self, words: str) -> int | None:
        wanted = f"-m\0central.cli\0{words.replace(' ', chr(0))}\0"
        for pid in children(self.executing.road.central.facts()["pids"]["dev"]):
            try:
                if wanted in Path(f"/proc/{pid}/cmdline").read_text():
                    return pid
            except OSError:
                continue
        return None

    def _of_host(self, unit: str) -> None:
        """SIGKILL of what is the product's; slurmctld, which loses the last jobs it said yes to when it is
        killed before it saved them, is restarted.
        """
        words = ["restart"] if unit == "slurmctld" else ["kill", "--signal=KILL"]
        self.executing.road.host.exec(["systemctl", *words, unit])

    def back(self) -> bool:
        """Whether every unit runs again."""
        shown = self.executing.road.host.exec(["systemctl", "is-active", *UNITS], check=False).stdout
        return shown.split() == ["active"] * len(UNITS)


@contextmanager
def killing(executing: Executing, seed: int) -> Iterator[Killing]:
    """Kills beside the block, all of it before the block's end."""
    killer = Killing(executing, seed)
    thread = threading.Thread(target=killer.run, daemon=True)
    thread.start()
    try:
        yield killer
        thread.join(600.0)
    finally:
        killer.stop.set()
        thread.join(BACK_WITHIN)
    if killer.fault is not None:
        raise killer.fault

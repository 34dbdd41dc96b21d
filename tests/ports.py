"""A port for a process that is about to be started."""

import random
import socket

_BELOW_WHAT_THE_KERNEL_GIVES = range(20_000, 32_000)
_CHANCE = random.SystemRandom()
_given: set[int] = set()


def free_port() -> int:
    """One nobody listens on now, and no other caller of this run was given.

    Nothing holds it: it is outside of what the kernel takes for connections of its own choice, and a process
    that finds it taken says so and ends.
    """
    for _ in range(1_000):
        port = _CHANCE.choice(_BELOW_WHAT_THE_KERNEL_GIVES)
        with socket.socket() as probe:
            if port not in _given and not _taken(probe, port):
                _given.add(port)
                return port
    raise AssertionError("no port is free")


def _taken(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind(("127.0.0.1", port))
    except OSError:
        return True
    return False

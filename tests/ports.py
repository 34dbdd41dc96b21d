"""A port for a process that is about to be started."""

import socket


def free_port() -> int:
    """One nobody listens on now. Nothing holds it; a process that finds it taken says so and ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

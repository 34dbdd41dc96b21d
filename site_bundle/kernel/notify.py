"""sd_notify(3): one datagram to the socket systemd names; without one, nothing happens."""

from __future__ import annotations

import socket
from collections.abc import Mapping

SEND_SECONDS = 2.0


class Notifier:
    """Tells the service manager READY, STATUS, WATCHDOG and STOPPING."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # A leading @ is an abstract socket, whose real name starts with NUL.
        self._address = "\0" + address[1:] if address.startswith("@") else address

    def send(self, *lines: str) -> None:
        """Sends `lines` as one datagram, for example `READY=1`, `STATUS=…`; a manager that is gone is no
        fault.
        """
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            # A manager that does not read must not hold up the work; the next message says the same again.
            channel.settimeout(SEND_SECONDS)
            try:
                channel.sendto("\n".join(lines).encode(), self._address)
            except OSError:
                return

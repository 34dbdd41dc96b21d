"""Asks a process of the stack whether it is there."""

import socket
from pathlib import Path
from typing import Any, Final

import urllib3

_SECONDS: Final = 2.0


def listens(port: int) -> bool:
    """True while something takes connections at this port of loopback."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS):
            return True
    except OSError:
        return False


def answers(url: str, ca_file: Path | None = None, name: str | None = None) -> bool:
    """True for a 200. `name` is the DNS name its certificate must carry, whatever address it is asked at."""
    tls: dict[str, Any] = (
        {"ca_certs": str(ca_file), "server_hostname": name, "assert_hostname": name} if ca_file else {}
    )
    with urllib3.PoolManager(timeout=_SECONDS, retries=False, num_pools=1, **tls) as pool:
        try:
            return pool.request("GET", url, redirect=False).status == 200
        except urllib3.exceptions.HTTPError:
            return False

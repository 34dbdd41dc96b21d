"""One network namespace and one veth pair a host: no route anywhere else, no name server.

The namespace stands before the host's first unit starts. An address besides 127.0.0.1 is needed
inside: Slurm resolves with AI_ADDRCONFIG and finds nothing, not even "localhost", without one.
"""

import json

from tests.lab.processes import run
from tests.lab.slot import Slot


def addresses_here() -> set[str]:
    """IPv4 addresses this machine's interfaces have."""
    shown = json.loads(run(["ip", "-json", "-4", "addr", "show"]).stdout or "[]")
    return {info["local"] for link in shown for info in link.get("addr_info", []) if "local" in info}


def network_up(slot: Slot) -> None:
    """Make the namespace and the pair unless they stand."""
    if slot.namespace.exists():
        return
    ns = slot.machine
    run(["ip", "netns", "add", ns])
    run(["ip", "link", "add", slot.interface, "type", "veth", "peer", "name", "host0", "netns", ns])
    run(["ip", "addr", "add", f"{slot.host_side_addr}/30", "dev", slot.interface])
    run(["ip", "link", "set", slot.interface, "up"])
    run(["ip", "-n", ns, "link", "set", "lo", "up"])
    run(["ip", "-n", ns, "addr", "add", f"{slot.addr}/30", "dev", "host0"])
    run(["ip", "-n", ns, "link", "set", "host0", "up"])


def network_down(slot: Slot) -> None:
    """Remove both; what is not there is no error."""
    if slot.namespace.exists():
        run(["ip", "netns", "del", slot.machine])
    # The pair goes with the namespace, but only once its last process has ended.
    run(["ip", "link", "del", slot.interface], check=False)
